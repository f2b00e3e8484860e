"""The layouts of `gridner.view.draw`, slow and obvious: each cell and each row asks every entity."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from rich.cells import cell_len

from gridner import Entity, Fragment
from gridner.view.cells import Bar, Cell
from gridner.view.draw import (
    DOTTED,
    SOLID,
    _extents,
    _labelled,
    _lane,
    _rows_and_leading,
    columns_of,
    label_of,
    visible,
)


def lanes(extents: Sequence[tuple[int, int]]) -> list[int]:
    """Give each extent, by its start, the first lane that is free."""
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


def cells(text: str, span: Fragment, entities: Sequence[Entity]) -> list[Cell]:
    """Return the cells of a block."""
    columns = columns_of(text, span)

    def column(place: int) -> int:
        return columns[min(max(place, span.start), span.end) - span.start]

    chosen = lanes(
        [(column(one.start), max(column(one.end), column(one.start) + cell_len(label_of(one))) + 1) for one in entities]
    )
    cuts = {place for one in entities for part in one.fragments for place in (part.start, part.end)}
    cuts |= {place for place in range(span.start + 1, span.end) if text[place].isspace() != text[place - 1].isspace()}
    cuts = {span.start, span.end, *(cut for cut in cuts if span.start <= cut <= span.end)}
    return [
        Cell(
            visible(text[start:end]),
            tuple(
                Bar(
                    entity=number,
                    lane=chosen[number],
                    solid=any(part.start <= start and end <= part.end for part in one.fragments),
                    first=one.start == start,
                    last=one.end == end,
                )
                for number, one in enumerate(entities)
                if one.start <= start and end <= one.end
            ),
        )
        for start, end in pairwise(sorted(cuts))
    ]


def draw(text: str, span: Fragment, entities: Sequence[Entity], *, width: int) -> list[str]:
    """Return the lines that a terminal shows."""
    labels = [label_of(entity) for entity in entities]
    columns = columns_of(text, span)
    rows, leading = _rows_and_leading(text, span, entities, labels, columns, width)
    chosen = lanes(_extents(span, entities, labels, columns, leading))
    lines = []
    for row in rows:
        lines.append(visible(text[row.start : row.end]))
        first = columns[row.start - span.start]
        bars: dict[int, list[tuple[int, str, str]]] = defaultdict(list)
        for number, (entity, label, lane) in enumerate(zip(entities, labels, chosen, strict=True)):
            if entity.start < row.end and row.start < entity.end:
                left, right = (
                    columns[place - span.start] - first
                    for place in (max(entity.start, row.start), min(entity.end, row.end))
                )
                bar = [DOTTED] * max(1, right - left)
                for part in entity.fragments:
                    start, end = max(part.start, row.start), min(part.end, row.end)
                    if start < end:
                        at, to = (columns[place - span.start] - first - left for place in (start, end))
                        bar[at : max(to, at + 1)] = [SOLID] * max(to - at, 1)
                drawn = _labelled(left, "".join(bar), label, number in leading, onward=entity.end > row.end)
                bars[lane].append((*drawn, entity.type))
        lines += ["".join(piece.text for piece in _lane(bars[lane])) for lane in sorted(bars)]
    return lines
