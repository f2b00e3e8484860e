"""Entities as bars under cells of text, for notebooks: a layout that needs no script."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rich.cells import cell_len

from gridner.documents import Entity, Fragment
from gridner.view.draw import columns_of, label_of, lanes, visible


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
    columns = columns_of(text, span)

    def column(offset: int) -> int:
        return columns[min(max(offset, span.start), span.end) - span.start]

    chosen = lanes(
        [
            (column(entity.start), max(column(entity.end), column(entity.start) + cell_len(label)) + 1)
            for entity, label in zip(entities, labels, strict=True)
        ]
    )
    cuts = {
        span.start,
        span.end,
        *(offset for entity in entities for part in entity.fragments for offset in (part.start, part.end)),
    }
    cuts |= {
        offset for offset in range(span.start + 1, span.end) if text[offset].isspace() != text[offset - 1].isspace()
    }
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
