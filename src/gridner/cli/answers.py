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

from gridner.cli.common import sentence_progress
from gridner.cli.ray import Answers
from gridner.documents import Document
from gridner.errors import Notes

if TYPE_CHECKING:
    from gridner.bulk import Task


def found_by(
    task: Task, workers: int, notes: Notes, documents: Iterable[Document]
) -> Iterator[tuple[Document, Document]]:
    """Each document as it was, and with what was found."""
    from gridner.bulk import in_processes

    before: deque[Document] = deque()

    def remembered() -> Iterator[Document]:
        for document in documents:
            before.append(document)
            yield document

    with sentence_progress("predict") as each:
        if workers > 1:
            answers = in_processes(task, remembered(), workers=workers, notes=notes, each=each)
        else:
            answers = task.answers(task.load(), remembered(), notes=notes, each=each)
        for answer in answers:
            yield before.popleft(), answer


def but_done(
    documents: Iterable[Document],
    found: Callable[[Iterable[Document]], Iterator[tuple[Document, Document]]],
    done: frozenset[str],
) -> Iterator[Document]:
    """The answers for the documents that are not done yet."""
    return (answer for _, answer in found(document for document in documents if document.id not in done))


def write_answers(
    answers: Answers, output: Path, to: str, force: bool, resume: bool, asked: dict[str, Any], notes: Notes
) -> None:
    """Answers into a file or a folder; they are kept beside it until all are there."""
    from gridner.formats import check_write, write
    from gridner.kept import Kept

    check_write(output, to, force=force)
    kept = Kept(output, asked, resume=resume, notes=notes)
    if kept.done:
        typer.echo(f"{len(kept.done):,} documents were done before", err=True)
    try:
        with kept:
            for _ in kept.add(answers(kept.done)):
                pass
            written = write(kept.documents(), output, to, force=force, notes=notes)
    except BaseException:
        if kept.folder.exists():
            typer.echo(f"what was done is kept in {kept.folder.name}; --resume goes on with it", err=True)
        raise
    typer.echo(f"{output}: {written:,} entities", err=True)


def identity(task: Task) -> dict[str, Any]:
    """What must be the same for answers of two runs to be of one prediction."""
    from gridner.checkpoint import ABOUT
    from gridner.loading import SHIPPED

    about = (task.model or SHIPPED) / ABOUT
    settings = dataclasses.asdict(replace(task, threads=None, model=None))
    digest = hashlib.sha256(about.read_bytes()).hexdigest() if about.is_file() else None
    return {**settings, "model": digest, "gridner": version("gridner")}
