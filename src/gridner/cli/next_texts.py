"""gridner next"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gridner.cli.inputs import input_of
from gridner.cli.printing import print_json_line, print_notes
from gridner.cli.progress import sentence_progress
from gridner.cli.reading_options import ReadingOptions, reading_options
from gridner.cli.shared_options import LexiconOption, ModelOption, limit_to_cores
from gridner.errors import FormatError, Notes, UsageError, plural

if TYPE_CHECKING:
    from gridner.documents import Document
    from gridner.inference.next_texts import Candidate

LIST = "ids"


@reading_options(without=["types"])
def next_texts(
    corpus: Annotated[Path, typer.Argument(metavar="CORPUS", help="Corpus, or folder of .txt files.")],
    *,
    reading: ReadingOptions,
    model: ModelOption = None,
    count: Annotated[
        int, typer.Option("-n", "--count", min=1, help="Number of documents or sentences to choose.")
    ] = 50,
    unit: Annotated[
        Literal["documents", "sentences"], typer.Option(help="Choose documents or sentences.")
    ] = "documents",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File or folder for the chosen texts with suggestions.")
    ] = None,
    to: Annotated[
        Literal["auto", "brat", "labelstudio", "jsonl", "ids"],
        typer.Option(help="Format of the output; auto: labelstudio for .json, jsonl for .jsonl, else a brat folder."),
    ] = "auto",
    lexicon: LexiconOption = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads (default and maximum: all cores).")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output if it exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, one line per choice, with the reasons.")] = False,
) -> None:
    """Choose the documents or sentences that are worth annotating next: those that the model is unsure about.

    Prints their ids, the most useful first. Documents that are annotated already are left out.

    Examples:
    ```
    gridner next notes --model model -n 50
    gridner next notes --model model -n 50 --output brat/round-2
    gridner next notes --model model -n 200 --unit sentences --output tasks.json
    ```

    """
    from gridner.corpus.suggestions import only_unannotated
    from gridner.formats import check_write, guess
    from gridner.inference.loading import load
    from gridner.inference.next_texts import choose_next

    if not corpus.exists():
        raise FormatError(f"{corpus}: not found")
    if output is None and (to != "auto" or force):
        raise UsageError(f"{'--force' if force else '--to'} without --output, expected both")
    written_as = _format_of(output, to) if output is not None else ""
    if output is not None and written_as != LIST:
        check_write(output, written_as, force=force)
    notes = Notes()
    format = reading.format if reading.format != "auto" else guess(corpus)
    if format == "brat" and reading.format == "auto" and not any(corpus.rglob("*.[aA][nN][nN]")):
        format = "text"
    recognizer = load(model, threads=limit_to_cores("--threads", threads), lexicon=lexicon)
    documents = input_of([], corpus, replace(reading, format=format)).documents(notes)
    with sentence_progress("read") as each:
        left = only_unannotated(documents, corpus, format, notes)
        chosen = choose_next(recognizer, left, count, unit=unit, notes=notes, each=each)
    if output is not None:
        texts = [candidate.document for candidate in chosen]
        _write(texts, output, written_as, recognizer.scheme.types, force, notes)
    else:
        _print(chosen, as_json)
    print_notes(notes)
    if output is not None:
        typer.echo(f"{output}: {plural(len(chosen), unit.removesuffix('s'))}", err=True)


def _format_of(output: Path, to: str) -> str:
    if to != "auto":
        return to
    return {".json": "labelstudio", ".jsonl": "jsonl", ".txt": LIST, ".ids": LIST}.get(output.suffix.lower(), "brat")


def _write(
    documents: list[Document], output: Path, format: str, types: tuple[str, ...], force: bool, notes: Notes
) -> None:
    from gridner.corpus.suggestions import write_suggestions
    from gridner.files import write_text, write_whole
    from gridner.formats import write

    if format == LIST:
        ids = "".join(f"{document.id}\n" for document in documents)
        write_whole(output, lambda part: write_text(part, ids), folder=False, force=force)
    elif format == "brat":
        write_suggestions(documents, output, types=types, force=force, notes=notes)
    else:
        write(documents, output, format, force=force, notes=notes)


def _print(chosen: Iterable[Candidate], as_json: bool) -> None:
    for candidate in chosen:
        if as_json:
            doubts = sorted(candidate.doubts.items(), key=lambda pair: -pair[1])[:10]
            expected = round(candidate.expected_corrections, 2)
            print_json_line(
                {
                    "id": candidate.document.id,
                    "expected_corrections": expected,
                    "suggestions": len(candidate.document.entities),
                    "doubtful_words": [word for word, _ in doubts],
                }
            )
        else:
            typer.echo(candidate.document.id)
