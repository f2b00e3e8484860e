"""Ids of entities, for the formats in which each entity must have its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

from gridner.documents import Document
from gridner.errors import Notes


def entity_ids(
    document: Document,
    notes: Notes,
    format: str,
    fits: Callable[[str], object] = lambda _: True,
    unused: Iterator[str] | None = None,
) -> list[str]:
    """Return an id for each entity: its own, or else an unused one, by default T1, T2, …

    An id that appears twice or does not fit the format is replaced and counted.
    """
    known = {entity.id for entity in document.entities}
    unused = unused or (new for number in count(1) if (new := f"T{number}") not in known)
    ids: dict[str, None] = {}
    for entity in document.entities:
        name = entity.id
        if name is None or name in ids or not fits(name):
            if name is not None:
                notes.add(f"entity id that {format} does not take, numbered anew", f"{document.id}: {name}")
            name = next(unused)
        ids[name] = None
    return list(ids)
