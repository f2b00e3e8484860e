"""gridner predict"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from gridner.cli.answers import but_done, found_by, identity, write_answers
from gridner.cli.common import (
    FORMAT_NAMES,
    READ_FORMATS,
    ExceptIdsOption,
    IdsOption,
    LenientOption,
    Reading,
    SentencesOption,
    TextsOption,
    print_notes,
    type_names,
)
from gridner.cli.ray import answers_of_ray, is_table, write_table
from gridner.documents import Document
from gridner.errors import FormatError, Notes, UsageError

STDIN = "-"


def predict(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT|FILE", help="A text; or files and folders; or - for standard input."),
    ] = None,
    source: Annotated[str | None, typer.Option("--input", "-i", help="A file or a folder to read.")] = None,
    model: Annotated[
        Path | None, typer.Option("--model", "-m", help="A model folder (default: the one that comes with gridner).")
    ] = None,
    output: Annotated[str | None, typer.Option("--output", "-o", help="File or folder to write.")] = None,
    format: Annotated[
        str, typer.Option("--format", "-f", help=f"Format of the input: text, {READ_FORMATS}; auto looks at the path.")
    ] = "auto",
    to: Annotated[str, typer.Option("--to", help=f"Format of the output: {FORMAT_NAMES}; auto by its name.")] = "auto",
    threshold: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Score that an entity must exceed; lower finds more.")
    ] = None,
    lexicon: Annotated[
        str | None,
        typer.Option(
            "--lexicon", help="More names that are known, a type, a tab and a name a line; none: not even its own."
        ),
    ] = None,
    types: Annotated[
        list[str] | None, typer.Option("--types", help="Entity types to find, parted by commas or given again.")
    ] = None,
    max_gap: Annotated[
        int | None, typer.Option("--max-gap", min=0, help="Leave out entities with a gap of more words than this.")
    ] = None,
    flat: Annotated[
        bool,
        typer.Option("--flat", help="Only contiguous entities that do not overlap; gaps up to --max-gap are covered."),
    ] = False,
    pre_annotate: Annotated[
        bool, typer.Option("--pre-annotate", help="Add what is found to the input's own .ann files (brat).")
    ] = False,
    texts: TextsOption = None,
    ids: IdsOption = None,
    except_ids: ExceptIdsOption = None,
    sentences: SentencesOption = "auto",
    threads: Annotated[int | None, typer.Option(min=1, help="Threads of a process (default: all cores).")] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes, for much text; each has a model of its own in memory.")
    ] = None,
    engine: Annotated[
        Literal["local", "ray"], typer.Option(help="Where: in processes of this machine, or on Ray (extra ray).")
    ] = "local",
    address: Annotated[str | None, typer.Option(help="Of a Ray cluster (default: Ray on this machine).")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a prediction that was stopped.")] = False,
    lenient: LenientOption = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the output if it exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines, a document a line.")] = False,
) -> None:
    """Find the entities of texts.

    Examples:

        gridner predict "loss of rod and cone photoreceptors"

        gridner predict notes/*.txt --threshold 0.2 --json

        gridner predict --input corpus --format brat --output predictions --to brat --model model

        cat documents.jsonl | gridner predict - > found.jsonl

        gridner predict --input archive.jsonl --output found.jsonl --workers 8   # stopped? the same with --resume

        gridner predict --engine ray --address auto --input s3://notes/ --output s3://found/

    """
    notes = Notes()
    reading = Reading(format, texts, ids, except_ids, None, sentences, lenient)
    if pre_annotate and (output is not None or as_json):
        raise UsageError("--pre-annotate with --output or --json, expected one of them: it writes into the input")
    from gridner.bulk import Task

    task = Task(
        model=model,
        lexicon=lexicon,
        threshold=threshold,
        types=tuple(type_names(types)) if types is not None else None,
        flat=flat,
        max_gap=max_gap,
        threads=threads,
    )
    if engine == "ray":
        if source is None or output is None or inputs:
            raise UsageError("--engine ray, expected --input and --output")
        if is_table(source) and reading != Reading():
            raise UsageError(f"{source}: Parquet, which Ray reads, expected no options that choose or split documents")
        if "://" in output:
            write_table(source, output, task, workers=workers, address=address)
            return
    at = Path(source) if source is not None else None
    documents: Iterable[Document] = ()
    from_stdin = False
    if engine == "local" or (source is not None and not is_table(source)):
        documents, from_stdin = _documents(inputs or [], at, reading, notes)
    found = partial(found_by, task, workers or 1, notes)
    if pre_annotate:
        _pre_annotate(found(documents), _brat_folder(at, inputs or [], texts), notes)
    elif output is not None:
        how = {name: str(value) for name, value in asdict(reading).items()}
        asked = {"input": source or inputs, **how, **identity(task)}
        if engine == "ray":
            answers = answers_of_ray(source, documents, task, workers=workers, address=address, notes=notes)
        else:
            answers = partial(but_done, documents, found)
        write_answers(answers, Path(output), to, force, resume, asked, notes)
    elif as_json or from_stdin:
        from gridner.formats.jsonl import line_of

        for _, answer in found(documents):
            print(line_of(answer).decode(), flush=from_stdin)
    else:
        _draw(answer for _, answer in found(documents))
    print_notes(notes)


def _documents(
    inputs: list[str], source: Path | None, reading: Reading, notes: Notes
) -> tuple[Iterable[Document], bool]:
    """What is to be read, and whether it comes from standard input."""
    if source is not None and inputs:
        raise UsageError(f"{inputs[0]:.60} and --input, expected one of them")
    if source is not None:
        return _of_files([source], reading, notes), False
    if inputs == [STDIN] or (not inputs and not sys.stdin.isatty()):
        how = replace(reading, format="jsonl" if reading.format == "auto" else reading.format)
        if how.format == "text":
            return [_text("text", sys.stdin.read(), reading)], True
        return how.documents(Path("/dev/stdin"), notes, what=None), True
    if not inputs:
        raise UsageError("nothing to read, expected a text, files, --input or standard input")
    if len(inputs) == 1 and not _is_path(inputs[0]):
        return [_text("text", inputs[0], reading)], False
    return _of_files([Path(name) for name in inputs], reading, notes), False


def _is_path(given: str) -> bool:
    """Whether it names a file, there or not; a text has spaces and neither slashes alone nor the end of a file name."""
    try:
        there = bool(given) and Path(given).exists()  # the empty path is the current folder
    except (OSError, ValueError):  # too long for a name, or not one
        return False
    return there or (len(given.split()) == 1 and (os.sep in given or Path(given).suffix in (".txt", ".ann", ".jsonl")))


def _of_files(paths: list[Path], reading: Reading, notes: Notes) -> Iterator[Document]:
    from gridner.formats.files import files_under, read_text
    from gridner.formats.files import reading as errors_of

    for path in paths:
        if not path.exists():
            raise FormatError(f"{path}: not found")
        if reading.format == "text" or (reading.format == "auto" and path.is_file() and path.suffix == ".txt"):
            with errors_of(path):
                files = files_under(path, (".txt",) if path.is_dir() else (path.suffix,))
                if not files:
                    raise FormatError(f"{path}: no documents, expected files that end in .txt")
                for name, file in files.items():
                    yield _text(name, read_text(file), reading)
        else:
            yield from reading.documents(path, notes, what=None)


def _text(name: str, text: str, reading: Reading) -> Document:
    """A document from plain text."""
    from gridner.formats.files import is_empty

    if is_empty(text):
        raise FormatError(f"{name}: an empty text, expected something to read")
    return reading.split(Document(name, text))


def _brat_folder(source: Path | None, inputs: list[str], texts: Path | None) -> Path:
    """The folder whose .ann files are added to."""
    if source is None or inputs or texts is not None or not source.is_dir():
        raise UsageError("--pre-annotate, expected --input with a folder of .txt and .ann files")
    return source


def _pre_annotate(found: Iterable[tuple[Document, Document]], folder: Path, notes: Notes) -> None:
    from gridner.formats.brat import add_to

    added = documents = 0
    for before, answer in found:
        added += add_to(folder / f"{before.id}.ann", before, answer.entities, notes)
        documents += 1
    typer.echo(f"{folder}: {added:,} entities added to {documents:,} documents", err=True)


def _draw(documents: Iterable[Document]) -> None:
    from rich.console import Console

    from gridner.cli.show import show_document

    console = Console(highlight=False)
    for document in documents:
        show_document(document, console)
