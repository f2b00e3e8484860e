"""Documents as HTML: entities as lanes under their text. What a text says is escaped, and nothing is fetched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from gridner.documents import Document, Entity, Fragment
from gridner.view.draw import blocks, cells, colour_of, label_of

ENTITY = 1 << 20  # of draw.js: room for the lane of a bar beside the number of its entity
MOST = 200  # sentences that a notebook shows


@cache
def asset(name: str) -> str:
    """A file of the pages."""
    return (files("gridner.view") / "assets" / name).read_text(encoding="utf-8")


def document_html(document: Document, *, most: int = MOST) -> str:
    """A document for a notebook: its sentences with entities, and how many are not shown."""
    drawn: list[str] = []
    empty = more = 0
    for span, entities in blocks(document):
        if not entities:
            empty += 1
        elif len(drawn) == most:
            more += 1
        else:
            drawn.append(block_html(document.text, span, entities))
    said = [
        f"{count:,} {'sentence' if count == 1 else 'sentences'} {what}"
        for count, what in ((empty, "without entities"), (more, "more"))
        if count
    ]
    note = f'<div class="g-note">({", ".join(said)})</div>' if said else ""
    head = f'<div class="g-id">{escape(document.id)}</div>'
    return f'<div class="gridner"><style>{asset("draw.css")}</style>{head}{"".join(drawn)}{note}</div>'


def packed_cells(
    text: str,
    span: Fragment,
    entities: Sequence[Entity],
    labels: Sequence[str] | None = None,
    hidden: str | None = None,
) -> Iterator[list[Any]]:
    """The cells of a block for draw.js: a text, then a number for each bar; `hidden` stands for each word.

    White space that lines columns up would say how long the hidden words are, so a blank stands for all of it.
    """
    plain: list[str] = []  # what has no bars is one cell
    for cell in cells(text, span, entities, labels=labels):
        shown = cell.text
        if hidden is not None:
            shown = " " if cell.text.isspace() else hidden
        if not cell.bars:
            plain.append(shown)
            continue
        if plain:
            yield ["".join(plain)]
            plain = []
        yield [shown, *(bar.entity * ENTITY + (bar.lane << 2 | bar.solid << 1 | bar.first) for bar in cell.bars)]
    if plain:
        yield ["".join(plain)]


def block_html(text: str, span: Fragment, entities: Sequence[Entity]) -> str:
    """A block of text with its entities, as one element."""
    drawn = list(cells(text, span, entities))
    lanes = max((bar.lane + 1 for cell in drawn for bar in cell.bars), default=0)
    parts = []
    for cell in drawn:
        bars = []
        for bar in cell.bars:
            entity = entities[bar.entity]
            kind = "g-bar" if bar.solid else "g-bar g-gap"
            label = f'<span class="g-label"><bdi>{escape(label_of(entity))}</bdi></span>' if bar.first else ""
            style = f"--lane:{bar.lane};--colour:var(--g{colour_of(entity.type)})"
            bars.append(f'<span class="{kind}" aria-hidden="true" style="{style}">{label}</span>')
        parts.append(f'<span class="g-cell">{escape(cell.text)}{"".join(bars)}</span>' if bars else escape(cell.text))
    said = "; ".join(f"{label_of(entity)}: {_words(text, entity)}" for entity in entities)
    if said:
        parts.append(f'<span class="g-said"> ({escape(said)})</span>')  # to those who hear the page
    return f'<div class="g-block" dir="auto" style="--lanes:{lanes}">{"".join(parts)}</div>'


def _words(text: str, entity: Entity) -> str:
    return " … ".join(text[fragment.start : fragment.end] for fragment in entity.fragments)
