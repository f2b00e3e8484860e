"""Flatten entities for tools that take only contiguous spans without overlaps. Dropped entities are counted."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from itertools import islice, pairwise

from gridner.documents import Document, Entity, Fragment
from gridner.errors import Notes, plural
from gridner.text.splitting import tokenize


def simplified(document: Document, *, flat: bool, max_gap: int | None, notes: Notes) -> Document:
    """Apply the options --flat and --max-gap to a document."""
    if flat:
        return flattened(document, bridge=max_gap or 0, notes=notes)
    return document if max_gap is None else without_wide_gaps(document, most=max_gap, notes=notes)


def without_wide_gaps(document: Document, *, most: int, notes: Notes) -> Document:
    """Return the document without entities that have a gap of more than `most` words."""
    kept = []
    for entity in document.entities:
        if _has_wider_gap(document.text, entity, most):
            notes.add(f"entity with a gap of more than {plural(most, 'word')}, left out", _place(document, entity))
        else:
            kept.append(entity)
    return replace(document, entities=tuple(kept))


def flattened(document: Document, *, bridge: int, notes: Notes) -> Document:
    """Return the document with contiguous entities that do not overlap.

    Of two that overlap, the one with the higher score stays, then the longer, then the earlier one. A discontinuous
    entity is widened over gaps of at most `bridge` words; with a wider gap it is dropped.
    """
    spans = []
    for entity in document.entities:
        if len(entity.fragments) == 1:
            spans.append(entity)
        elif not _has_wider_gap(document.text, entity, bridge):
            notes.add("discontinuous entity, its gaps covered", _place(document, entity))
            spans.append(replace(entity, fragments=(Fragment(entity.start, entity.end),)))
        else:
            notes.add("discontinuous entity, left out", _place(document, entity))
    kept: list[Entity] = []  # in text order, as they do not overlap
    for entity in sorted(spans, key=lambda one: (-(one.score or 0), one.start - one.end, one.start, one.type)):
        place = bisect_left(kept, entity.start, key=lambda one: one.end - 1)  # the first that does not end before it
        if place == len(kept) or entity.end <= kept[place].start:
            kept.insert(place, entity)
        else:
            notes.add("entity that overlaps a better one, left out", _place(document, entity))
    return replace(document, entities=tuple(kept))


def _has_wider_gap(text: str, entity: Entity, most: int) -> bool:
    """Return whether a gap of the entity has more than `most` words."""
    return any(
        next(islice(tokenize(text, a.end, b.start), most, None), None) is not None
        for a, b in pairwise(entity.fragments)
    )


def _place(document: Document, entity: Entity) -> str:
    return f"{document.id}: {entity.type} {';'.join(map(str, entity.fragments))}"
