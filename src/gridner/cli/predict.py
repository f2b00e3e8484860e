"""gridner predict"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from gridner.cli.inputs import input_of
from gridner.cli.predict_output import found_by, identity, of_those_left, write_answers
from gridner.cli.predict_ray import answers_of_ray, is_table, write_table
from gridner.cli.printing import print_json_line, print_notes
from gridner.cli.reading_options import READABLE_FORMATS, WRITABLE_FORMATS, ReadingOptions, reading_options, type_names
from gridner.cli.shared_options import FlatOption, LexiconOption, MaxGapOption, ModelOption, limit_to_cores
from gridner.documents import Document
from gridner.errors import Notes, UsageError, plural

PLACES = ("texts", "ids", "except_ids")  # options that choose documents, which are compared themselves


@reading_options(without=["format", "types"])
def predict(
    *,
    reading: ReadingOptions,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT|FILE", help="A text; or files and folders; or - for standard input."),
    ] = None,
    source: Annotated[str | None, typer.Option("--input", "-i", help="A file or a folder to read.")] = None,
    model: ModelOption = None,
    output: Annotated[str | None, typer.Option("--output", "-o", help="File or folder to write.")] = None,
    format: Annotated[
        str,
        typer.Option("--format", "-f", help=f"Format of the input: text, {READABLE_FORMATS}; auto looks at the path."),
    ] = "auto",
    to: Annotated[
        str, typer.Option("--to", help=f"Format of the output: {WRITABLE_FORMATS}; auto by its name.")
    ] = "auto",
    threshold: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Score that an entity must exceed; lower finds more.")
    ] = None,
    lexicon: LexiconOption = None,
    types: Annotated[
        list[str] | None, typer.Option("--types", help="Entity types to find, parted by commas or given again.")
    ] = None,
    max_gap: MaxGapOption = None,
    flat: FlatOption = False,
    pre_annotate: Annotated[
        bool, typer.Option("--pre-annotate", help="Add what is found to the input's own .ann files (brat).")
    ] = False,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads of a process (default and maximum: all cores).")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes, at most one per core; each loads the model.")
    ] = None,
    engine: Annotated[
        Literal["local", "ray"], typer.Option(help="Where: in processes of this machine, or on Ray (extra ray).")
    ] = "local",
    address: Annotated[str | None, typer.Option(help="Of a Ray cluster (default: Ray on this machine).")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a prediction that was stopped.")] = False,
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
    reading_notes = Notes()  # apart, since a resumed run reads all input again
    reading = replace(reading, format=format)
    workers = limit_to_cores("--workers", workers) if engine == "local" else workers
    threads = limit_to_cores("--threads", threads, (workers or 1) if engine == "local" else 1)
    _check_options(pre_annotate, output, as_json, engine, {"--resume": resume, "--force": force, "--to": to != "auto"})
    if address is not None and engine != "ray":
        raise UsageError("--address without --engine ray, expected both or neither")
    from gridner.inference.parallel import PredictionTask

    task = PredictionTask(
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
        if is_table(source) and reading != ReadingOptions():
            raise UsageError(f"{source}: Parquet, which Ray reads, expected no options that choose or split documents")
        if "://" in output:
            write_table(source, output, task, workers=workers, address=address)
            return
    at = Path(source) if source is not None else None
    documents: Iterable[Document] = ()
    given = None
    if engine == "local" or (source is not None and not is_table(source)):
        given = input_of(inputs or [], at, reading)
        documents = given.documents(reading_notes)
    found = partial(found_by, task, workers or 1, notes)
    if pre_annotate:
        _pre_annotate(found, _brat_folder(at, inputs or [], reading), reading, notes)
    elif output is not None:
        chosen = {name: str(value) for name, value in asdict(reading).items() if name not in PLACES}
        if engine == "ray":
            answers = answers_of_ray(source, documents, task, workers=workers, address=address, notes=notes)
        else:
            answers = partial(of_those_left, documents, found)
        check = given.check if given is not None else lambda: None
        write_answers(answers, Path(output), to, force, resume, {**chosen, **identity(task)}, notes, check=check)
    elif as_json or (given is not None and given.from_stdin):
        from gridner.formats.jsonl import to_json

        for _, answer in found(documents):
            print_json_line(to_json(answer), flush=given is not None and given.from_stdin)
    else:
        _draw(answer for _, answer in found(documents))
    reading_notes.merge(notes)
    print_notes(reading_notes)


def _check_options(
    pre_annotate: bool, output: str | None, as_json: bool, engine: str, of_output: dict[str, bool]
) -> None:
    """Refuse options that exclude each other, and those that would have no effect."""
    if pre_annotate and (output is not None or as_json):
        raise UsageError("--pre-annotate with --output or --json, expected one of them: it writes into the input")
    if as_json and output is not None:
        raise UsageError("--json with --output, expected one of them: --json prints")
    for name, given in of_output.items():
        if given and output is None:
            raise UsageError(f"{name} without --output, expected both")
        if given and output is not None and "://" in output and engine == "ray":
            raise UsageError(f"{name} with {output}, expected a file or a folder of this machine")


def _brat_folder(source: Path | None, inputs: list[str], reading: ReadingOptions) -> Path:
    """Return the folder whose .ann files are added to."""
    if source is None or inputs or reading.texts is not None or not source.is_dir():
        raise UsageError("--pre-annotate, expected --input with a folder of .txt and .ann files")
    if reading.format not in ("auto", "brat"):
        raise UsageError(f"--pre-annotate with --format {reading.format}, expected brat")
    return source


def _pre_annotate(
    found: Callable[[Iterable[Document]], Iterator[tuple[Document, Document]]],
    folder: Path,
    reading: ReadingOptions,
    notes: Notes,
) -> None:
    from gridner.files import Source
    from gridner.formats.folders import files_under
    from gridner.formats.preannotate import add_to
    from gridner.locking import only_process

    added = documents = 0
    brat = replace(reading, format="brat")
    with only_process(folder, f"{folder}: another process adds to it, expected one at a time"):
        anns = files_under(folder, (".ann",), Source(folder, lenient=True))
        for before, answer in found(brat.documents(folder, notes, activity=None)):
            added += add_to(anns.get(before.id, folder / f"{before.id}.ann"), before, answer.entities, notes)
            documents += 1
    typer.echo(f"{folder}: {plural(added, 'entity')} added to {plural(documents, 'document')}", err=True)


def _draw(documents: Iterable[Document]) -> None:
    from rich.console import Console

    from gridner.cli.show import show_document

    console = Console(highlight=False)
    for document in documents:
        show_document(document, console)
