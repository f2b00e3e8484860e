"""Documents as HTML: entities as lanes under their text. What a text says is escaped, and nothing is fetched."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from importlib.resources import files

from gridner.documents import Document, Entity, Fragment
from gridner.view.cells import cells
from gridner.view.draw import blocks, colour_of, label_of

MOST_SENTENCES = 200  # that a notebook shows


@cache
def asset(name: str) -> str:
    """Return the contents of a file in the assets folder."""
    return (files("gridner.view") / "assets" / name).read_text(encoding="utf-8")


def document_html(document: Document) -> str:
    """Return a document for a notebook: its sentences with entities, and how many are not shown.

    Without any entity, it shows its sentences as they are.
    """
    drawn: list[str] = []
    empty = more = 0
    for span, entities in blocks(document):
        if not entities and document.entities:
            empty += 1
        elif len(drawn) == MOST_SENTENCES:
            more += 1
        else:
            drawn.append(block_html(document.text, span, entities))
    omitted = [
        f"{count:,} {'sentence' if count == 1 else 'sentences'} {description}"
        for count, description in ((empty, "without entities"), (more, "more"))
        if count
    ]
    note = f'<div class="g-note">({", ".join(omitted)})</div>' if omitted else ""
    head = f'<div class="g-id">{escape(document.id)}</div>'
    return f'<div class="gridner"><style>{asset("draw.css")}</style>{head}{"".join(drawn)}{note}</div>'


def hidden_block(
    text: str, span: Fragment, entities: Sequence[Entity], word: str
) -> tuple[str, list[tuple[Fragment, ...]]]:
    """Return a block with `word` in place of every word, and the fragments of its entities there.

    White space that lines columns up would say how long the hidden words are, so a blank stands for all of it.
    """
    shown: list[str] = []
    hidden_fragments: list[list[Fragment]] = [[] for _ in entities]
    offset = 0
    for cell in cells(text, span, entities):
        shown.append(" " if cell.text.isspace() else word)
        end = offset + len(shown[-1])
        for bar in cell.bars:
            fragments = hidden_fragments[bar.entity]
            if bar.solid and fragments and fragments[-1].end == offset:
                fragments[-1] = Fragment(fragments[-1].start, end)
            elif bar.solid:
                fragments.append(Fragment(offset, end))
        offset = end
    return "".join(shown), list(map(tuple, hidden_fragments))


def script(names: Iterable[str]) -> str:
    """Return modules as one script for a single-file page, each after those that it imports."""
    joined = "\n".join(map(asset, names))
    return f'"use strict";\n(() => {{\n{re.sub(r"^(import [^;]*;|export )", "", joined, flags=re.MULTILINE)}}})();\n'


def block_html(text: str, span: Fragment, entities: Sequence[Entity]) -> str:
    """Return a block of text with its entities as one element."""
    drawn = list(cells(text, span, entities))
    lanes = max((bar.lane + 1 for cell in drawn for bar in cell.bars), default=0)
    parts = []
    for cell in drawn:
        if not cell.bars:
            parts.append(escape(cell.text))
            continue
        bars = []
        for bar in cell.bars:
            entity = entities[bar.entity]
            kinds = ("g-gap", not bar.solid), ("g-first", bar.first), ("g-last", bar.last)
            kind = " ".join(("g-bar", *(name for name, is_so in kinds if is_so)))
            label = f'<span class="g-label"><bdi>{escape(label_of(entity))}</bdi></span>' if bar.first else ""
            style = f"--lane:{bar.lane};--colour:var(--g{colour_of(entity.type)})"
            bars.append(f'<span class="{kind}" aria-hidden="true" style="{style}">{label}</span>')
        solid = [entities[bar.entity] for bar in cell.bars if bar.solid]
        shortest = min(solid, key=lambda entity: entity.end - entity.start, default=None)
        tint = "" if shortest is None else f' g-on" style="--tint:var(--g{colour_of(shortest.type)})'
        parts.append(f'<span class="g-cell{tint}">{escape(cell.text)}{"".join(bars)}</span>')
    spoken = "; ".join(f"{label_of(entity)}: {_words(text, entity)}" for entity in entities)
    if spoken:
        parts.append(f'<span class="g-said"> ({escape(spoken)})</span>')  # to those who hear the page
    return f'<div class="g-block g-even" dir="auto" style="--lanes:{lanes}">{"".join(parts)}</div>'


def _words(text: str, entity: Entity) -> str:
    return " … ".join(text[fragment.start : fragment.end] for fragment in entity.fragments)
