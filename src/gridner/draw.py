"""Entities as lanes under a text: solid on fragments, dotted across gaps. One pure layout for whatever draws it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from gridner.documents import Document, Entity, Fragment
from gridner.sentences import sentences_of

SOLID, DOTTED = "━", "┄"


@dataclass(frozen=True, slots=True)
class Piece:
    """Some characters of a drawn line, and the entity type they belong to (None for plain text)."""

    text: str
    type: str | None = None


Line = tuple[Piece, ...]


def lanes(extents: Sequence[tuple[int, int]]) -> list[int]:
    """The lane of each half-open extent, so that those of one lane do not touch: as few lanes as possible.

    Earlier and longer ones come first, so an entity lies above those nested in it.
    """
    chosen = [0] * len(extents)
    free_from: list[int] = []
    for number in sorted(range(len(extents)), key=lambda n: (extents[n][0], -extents[n][1], n)):
        start, end = extents[number]
        lane = next((lane for lane, free in enumerate(free_from) if free <= start), len(free_from))
        if lane == len(free_from):
            free_from.append(0)
        free_from[lane] = end
        chosen[number] = lane
    return chosen


def blocks(document: Document) -> list[tuple[Fragment, tuple[Entity, ...]]]:
    """The sentences of a document with their entities; sentences that an entity crosses stay together."""
    spans = [[sentence.start, sentence.end] for sentence in sentences_of(document)]
    for entity in document.entities:
        touched = [span for span in spans if span[0] < entity.end and entity.start < span[1]]
        if len(touched) > 1:
            kept = [span for span in spans if span not in touched]
            spans = sorted([*kept, [touched[0][0], touched[-1][1]]])
    for entity in document.entities:  # an entity may reach past the words of its sentence
        for span in spans:
            if span[0] <= entity.start < span[1]:
                span[1] = max(span[1], entity.end)
    return [
        (Fragment(start, end), tuple(entity for entity in document.entities if start <= entity.start < end))
        for start, end in spans
    ]


def draw(text: str, span: Fragment, entities: Iterable[Entity], *, width: int) -> list[Line]:
    """A block of text in rows of at most `width` columns, each with the lanes of its entities below it."""
    entities = sorted(entities, key=lambda entity: (entity.start, -entity.end, entity.type))
    labels = [_label(entity) for entity in entities]
    room = max(20, width - max((cell_len(label) + 1 for label in labels), default=0))
    lines: list[Line] = []
    for row in _rows(text, span, room):
        lines.append((Piece(_visible(text[row.start : row.end])),))
        columns = _columns(text, row)
        here = [n for n, entity in enumerate(entities) if entity.start < row.end and row.start < entity.end]
        bars = {n: _bar(entities[n], row, columns) for n in here}
        ends = {n: labels[n] if entities[n].end <= row.end else "" for n in here}
        places = [(bars[n][0], bars[n][0] + len(bars[n][1]) + cell_len(ends[n]) + 2) for n in here]
        chosen = lanes(places)
        for lane in range(max(chosen, default=-1) + 1):
            lines.append(
                tuple(
                    _lane([(n, *bars[n]) for n, own in zip(here, chosen, strict=True) if own == lane], entities, ends)
                )
            )
    return lines


def _label(entity: Entity) -> str:
    return entity.type if entity.score is None else f"{entity.type} {entity.score:.2f}"


def _lane(bars: list[tuple[int, int, str]], entities: Sequence[Entity], labels: dict[int, str]) -> Iterator[Piece]:
    column = 0
    for number, start, bar in sorted(bars, key=lambda bar: bar[1]):
        yield Piece(" " * (start - column))
        drawn = bar + (f" {labels[number]}" if labels[number] else "")
        yield Piece(drawn, entities[number].type)
        column = start + len(bar) + cell_len(drawn[len(bar) :])


def _bar(entity: Entity, row: Fragment, columns: list[int]) -> tuple[int, str]:
    """Where an entity's bar starts in a row, and the bar."""
    first, last = max(entity.start, row.start), min(entity.end, row.end)
    bar = [DOTTED] * max(1, columns[last - row.start] - columns[first - row.start])
    for fragment in entity.fragments:
        start, end = max(fragment.start, first), min(fragment.end, last)
        if start < end:
            left, right = (columns[place - row.start] - columns[first - row.start] for place in (start, end))
            bar[left : max(right, left + 1)] = [SOLID] * max(right - left, 1)
    return columns[first - row.start], "".join(bar)


def _rows(text: str, span: Fragment, room: int) -> Iterator[Fragment]:
    """Pieces of the span of at most `room` columns, broken after white space where there is any."""
    start = span.start
    while start < span.end:
        columns, end, after_space = 0, start, start
        while end < span.end and (columns := columns + _width(text[end])) <= room:
            end += 1
            if text[end - 1].isspace():
                after_space = end
        if end < span.end and after_space > start:
            end = after_space
        end = max(end, start + 1)
        yield Fragment(start, end)
        start = end


def _columns(text: str, row: Fragment) -> list[int]:
    columns = [0]
    for character in text[row.start : row.end]:
        columns.append(columns[-1] + _width(character))
    return columns


def _width(character: str) -> int:
    return cell_len(_visible(character))


def _visible(text: str) -> str:
    """Text on one line, safe for a terminal: white space as spaces, control characters as a mark."""
    if text.isprintable():
        return text
    return "".join(
        " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" if unicodedata.category(c) == "Cc" else c for c in text
    )
