"""gridner show"""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gridner.cli.printing import notes_json, print_json, print_notes
from gridner.cli.reading_options import ReadingOptions, reading_options
from gridner.cli.shared_options import JsonOption

if TYPE_CHECKING:
    from rich.console import Console

    from gridner.documents import Document

COLOURS = (  # those of draw.css, as they can be read on black and on white
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


@reading_options()
def show(
    path: Annotated[Path, typer.Argument(help="File or folder to read.")],
    *,
    reading: ReadingOptions,
    every: Annotated[bool, typer.Option("--all", help="Also show sentences without entities.")] = False,
    discontinuous: Annotated[
        bool, typer.Option("--discontinuous", help="Only sentences with a discontinuous entity.")
    ] = False,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help="At most so many documents.")] = None,
    svg: Annotated[Path | None, typer.Option(help="Also save the picture as SVG.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the SVG if it exists.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show the entities of documents under their text: solid on fragments, dotted across gaps.

    Examples:

        gridner show examples

        gridner show examples/01-forum-statin.ann --all

        gridner show predictions.jsonl --types ADR --discontinuous -n 3

    """
    from gridner.errors import Notes, UsageError
    from gridner.formats.jsonl import to_json

    notes = Notes()
    documents = islice(reading.documents(path, notes, activity=None), limit)
    if as_json and svg is not None:
        raise UsageError("--svg and --json: expected one of them")
    if as_json:
        print_json({"documents": [to_json(document) for document in documents], "notes": notes_json(notes)})
        return
    from rich.console import Console
    from rich.terminal_theme import MONOKAI

    from gridner.files import check_output, write_text, write_whole

    if svg is not None:
        check_output(svg, folder=False, force=force)
    console = Console(highlight=False, record=svg is not None)
    for document in documents:
        show_document(document, console, every=every, discontinuous=discontinuous)
    if svg is not None:
        picture = console.export_svg(title="gridner show", theme=MONOKAI)
        picture = re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)  # they would be fetched
        picture = picture.replace(">", ' role="img"><title>Entities under their text</title>', 1)
        write_whole(svg, lambda part: write_text(part, picture), folder=False, force=force)
    print_notes(notes)


def show_document(document: Document, console: Console, *, every: bool = False, discontinuous: bool = False) -> None:
    """Show a document's sentences with their entities."""
    from rich.text import Text

    from gridner.view.draw import blocks, colour_of, draw

    console.rule(Text(document.id, style="bold"), align="left", style="dim")
    left_out = 0
    for span, entities in blocks(document):
        gaps = any(len(entity.fragments) > 1 for entity in entities)
        if (discontinuous and not gaps) or (not entities and not every):
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
        console.print(f"({left_out} {'sentence' if left_out == 1 else 'sentences'} {kind})", style="dim")
        console.print()
