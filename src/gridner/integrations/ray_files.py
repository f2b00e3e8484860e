"""Predict files with Ray: from documents or Parquet, to a file or to Parquet. Ray is imported on the first call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path

from gridner.documents import Document
from gridner.errors import Notes, UsageError
from gridner.inference.parallel import PredictionTask
from gridner.inference.prediction_files import task_identity, write_predictions
from gridner.inference.resumable import PartialPredictions


def is_table(source: str) -> bool:
    """Return whether Ray itself reads the source: Parquet on this machine or at an address."""
    path = Path(source)
    return "://" in source or path.suffix == ".parquet" or (path.is_dir() and any(path.glob("*.parquet")))


def predict_to_file(
    task: PredictionTask,
    source: str | Iterable[Document],
    output: str | Path,
    *,
    format: str = "auto",
    workers: int | None = None,
    address: str | None = None,
    resume: bool = False,
    force: bool = False,
    notes: Notes | None = None,
) -> int:
    """Predict documents, or Parquet that Ray reads, and write a file or a folder. Return the number of entities.

    Partial predictions are kept beside the output, so that an interrupted call can continue with `resume`.
    """
    notes = Notes() if notes is None else notes
    predict_rest = rest_predictor(task, source, workers=workers, address=address, notes=notes)
    return write_predictions(
        predict_rest, Path(output), format, settings=task_identity(task), resume=resume, force=force, notes=notes
    )


def predict_table(
    task: PredictionTask, source: str, output: str, *, workers: int | None = None, address: str | None = None
) -> None:
    """Predict from Parquet to Parquet. Each worker writes its own rows, and none pass through this process."""
    from gridner.integrations.ray import connect, predict, read_table

    if not is_table(source):
        raise UsageError(
            f"{source} to {output}: this writes Parquet, expected Parquet with columns id and text to read"
        )
    connect(address)
    predict(read_table(source), task, workers=workers).write_parquet(output)


def rest_predictor(
    task: PredictionTask,
    source: str | Iterable[Document],
    *,
    workers: int | None,
    address: str | None,
    notes: Notes,
) -> Callable[[PartialPredictions], Iterator[Document]]:
    """Start Ray. Return a function that predicts the documents that an interrupted run has left."""
    from gridner.integrations.ray import connect, from_documents, predict, read_table, to_documents

    connect(address)

    def predict_rest(partial: PartialPredictions) -> Iterator[Document]:
        if isinstance(source, str):
            dataset = read_table(source)
            if done := frozenset(partial.done):
                before = dataset.select_columns(["id", "text"]).filter(lambda row: row["id"] in done)
                partial.check_all(Document(row["id"], row["text"]) for row in before.iter_rows())
                dataset = dataset.filter(lambda row: row["id"] not in done)
        else:
            left = partial.left(source)
            first = next(left, None)
            if first is None:  # all documents are predicted, and only the output is missing
                return iter(())
            dataset = from_documents(chain([first], left))
        return to_documents(predict(dataset, task, workers=workers), notes=notes)

    return predict_rest
