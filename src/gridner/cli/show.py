"""gridner show"""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from gridner.cli.printing import notes_json, print_json, print_notes
from gridner.cli.reading_options import ReadingOptions, reading_options
from gridner.cli.shared_options import JsonOption


@reading_options()
def show(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="File or folder to read.")],
    *,
    reading: ReadingOptions,
    all_sentences: Annotated[bool, typer.Option("--all", help="Also show sentences without entities.")] = False,
    discontinuous: Annotated[
        bool, typer.Option("--discontinuous", help="Show only sentences with a discontinuous entity.")
    ] = False,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help="Show at most this many documents.")] = None,
    svg: Annotated[Path | None, typer.Option(help="Also save the output as an SVG picture.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the SVG if it exists.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show documents with their entities under the text: solid lines for fragments, dotted lines for gaps.

    Examples:
    ```
    gridner show examples
    gridner show examples/01-forum-statin.ann --all
    gridner show predictions.jsonl --types ADR --discontinuous -n 3
    ```

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

    from gridner.files import check_output, write_text, write_whole
    from gridner.view.terminal import export_svg, print_document

    if svg is not None:
        check_output(svg, folder=False, force=force)
    console = Console(highlight=False, record=svg is not None)
    for document in documents:
        print_document(document, console, all_sentences=all_sentences, discontinuous=discontinuous)
    if svg is not None:
        picture = export_svg(console)
        write_whole(svg, lambda part: write_text(part, picture), folder=False, force=force)
    print_notes(notes)
