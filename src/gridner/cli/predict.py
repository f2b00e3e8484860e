"""gridner predict"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gridner.cli.inputs import input_of
from gridner.cli.printing import print_json_line, print_notes
from gridner.cli.progress import document_progress, sentence_progress
from gridner.cli.reading_options import READABLE_FORMATS, WRITABLE_FORMATS, ReadingOptions, reading_options, type_names
from gridner.cli.shared_options import FlatOption, LexiconOption, MaxGapOption, ModelsOption, limit_to_cores
from gridner.documents import Document
from gridner.errors import Notes, UsageError, plural

if TYPE_CHECKING:
    from gridner.inference.parallel import PredictionTask
    from gridner.inference.resumable import PartialPredictions

DOCUMENT_SELECTION = (
    "texts",
    "ids",
    "except_ids",
)  # a resumed run compares the documents instead


@reading_options(without=["format", "types"])
def predict(
    *,
    reading: ReadingOptions,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT|FILE", help="A text, files or folders, or - for standard input."),
    ] = None,
    source: Annotated[str | None, typer.Option("--input", "-i", help="File or folder to read.")] = None,
    model: ModelsOption = None,
    average: Annotated[
        bool,
        typer.Option(
            "--average", help="Average the probabilities of several --model, instead of merging their entities."
        ),
    ] = False,
    output: Annotated[str | None, typer.Option("--output", "-o", help="File or folder to write.")] = None,
    format: Annotated[
        str,
        typer.Option(
            "--format", "-f", help=f"Format of the input: text, {READABLE_FORMATS}; auto recognizes it from the path."
        ),
    ] = "auto",
    to: Annotated[
        str, typer.Option("--to", help=f"Format of the output: {WRITABLE_FORMATS}; auto chooses by the file name.")
    ] = "auto",
    threshold: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="Score that an entity must exceed; a lower one gives more recall."),
    ] = None,
    lexicon: LexiconOption = None,
    types: Annotated[
        list[str] | None, typer.Option("--types", help="Find only these entity types: A,B or repeated.")
    ] = None,
    max_gap: MaxGapOption = None,
    flat: FlatOption = False,
    pre_annotate: Annotated[
        bool, typer.Option("--pre-annotate", help="Add the entities to the .ann files of the input (brat).")
    ] = False,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads per process (default and maximum: all cores).")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes, at most one per core; each loads the model.")
    ] = None,
    engine: Annotated[
        Literal["local", "ray"], typer.Option(help="Where to run: on this machine, or on Ray (needs the extra ray).")
    ] = "local",
    address: Annotated[
        str | None, typer.Option(help="Address of a Ray cluster (default: start Ray on this machine).")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume an interrupted prediction.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output if it exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, one document per line.")] = False,
) -> None:
    """Find entities in texts, files or a corpus.

    Examples:
    ```
    gridner predict "pain in left arm and shoulder"
    gridner predict notes/*.txt --threshold 0.2 --json
    gridner predict --input corpus --format brat --output predictions --to brat --model model
    cat documents.jsonl | gridner predict - > found.jsonl
    gridner predict --input archive.jsonl --output found.jsonl --workers 8
    gridner predict --input archive.jsonl --output found.jsonl --workers 8 --resume
    gridner predict --engine ray --address auto --input s3://notes/ --output s3://found/
    ```

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
    from gridner.inference.prediction_files import (
        add_to_brat_folder,
        predict_documents,
        task_identity,
        write_predictions,
    )
    from gridner.integrations.ray_files import is_table, predict_table, rest_predictor

    task = PredictionTask(
        model=tuple(model) if model else None,
        lexicon=lexicon,
        threshold=threshold,
        types=tuple(type_names(types)) if types is not None else None,
        flat=flat,
        max_gap=max_gap,
        threads=threads,
        average=average,
    )
    if engine == "ray":
        if source is None or output is None or inputs:
            raise UsageError("--engine ray, expected --input and --output")
        if is_table(source) and reading != ReadingOptions():
            raise UsageError(f"{source}: Parquet, which Ray reads, expected no options that choose or split documents")
        if "://" in output:
            predict_table(task, source, output, workers=workers, address=address)
            return
    path = Path(source) if source is not None else None
    documents: Iterable[Document] = ()
    prediction_input = None
    if engine == "local" or (source is not None and not is_table(source)):
        prediction_input = input_of(inputs or [], path, reading)
        documents = prediction_input.documents(reading_notes)
    from_stdin = prediction_input is not None and prediction_input.from_stdin

    def predict_local(documents: Iterable[Document]) -> Iterator[tuple[Document, Document]]:
        with sentence_progress("predict") as count_sentence:
            yield from predict_documents(task, documents, workers=workers or 1, notes=notes, on_sentence=count_sentence)

    if pre_annotate:
        folder = _brat_folder(path, inputs or [], reading)
        brat = replace(reading, format="brat")
        entities, annotated = add_to_brat_folder(
            folder, lambda: predict_local(brat.documents(folder, notes, activity=None)), notes=notes
        )
        typer.echo(f"{folder}: {plural(entities, 'entity')} added to {plural(annotated, 'document')}", err=True)
    elif output is not None:
        if engine == "ray":
            ray_source = source if source is not None and is_table(source) else documents
            predict_on_ray = rest_predictor(task, ray_source, workers=workers, address=address, notes=notes)

        def predict_rest(partial: PartialPredictions) -> Iterator[Document]:
            if engine == "ray":
                return document_progress(predict_on_ray(partial), "predict")
            return (predicted for _, predicted in predict_local(partial.left(documents)))

        written = write_predictions(
            predict_rest,
            Path(output),
            to,
            settings={
                **{name: str(value) for name, value in asdict(reading).items() if name not in DOCUMENT_SELECTION},
                **task_identity(task),
            },
            resume=resume,
            force=force,
            notes=notes,
            check_input=(lambda: None) if prediction_input is None else prediction_input.check,
            say=partial(typer.echo, err=True),
        )
        typer.echo(f"{output}: {plural(written, 'entity')}", err=True)
        if not written:
            _print_types_looked_for(task)
    elif as_json or from_stdin:
        from gridner.formats.jsonl import to_json

        for _, predicted in predict_local(documents):
            shown = _with_types_looked_for(predicted, task) if as_json and not predicted.entities else predicted
            print_json_line(to_json(shown), flush=from_stdin)
    else:
        from rich.console import Console

        from gridner.view.terminal import print_document

        console = Console(highlight=False)
        found = 0
        for _, predicted in predict_local(documents):
            print_document(predicted, console)
            found += len(predicted.entities)
        if not found:
            _print_types_looked_for(task)
    reading_notes.merge(notes)
    print_notes(reading_notes)


def _print_types_looked_for(task: PredictionTask) -> None:
    typer.echo("no entities found; gridner looked for", err=True)
    for one in task.types_looked_for():
        typer.echo(f"  {one}", err=True)


def _with_types_looked_for(document: Document, task: PredictionTask) -> Document:
    """Return a document with the types that gridner looked for in its meta."""
    types = {one.name: {"description": one.description, "example": one.example} for one in task.types_looked_for()}
    return replace(document, meta={**document.meta, "looked_for": types})


def _check_options(
    pre_annotate: bool, output: str | None, as_json: bool, engine: str, output_options: dict[str, bool]
) -> None:
    """Refuse options that exclude each other, and those that would have no effect."""
    if pre_annotate and (output is not None or as_json):
        raise UsageError("--pre-annotate with --output or --json, expected one of them: it writes into the input")
    if as_json and output is not None:
        raise UsageError("--json with --output, expected one of them: --json prints")
    for name, is_set in output_options.items():
        if is_set and output is None:
            raise UsageError(f"{name} without --output, expected both")
        if is_set and output is not None and "://" in output and engine == "ray":
            raise UsageError(f"{name} with {output}, expected a file or a folder of this machine")


def _brat_folder(source: Path | None, inputs: list[str], reading: ReadingOptions) -> Path:
    """Return the folder to pre-annotate, or refuse the options."""
    if source is None or inputs or reading.texts is not None or not source.is_dir():
        raise UsageError("--pre-annotate, expected --input with a folder of .txt and .ann files")
    if reading.format not in ("auto", "brat"):
        raise UsageError(f"--pre-annotate with --format {reading.format}, expected brat")
    return source
