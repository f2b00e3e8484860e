"""Entities as lanes under a text: solid on fragments, dotted across gaps. One pure layout for whatever draws it."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from rich.cells import cell_len

from gridner.documents import Document, Entity, Fragment, extent
from gridner.sentences import sentences_of

SOLID, DOTTED, ONWARD = "━", "┄", "›"

BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


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


def blocks(document: Document) -> Iterator[tuple[Fragment, tuple[Entity, ...]]]:
    """The sentences of a document with their entities, as scoring sees them; those that an entity crosses are one."""
    text = document.text
    entities = sorted(
        (replace(entity, fragments=extent(text, entity)) for entity in document.entities),
        key=lambda entity: (entity.start, -entity.end, entity.type),
    )
    spans = [(sentence.start, sentence.end) for sentence in sentences_of(document)]
    next_entity, number = 0, 0
    while number < len(spans):
        start, end = spans[number]
        inside: list[Entity] = []
        number += 1
        while True:
            later = spans[number][0] if number < len(spans) else len(text) + 1
            if next_entity < len(entities) and entities[next_entity].start < later:
                inside.append(entities[next_entity])
                start, end = min(start, inside[-1].start), max(end, inside[-1].end)
                next_entity += 1
            elif end > later:  # an entity goes on into the next sentence
                end = max(end, spans[number][1])
                number += 1
            else:
                break
        yield Fragment(start, end), tuple(inside)


def draw(text: str, span: Fragment, entities: Sequence[Entity], *, width: int) -> list[Line]:
    """A block of text in rows of at most `width` columns, each with the lanes of its entities below it.

    An entity keeps its lane in all rows of the block; a bar that goes on in the next row ends in an arrow head.
    """
    labels = [label_of(entity) for entity in entities]
    room = max(20, width - max((cell_len(label) + 1 for label in labels), default=0))
    columns = _columns(text, span)
    chosen = lanes(
        [
            (columns[entity.start - span.start], columns[entity.end - span.start] + cell_len(label) + 2)
            for entity, label in zip(entities, labels, strict=True)
        ]
    )
    lines: list[Line] = []
    for row in _rows(text, span, room):
        lines.append((Piece(_visible(text[row.start : row.end])),))
        here = columns[row.start - span.start : row.end - span.start + 1]
        here = [column - here[0] for column in here]
        bars: dict[int, list[tuple[int, str, str]]] = defaultdict(list)
        for entity, label, lane in zip(entities, labels, chosen, strict=True):
            if entity.start < row.end and row.start < entity.end:
                start, bar = _bar(entity, row, here)
                drawn = f"{bar} {label}" if entity.end <= row.end else f"{bar}{ONWARD}"
                bars[lane].append((start, drawn, entity.type))
        lines += [tuple(_lane(bars[lane])) for lane in sorted(bars)]
    return lines


@dataclass(frozen=True, slots=True)
class Bar:
    """What a cell shows of an entity: part of a fragment (solid) or of a gap, maybe its beginning or its end."""

    entity: int
    lane: int
    solid: bool
    first: bool
    last: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """Some characters under which all bars are the same."""

    text: str
    bars: tuple[Bar, ...]


def cells(text: str, span: Fragment, entities: Sequence[Entity], *, labels: Sequence[str] | None = None) -> list[Cell]:
    """A block of text in cells, words and spaces apart, each with its bars: for pages, where a browser breaks lines.

    The cells' texts make up the block, safe to show. An entity has its lane to itself up to the end of its label.
    """
    labels = [label_of(one) for one in entities] if labels is None else labels
    columns = _columns(text, span)

    def column(place: int) -> int:
        return columns[min(max(place, span.start), span.end) - span.start]

    chosen = lanes(
        [
            (column(one.start), max(column(one.end), column(one.start) + cell_len(label)) + 1)
            for one, label in zip(entities, labels, strict=True)
        ]
    )
    cuts = {
        span.start,
        span.end,
        *(place for one in entities for part in one.fragments for place in (part.start, part.end)),
    }
    cuts |= {place for place in range(span.start + 1, span.end) if text[place].isspace() != text[place - 1].isspace()}
    found = []
    for start, end in pairwise(sorted(cut for cut in cuts if span.start <= cut <= span.end)):
        bars = tuple(
            Bar(
                entity=number,
                lane=chosen[number],
                solid=any(part.start <= start and end <= part.end for part in one.fragments),
                first=one.start == start,
                last=one.end == end,
            )
            for number, one in enumerate(entities)
            if one.start <= start and end <= one.end
        )
        found.append(Cell(_visible(text[start:end]), bars))
    return found


def label_of(entity: Entity) -> str:
    """What stands beside its bar: the type, and the score if there is one."""
    return entity.type if entity.score is None else f"{entity.type} {entity.score:.2f}"


def _lane(bars: list[tuple[int, str, str]]) -> Iterator[Piece]:
    column = 0
    for start, drawn, name in sorted(bars):
        yield Piece(" " * (start - column))
        yield Piece(drawn, name)
        column = start + cell_len(drawn)


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
    """Text on one line, safe for a terminal: white space as spaces, controls (also of direction) as a mark."""
    if text.isprintable():
        return text
    return "".join(
        " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" if unicodedata.category(c) == "Cc" or c in BIDI else c
        for c in text
    )
