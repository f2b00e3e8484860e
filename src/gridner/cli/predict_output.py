"""What `gridner predict` does with a task and documents: answers of one process or many, kept until all are there."""

from __future__ import annotations

import dataclasses
import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from gridner.cli.predict_ray import Answers
from gridner.cli.progress import sentence_progress
from gridner.documents import Document
from gridner.errors import Notes, plural

if TYPE_CHECKING:
    from gridner.inference.parallel import PredictionTask
    from gridner.inference.resumable import PartialPredictions


def found_by(
    task: PredictionTask, workers: int, notes: Notes, documents: Iterable[Document]
) -> Iterator[tuple[Document, Document]]:
    """Each document as it was, and with what was found."""
    from gridner.inference.parallel import predict_in_processes

    before: deque[Document] = deque()

    def remembered() -> Iterator[Document]:
        for document in documents:
            before.append(document)
            yield document

    with sentence_progress("predict") as each:
        if workers > 1:
            answers = predict_in_processes(task, remembered(), workers=workers, notes=notes, each=each)
        else:
            answers = task.predict(task.load(), remembered(), notes=notes, each=each)
        for answer in answers:
            yield before.popleft(), answer


def of_those_left(
    documents: Iterable[Document],
    found: Callable[[Iterable[Document]], Iterator[tuple[Document, Document]]],
    kept: PartialPredictions,
) -> Iterator[Document]:
    """The answers for the documents that are not done yet."""
    return (answer for _, answer in found(kept.left(documents)))


def write_answers(
    answers: Answers,
    output: Path,
    to: str,
    force: bool,
    resume: bool,
    asked: dict[str, Any],
    notes: Notes,
    *,
    check: Callable[[], None] = lambda: None,
) -> None:
    """Write answers to a file or a folder; they are kept beside it until all are there.

    `check` looks at the input once nothing speaks against the output, and before any answer is computed.
    """
    from gridner.formats import check_write, write
    from gridner.inference.resumable import PartialPredictions

    check_write(output, to, force=force)
    kept = PartialPredictions(output, asked, resume=resume, notes=notes)
    if kept.done:
        typer.echo(f"{plural(len(kept.done), 'document')} already done", err=True)
    try:
        with kept:
            check()
            for _ in kept.add(answers(kept)):
                pass
            written = write(kept.documents(), output, to, force=force, notes=notes)
    except BaseException:
        if kept.folder.exists():
            typer.echo(f"partial predictions are kept in {kept.folder.name}; pass --resume to continue", err=True)
        raise
    typer.echo(f"{output}: {plural(written, 'entity')}", err=True)


def identity(task: PredictionTask) -> dict[str, Any]:
    """Return what must be the same for a run to be resumed: settings, and the content of model and lexicon."""
    from gridner.inference.checkpoint import MANIFEST
    from gridner.inference.loading import SHIPPED

    settings = dataclasses.asdict(replace(task, threads=None, model=None, lexicon=None))
    hashes = {"model": _hash((task.model or SHIPPED) / MANIFEST)}  # which has the hashes of the model's other files
    if task.lexicon is not None:
        hashes["lexicon"] = task.lexicon if task.lexicon == "none" else _hash(Path(task.lexicon))
    return {**settings, **hashes, "gridner": version("gridner")}


def _hash(path: Path) -> str | None:
    """Return the hash of a file; None if it cannot be read, which is reported when it is used."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None
