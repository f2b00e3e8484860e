"""gridner convert"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from gridner.cli.common import (
    FORMAT_NAMES,
    READ_FORMATS,
    ExceptIdsOption,
    IdsOption,
    JsonOption,
    LenientOption,
    Reading,
    RepairOption,
    SentencesOption,
    TextsOption,
    TypesOption,
    notes_json,
    print_json,
    print_notes,
)
from gridner.corpus.flattening import simplified
from gridner.documents import Document
from gridner.errors import Notes
from gridner.formats import write


def convert(
    source: Annotated[Path, typer.Argument(metavar="SRC", help="File or folder to read.")],
    target: Annotated[Path, typer.Argument(metavar="DST", help="File or folder to write.")],
    from_: Annotated[str, typer.Option("--from", help=f"Format of SRC: {READ_FORMATS}, auto.")] = "auto",
    to: Annotated[str, typer.Option("--to", help=f"Format of DST: {FORMAT_NAMES}, auto.")] = "auto",
    texts: TextsOption = None,
    ids: IdsOption = None,
    except_ids: ExceptIdsOption = None,
    types: TypesOption = None,
    sentences: SentencesOption = "auto",
    flat: Annotated[
        bool,
        typer.Option("--flat", help="Only contiguous entities that do not overlap; gaps up to --max-gap are covered."),
    ] = False,
    max_gap: Annotated[
        int | None, typer.Option("--max-gap", min=0, help="Leave out entities with a gap of more words than this.")
    ] = None,
    lenient: LenientOption = False,
    repair: RepairOption = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Replace a file at DST, or files of the same names in a folder; others stay."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Convert a corpus from one format to another. What the new format cannot carry is counted and said.

    Examples:

        gridner convert examples corpus.jsonl

        gridner convert cadec/original train.json --texts cadec/text --ids train.id --types ADR --to w2ner

        gridner convert train.jsonl train-brat --to brat

        gridner convert train.jsonl train.conll --flat --max-gap 2

    """
    notes = Notes()
    reading = Reading(from_, texts, ids, except_ids, types, sentences, lenient, repair)
    counts = {"documents": 0, "entities": 0}

    def counted() -> Iterator[Document]:
        for document in reading.documents(source, notes, what="convert"):
            counts["documents"] += 1
            counts["entities"] += len(document.entities)
            yield simplified(document, flat=flat, max_gap=max_gap, notes=notes)

    written = write(counted(), target, to, force=force, notes=notes)
    if as_json:
        print_json({"target": str(target), **counts, "entities_written": written, "notes": notes_json(notes)})
        return
    print_notes(notes)
    print(f"{target}: documents {counts['documents']:,}, entities read {counts['entities']:,}, written {written:,}")
