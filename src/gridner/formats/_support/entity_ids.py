"""Ids of entities, for the formats in which each must have one of its own."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from gridner.documents import Document
from gridner.errors import Notes


def identifiers(
    document: Document, notes: Notes, format: str, fits: Callable[[str], bool] = lambda _: True
) -> list[str]:
    """An id for each entity: its own, else T1, T2, …; one that comes twice or does not fit is replaced and counted."""
    known = {entity.id for entity in document.entities}
    spare = (new for number in count(1) if (new := f"T{number}") not in known)
    found: list[str] = []
    used: set[str] = set()
    for entity in document.entities:
        name = entity.id
        if name is None or name in used or not fits(name):
            if name is not None:
                notes.add(f"entity id that {format} does not take, numbered anew", f"{document.id}: {name}")
            name = next(spare)
        used.add(name)
        found.append(name)
    return found
