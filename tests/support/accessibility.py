"""axe on a page: what it finds that people with disabilities cannot use."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import pytest

pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")


@cache
def axe() -> str:
    """The script of axe-core."""
    return (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


def violations(page: Any) -> list[str]:
    """Each violated rule with what violates it, also what axe calls best practice."""
    page.evaluate(axe())
    found = page.evaluate("async () => (await axe.run()).violations")
    return [f"{one['id']}: {node['html'][:200]} {node['failureSummary']}" for one in found for node in one["nodes"]]
