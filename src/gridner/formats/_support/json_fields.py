"""Fields of JSON objects, checked."""

from __future__ import annotations

from collections.abc import Mapping
from reprlib import repr as shorten
from typing import Any

from gridner.errors import FormatError


def objects_in(item: Mapping[str, Any], key: str, where: str) -> list[dict[str, Any]]:
    """Return the list of objects in a field; a missing field is an empty list."""
    objects = item.get(key) or []
    if not isinstance(objects, list) or not all(isinstance(value, Mapping) for value in objects):
        raise FormatError(f"{where}: {key} are {shorten(objects)}, expected a list of objects")
    return objects
