"""Entities as lanes under a text: solid on fragments, dotted across gaps. One pure layout for whatever draws it."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import islice, pairwise

from rich.cells import cell_len

from gridner.documents import Document, Entity, Fragment, extent
from gridner.text.sentences import stream_sentences

SOLID, DOTTED, ONWARD = "━", "┄", "›"

COLOURS = 12  # of draw.css
SEED = 2_167_974_784  # of the hash below: one with which the types of common corpora have different colours

BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


@dataclass(frozen=True, slots=True)
class Piece:
    """Some characters of a drawn line, and the entity type they belong to (None for plain text)."""

    text: str
    type: str | None = None


Line = tuple[Piece, ...]


def lanes(extents: Sequence[tuple[int, int]]) -> list[int]:
    """Return the lane of each half-open extent: extents in a lane do not touch, and there are as few lanes as possible.

    Earlier and longer ones come first, so an entity lies above those nested in it.
    """
    chosen = [0] * len(extents)
    count = 0
    taken: list[tuple[int, int]] = []  # heap of (end, lane)
    free: list[int] = []  # heap of lanes
    for number in sorted(range(len(extents)), key=lambda n: (extents[n][0], -extents[n][1], n)):
        start, end = extents[number]
        while taken and taken[0][0] <= start:
            heappush(free, heappop(taken)[1])
        if free:
            chosen[number] = heappop(free)
        else:
            chosen[number] = count
            count += 1
        heappush(taken, (end, chosen[number]))
    return chosen


def blocks(document: Document) -> Iterator[tuple[Fragment, tuple[Entity, ...]]]:
    """Yield the sentences of a document with their entities; sentences that an entity crosses are one block."""
    text = document.text
    entities = sorted(
        (replace(entity, fragments=extent(text, entity)) for entity in document.entities),
        key=lambda entity: (entity.start, -entity.end, entity.type),
    )
    next_entity = 0
    sentences = stream_sentences(document)
    following = next(sentences, None)
    while following is not None:
        start, end = following.start, following.end
        following = next(sentences, None)
        inside: list[Entity] = []
        while True:
            later = len(text) + 1 if following is None else following.start
            if next_entity < len(entities) and entities[next_entity].start < later:
                inside.append(entities[next_entity])
                start, end = min(start, inside[-1].start), max(end, inside[-1].end)
                next_entity += 1
            elif following is not None and end > later:  # an entity goes on into the next sentence
                end = max(end, following.end)
                following = next(sentences, None)
            else:
                break
        yield Fragment(start, end), tuple(inside)


def draw(text: str, span: Fragment, entities: Sequence[Entity], *, width: int) -> list[Line]:
    """Return a block of text in rows of at most `width` columns, each with the lanes of its entities below it.

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
    order = sorted(range(len(entities)), key=lambda number: entities[number].start)
    begun = 0
    here: list[int] = []  # entities that reach into the row
    for row in _rows(text, span, room):
        lines.append((Piece(visible(text[row.start : row.end])),))
        first = columns[row.start - span.start]
        in_row = [column - first for column in columns[row.start - span.start : row.end - span.start + 1]]
        while begun < len(order) and entities[order[begun]].start < row.end:
            here.append(order[begun])
            begun += 1
        here = [number for number in here if row.start < entities[number].end]
        bars: dict[int, list[tuple[int, str, str]]] = defaultdict(list)
        for number in here:
            entity = entities[number]
            start, bar = _bar(entity, row, in_row)
            drawn = f"{bar} {labels[number]}" if entity.end <= row.end else f"{bar}{ONWARD}"
            bars[chosen[number]].append((start, drawn, entity.type))
        lines += [tuple(_lane(bars[lane])) for lane in sorted(bars)]
    return lines


@dataclass(frozen=True, slots=True)
class Bar:
    """The part of an entity in a cell: a fragment (solid) or a gap, and whether the entity begins or ends there."""

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


def cells(text: str, span: Fragment, entities: Sequence[Entity]) -> Iterator[Cell]:
    """Yield a block of text in cells, words and spaces apart, each with its bars; a browser breaks the lines.

    The cells' texts make up the block, safe to show. An entity has its lane to itself up to the end of its label.
    """
    labels = [label_of(entity) for entity in entities]
    columns = _columns(text, span)

    def column(place: int) -> int:
        return columns[min(max(place, span.start), span.end) - span.start]

    chosen = lanes(
        [
            (column(entity.start), max(column(entity.end), column(entity.start) + cell_len(label)) + 1)
            for entity, label in zip(entities, labels, strict=True)
        ]
    )
    cuts = {
        span.start,
        span.end,
        *(place for entity in entities for part in entity.fragments for place in (part.start, part.end)),
    }
    cuts |= {place for place in range(span.start + 1, span.end) if text[place].isspace() != text[place - 1].isspace()}
    order = sorted(range(len(entities)), key=lambda number: entities[number].start)
    started = 0
    open_entities: list[int] = []  # entities over the cell, in their order
    part = [0] * len(entities)  # the first fragment of each that is not behind
    for start, end in pairwise(sorted(cut for cut in cuts if span.start <= cut <= span.end)):
        while started < len(order) and entities[order[started]].start <= start:
            insort(open_entities, order[started])
            started += 1
        if any(entities[number].end <= start for number in open_entities):
            open_entities = [number for number in open_entities if entities[number].end > start]
        bars = []
        for number in open_entities:
            entity = entities[number]
            while entity.fragments[part[number]].end <= start:
                part[number] += 1
            solid = entity.fragments[part[number]].start <= start
            bars.append(
                Bar(
                    entity=number, lane=chosen[number], solid=solid, first=entity.start == start, last=entity.end == end
                )
            )
        yield Cell(visible(text[start:end]), tuple(bars))


def colour_of(type: str) -> int:
    """Return the number of a type's colour: the same wherever it is shown and whatever else is (FNV-1a)."""
    number = SEED
    for byte in type.encode("utf-8", "surrogatepass"):
        number = (number ^ byte) * 16_777_619 % 2**32
    return number % COLOURS


def label_of(entity: Entity) -> str:
    """Return the label beside the bar of an entity: its type, and its score if it has one."""
    return entity.type if entity.score is None else f"{entity.type} {entity.score:.2f}"


def _lane(bars: list[tuple[int, str, str]]) -> Iterator[Piece]:
    column = 0
    for start, drawn, name in sorted(bars):
        yield Piece(" " * (start - column))
        yield Piece(drawn, name)
        column = start + cell_len(drawn)


def _bar(entity: Entity, row: Fragment, columns: list[int]) -> tuple[int, str]:
    """Return the column where an entity's bar starts in a row, and the bar."""
    first, last = max(entity.start, row.start), min(entity.end, row.end)
    bar = [DOTTED] * max(1, columns[last - row.start] - columns[first - row.start])
    for fragment in islice(entity.fragments, bisect_right(entity.fragments, first, key=lambda part: part.end), None):
        if fragment.start >= last:
            break
        start, end = max(fragment.start, first), min(fragment.end, last)
        if start < end:
            left, right = (columns[place - row.start] - columns[first - row.start] for place in (start, end))
            bar[left : max(right, left + 1)] = [SOLID] * max(right - left, 1)
    return columns[first - row.start], "".join(bar)


def _rows(text: str, span: Fragment, room: int) -> Iterator[Fragment]:
    """Yield rows of the span of at most `room` columns, broken after white space if possible."""
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
    return cell_len(visible(character))


def visible(text: str) -> str:
    """Return text on one line, safe for a terminal: white space as spaces, control characters as a mark."""
    if text.isprintable():
        return text
    return "".join(
        " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" if unicodedata.category(c) == "Cc" or c in BIDI else c
        for c in text
    )
