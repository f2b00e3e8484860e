"""`gridner predict --engine ray`: from documents or Parquet, to a file or to Parquet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from gridner.cli.progress import document_progress
from gridner.documents import Document
from gridner.errors import Notes, UsageError

if TYPE_CHECKING:
    from gridner.inference.parallel import PredictionTask
    from gridner.inference.resumable import PartialPredictions

PredictRest = Callable[["PartialPredictions"], Iterator[Document]]


def is_table(source: str) -> bool:
    """Return whether Ray reads the source by itself: Parquet, on this machine or at an address."""
    path = Path(source)
    return "://" in source or path.suffix == ".parquet" or (path.is_dir() and any(path.glob("*.parquet")))


def predict_rest_on_ray(
    source: str | None,
    documents: Iterable[Document],
    task: PredictionTask,
    *,
    workers: int | None,
    address: str | None,
    notes: Notes,
) -> PredictRest:
    """Start Ray, and return a function that predicts the documents that an interrupted run has left."""
    from gridner.integrations.ray import connect, from_documents, predict, read_table, to_documents

    connect(address)

    def predict_rest(partial: PartialPredictions) -> Iterator[Document]:
        if source is not None and is_table(source):
            dataset = read_table(source)
            if done := frozenset(partial.done):
                before = dataset.select_columns(["id", "text"]).filter(lambda row: row["id"] in done)
                partial.check_all(Document(row["id"], row["text"]) for row in before.iter_rows())
                dataset = dataset.filter(lambda row: row["id"] not in done)
        else:
            left = partial.left(documents)
            first = next(left, None)
            if first is None:  # only the writing is left
                return iter(())
            dataset = from_documents(chain([first], left))
        return document_progress(to_documents(predict(dataset, task, workers=workers), notes=notes), "predict")

    return predict_rest


def write_table_on_ray(
    source: str, output: str, task: PredictionTask, *, workers: int | None, address: str | None
) -> None:
    """Predict from Parquet to Parquet: each worker writes its own rows, nothing passes through this process."""
    from gridner.integrations.ray import connect, predict, read_table

    if not is_table(source):
        raise UsageError(
            f"{source} to {output}, expected Parquet (columns id and text) to be read, as it writes Parquet"
        )
    connect(address)
    predict(read_table(source), task, workers=workers).write_parquet(output)
