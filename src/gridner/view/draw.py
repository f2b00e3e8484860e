"""Entities as lanes under a text: solid on fragments, dotted across gaps. One pure layout for whatever draws it."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import islice

from rich.cells import cell_len

from gridner.documents import Document, Entity, Fragment, extent
from gridner.text.alignment import stream_sentences

SOLID, DOTTED, ONWARD = "━", "┄", "›"

COLOURS = 12  # of draw.css
SEED = 1_608_753_152  # of the hash below: one with which the types of common corpora have different colours

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
    occupied: list[tuple[int, int]] = []  # heap of (end, lane)
    free: list[int] = []  # heap of lanes
    for number in sorted(range(len(extents)), key=lambda n: (extents[n][0], -extents[n][1], n)):
        start, end = extents[number]
        while occupied and occupied[0][0] <= start:
            heappush(free, heappop(occupied)[1])
        if free:
            chosen[number] = heappop(free)
        else:
            chosen[number] = count
            count += 1
        heappush(occupied, (end, chosen[number]))
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
            elif following is not None and end > later:  # an entity continues in the next sentence
                end = max(end, following.end)
                following = next(sentences, None)
            else:
                break
        yield Fragment(start, end), tuple(inside)


def draw(text: str, span: Fragment, entities: Sequence[Entity], *, width: int) -> list[Line]:
    """Return a block of text in rows of at most `width` columns, each with the lanes of its entities below it.

    An entity keeps its lane in all rows of the block; a bar that continues in the next row ends in an arrow head. A
    label stands after its bar, or before it if there is no room after it.
    """
    labels = [label_of(entity) for entity in entities]
    columns = columns_of(text, span)
    rows, leading = _rows_and_leading(text, span, entities, labels, columns, width)
    chosen = lanes(_extents(span, entities, labels, columns, leading))
    lines: list[Line] = []
    order = sorted(range(len(entities)), key=lambda number: entities[number].start)
    begun = 0
    reaching: list[int] = []  # entities that reach into the row
    for row in rows:
        lines.append((Piece(visible(text[row.start : row.end])),))
        first = columns[row.start - span.start]
        in_row = [column - first for column in columns[row.start - span.start : row.end - span.start + 1]]
        while begun < len(order) and entities[order[begun]].start < row.end:
            reaching.append(order[begun])
            begun += 1
        reaching = [number for number in reaching if row.start < entities[number].end]
        bars: dict[int, list[tuple[int, str, str]]] = defaultdict(list)
        for number in reaching:
            start, bar = _bar(entities[number], row, in_row)
            drawn = _labelled(start, bar, labels[number], number in leading, onward=entities[number].end > row.end)
            bars[chosen[number]].append((*drawn, entities[number].type))
        lines += [tuple(_lane(bars[lane])) for lane in sorted(bars)]
    return lines


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
            left, right = (columns[offset - row.start] - columns[first - row.start] for offset in (start, end))
            bar[left : max(right, left + 1)] = [SOLID] * max(right - left, 1)
    return columns[first - row.start], "".join(bar)


def _labelled(start: int, bar: str, label: str, leads: bool, *, onward: bool) -> tuple[int, str]:
    """Where a bar with its label starts in a row, and the two."""
    if onward:
        return start, f"{bar}{ONWARD}"
    return (start - cell_len(label) - 1, f"{label} {bar}") if leads else (start, f"{bar} {label}")


def _extents(
    span: Fragment, entities: Sequence[Entity], labels: Sequence[str], columns: Sequence[int], leading: Collection[int]
) -> list[tuple[int, int]]:
    """The columns of the block that each entity needs in its lane, label included."""
    extents = []
    for number, (entity, label) in enumerate(zip(entities, labels, strict=True)):
        start, end = columns[entity.start - span.start], columns[entity.end - span.start]
        room = cell_len(label) + 1
        extents.append((start - room, end + 1) if number in leading else (start, end + room + 1))
    return extents


def _rows_and_leading(
    text: str,
    span: Fragment,
    entities: Sequence[Entity],
    labels: Sequence[str],
    columns: Sequence[int],
    width: int,
) -> tuple[list[Fragment], set[int]]:
    """The rows of a block, and which entities have their label before their bar.

    A row is as wide as the terminal if the labels of the entities that end in it fit, and else leaves room for them.
    """
    longest = max((cell_len(label) + 1 for label in labels), default=0)
    narrow = max(20, width - longest)
    limit = narrow + longest
    ending = sorted(range(len(entities)), key=lambda number: entities[number].end)
    rows: list[Fragment] = []
    leading: set[int] = set()
    ended, start = 0, span.start
    while start < span.end:
        fits_whole = columns[-1] - columns[start - span.start] <= limit
        for room in (limit if fits_whole else limit - 1, narrow):  # an arrow head may follow a row that is not the last
            row = _row(text, Fragment(start, span.end), room)
            first, ends, leads, fits = columns[start - span.start], ended, set(), True
            while ends < len(ending) and entities[ending[ends]].end <= row.end:
                number = ending[ends]
                ends += 1
                left = columns[max(entities[number].start, start) - span.start] - first
                right = max(columns[entities[number].end - span.start] - first, left + 1)
                if right + 1 + cell_len(labels[number]) > limit:
                    leads.add(number)
                    fits &= entities[number].start >= start and left > cell_len(labels[number])
            if fits:
                break
        else:
            leads = set()
        rows.append(row)
        leading |= leads
        ended, start = ends, row.end
    return rows, leading


def _row(text: str, rest: Fragment, room: int) -> Fragment:
    """The beginning of `rest` in at most `room` columns, broken after white space where there is any."""
    columns, end, after_space = 0, rest.start, rest.start
    while end < rest.end and (columns := columns + _width(text[end])) <= room:
        end += 1
        if text[end - 1].isspace():
            after_space = end
    if end < rest.end and after_space > rest.start:
        end = after_space
    return Fragment(rest.start, max(end, rest.start + 1))


def columns_of(text: str, row: Fragment) -> list[int]:
    """The column of each character on a terminal, and of the end."""
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
