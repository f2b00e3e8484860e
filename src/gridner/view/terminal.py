"""Documents on a terminal: the entities under their text, in colours."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gridner.documents import Document
from gridner.errors import plural
from gridner.view.draw import blocks, colour_of, draw

if TYPE_CHECKING:
    from rich.console import Console

COLOURS = (  # those of draw.css, readable on black and on white
    "#036cff",
    "#9a648e",
    "#008297",
    "#a833ff",
    "#807800",
    "#00866f",
    "#dd00a2",
    "#6873a8",
    "#6968d8",
    "#bf5800",
    "#a16b00",
    "#d100cb",
)


def print_document(
    document: Document, console: Console, *, all_sentences: bool = False, discontinuous: bool = False
) -> None:
    """Print the sentences that have entities, or all of them, or only those with a discontinuous entity."""
    from rich.text import Text

    console.rule(Text(document.id, style="bold"), align="left", style="dim")
    left_out = 0
    for span, entities in blocks(document):
        has_gaps = any(len(entity.fragments) > 1 for entity in entities)
        if (discontinuous and not has_gaps) or (not entities and not all_sentences):
            left_out += 1
            continue
        for line in draw(document.text, span, entities, width=console.width):
            drawn = Text(no_wrap=True, overflow="ignore", end="\n")
            for piece in line:
                drawn.append(piece.text, style="" if piece.type is None else COLOURS[colour_of(piece.type)])
            console.print(drawn, crop=False)
        console.print()
    if left_out:
        kind = "without a discontinuous entity" if discontinuous else "without entities"
        console.print(f"({plural(left_out, 'sentence')} {kind})", style="dim")
        console.print()


def export_svg(console: Console) -> str:
    """Return what a recording console has printed as an SVG that loads nothing from the network."""
    from rich.terminal_theme import MONOKAI

    picture = console.export_svg(title="gridner show", theme=MONOKAI)
    picture = re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)  # they would be fetched
    return picture.replace(">", ' role="img"><title>Entities under their text</title>', 1)
