"""Libraries that only some formats need, and that need not be there."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from gridner.errors import UsageError


def need(name: str) -> Any:
    """A module of the extra `formats`; that it is missing is said in a line."""
    try:
        return import_module(name)
    except ImportError as error:
        missing = (error.name or name).partition(".")[0]
        raise UsageError(
            f"{missing} is missing, expected the extra for formats: pip install 'gridner[formats]'"
        ) from None
