"""Chromium, where there is one."""

from __future__ import annotations

import shutil

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
sync_api.expect.set_options(timeout=30_000)  # on a machine that does other things as well
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


def which() -> str | None:
    """The browser's program."""
    return shutil.which("chromium") or shutil.which("google-chrome")
