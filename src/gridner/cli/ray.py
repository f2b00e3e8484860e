"""gridner predict --engine ray"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gridner.cli.common import progress
from gridner.documents import Document
from gridner.errors import Notes, UsageError

if TYPE_CHECKING:
    from gridner.bulk import Task

Answers = Callable[[frozenset[str]], Iterator[Document]]


def is_table(source: str) -> bool:
    """Whether Ray reads it by itself: Parquet, here or at an address."""
    path = Path(source)
    return "://" in source or path.suffix == ".parquet" or (path.is_dir() and any(path.glob("*.parquet")))


def answers_of_ray(
    source: str | None,
    documents: Iterable[Document],
    task: Task,
    *,
    workers: int | None,
    address: str | None,
    notes: Notes,
) -> Answers:
    """What gives the answers for all documents but those that are done. Ray is asked for at once."""
    from gridner.ray import connect, from_documents, predict, read_table, to_documents

    connect(address)

    def answers(done: frozenset[str]) -> Iterator[Document]:
        if source is not None and is_table(source):
            dataset = read_table(source)
            if done:
                dataset = dataset.filter(lambda row: row["id"] not in done)
        else:
            dataset = from_documents(document for document in documents if document.id not in done)
        return progress(to_documents(predict(dataset, task, workers=workers), notes=notes), "predict")

    return answers


def write_table(source: str, output: str, task: Task, *, workers: int | None, address: str | None) -> None:
    """From Parquet to Parquet, without passing through this process: each worker writes what it finds."""
    from gridner.ray import connect, predict, read_table

    if not is_table(source):
        raise UsageError(
            f"{source} to {output}, expected Parquet (columns id and text) to be read, as it writes Parquet"
        )
    connect(address)
    predict(read_table(source), task, workers=workers).write_parquet(output)
