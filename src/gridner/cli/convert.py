"""gridner convert"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from gridner.cli.printing import notes_json, print_json, print_notes
from gridner.cli.reading_options import READABLE_FORMATS, WRITABLE_FORMATS, ReadingOptions, reading_options
from gridner.cli.shared_options import FlatOption, JsonOption, MaxGapOption
from gridner.errors import Notes


@reading_options(without=["format"])
def convert(
    source: Annotated[Path, typer.Argument(metavar="SRC", help="File or folder to read.")],
    target: Annotated[Path, typer.Argument(metavar="DST", help="File or folder to write.")],
    *,
    reading: ReadingOptions,
    from_: Annotated[str, typer.Option("--from", help=f"Format of SRC: {READABLE_FORMATS}, auto.")] = "auto",
    to: Annotated[str, typer.Option("--to", help=f"Format of DST: {WRITABLE_FORMATS}, auto.")] = "auto",
    flat: FlatOption = False,
    max_gap: MaxGapOption = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Overwrite the file, or files of the same names in the folder; others stay."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Convert a corpus from one format to another, and report what the new format cannot represent.

    Examples:
    ```
    gridner convert examples corpus.jsonl
    gridner convert cadec/original train.json --texts cadec/text --ids train.id --to w2ner
    gridner convert train.jsonl train-brat --to brat
    gridner convert train.jsonl train.conll --flat --max-gap 2
    ```

    """
    from gridner.corpus.conversion import convert as convert_documents

    notes = Notes()
    documents = replace(reading, format=from_).documents(source, notes, activity="convert")
    counts = convert_documents(documents, target, to, flat=flat, max_gap=max_gap, force=force, notes=notes)
    if as_json:
        print_json({"target": str(target), **asdict(counts), "notes": notes_json(notes)})
        return
    print_notes(notes)
    print(
        f"{target}: documents {counts.documents:,}, entities read {counts.entities:,}, "
        f"written {counts.entities_written:,}"
    )
