"""Prediction with Ray Data: a pool of recognizers on one machine or on a cluster, streaming, in order.

    import ray, gridner.integrations.ray
    found = gridner.integrations.ray.predict(ray.data.read_parquet("s3://bucket/notes"))    # columns id and text
    found.write_parquet("s3://bucket/found")

A row that cannot be read comes back without entities and with what is wrong in `error`. A worker that dies is
replaced, and what it had is done again: nothing is lost, nothing comes twice.
"""

from __future__ import annotations

import json
import logging
import math
import os
import socket
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from gridner.documents import Document, Entity, Fragment
from gridner.errors import GridnerError, Notes, UsageError, first_line, needs
from gridner.files import check_not_empty
from gridner.formats.jsonl import from_json, line_of
from gridner.inference.parallel import PredictionTask

with needs("ray"):
    import pyarrow as pa  # type: ignore[import-untyped]
    import ray
    import ray.data

DOCUMENT = "document"
ROWS_PER_BATCH = 64  # rows that a worker gets at a time
ENTITY = pa.struct([("type", pa.string()), ("fragments", pa.list_(pa.list_(pa.int64()))), ("score", pa.float64())])
NOTE = pa.struct([("what", pa.string()), ("count", pa.int64()), ("places", pa.list_(pa.string()))])
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("text", pa.string()),
        ("entities", pa.list_(ENTITY)),
        ("error", pa.string()),
        ("notes", pa.list_(NOTE)),
        ("document", pa.string()),  # all of it as a line of JSON, with its own sentences and meta, if it came so
    ]
)


def connect(address: str | None = None) -> None:
    """Join the cluster at an address, or start Ray on this machine, unless Ray is running already."""
    if ray.is_initialized():
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        _check_answers(address)
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, ValueError, RuntimeError) as error:
        raise UsageError(
            f"Ray at {address or 'this machine'} does not answer ({first_line(error)}); "
            "start a cluster there or pass another address"
        ) from None
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    ray.data.DataContext.get_current().enable_progress_bars = False  # there is one already


def _check_answers(address: str | None) -> None:
    """Raise an error at once if nothing answers: Ray itself would try for minutes, then end the process."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=10).close()


def predict(
    dataset: ray.data.Dataset,
    task: PredictionTask | None = None,
    *,
    workers: int | None = None,
    batch_size: int = ROWS_PER_BATCH,
) -> ray.data.Dataset:
    """Return a dataset with entities from one with columns id and text, in the same order, computed as it is read.

    `workers` recognizers at a time; all cores but one if it is None, so that reading always has a core.
    """
    columns = dataset.columns() or []
    if not {"id", "text"} <= set(columns):
        raise UsageError(f"the dataset has {', '.join(columns) or 'no columns'}, expected the columns id and text")
    cores = ray.cluster_resources().get("CPU", 1.0)  # type: ignore[no-untyped-call]
    workers = workers or max(1, int(cores) - 1)
    if workers > max(1, cores):
        raise UsageError(f"workers is {workers:,}, expected at most {cores:,.0f}, the cores that Ray has")
    # A core is left to those who read and write: a pool that has them all would wait for its own readers for ever.
    share = math.floor(min(1.0, (cores - 1) / workers) * 1000) / 1000
    task = task or PredictionTask()
    task = replace(task, threads=task.threads or 1)
    dataset.context.execution_options.preserve_order = True  # the dataset's own, which was made when it was
    return dataset.map_batches(
        _Worker,
        fn_constructor_args=(task,),
        batch_size=batch_size,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(size=workers),
        num_cpus=share,
    )


class _Worker:
    """A recognizer in a process of Ray."""

    def __init__(self, task: PredictionTask) -> None:
        self.task = task
        self.recognizer = task.load()

    def __call__(self, batch: pa.Table) -> pa.Table:
        document_column = [DOCUMENT] if DOCUMENT in batch.column_names else []
        rows = batch.select(["id", "text", *document_column]).to_pylist()
        good: list[tuple[int, Document]] = []
        for row_number, row in enumerate(rows):
            row |= {"entities": [], "error": None, "notes": []}
            try:
                good.append((row_number, _document(row)))
            except GridnerError as error:
                row["error"] = str(error)
        notes = Notes()
        answers = self.task.predict(self.recognizer, [document for _, document in good], notes=notes)
        for (row_number, _), answer in zip(good, answers, strict=True):
            rows[row_number]["entities"] = [
                {
                    "type": entity.type,
                    "fragments": [[at.start, at.end] for at in entity.fragments],
                    "score": entity.score,
                }
                for entity in answer.entities
            ]
        if rows:
            rows[-1]["notes"] = [{"what": note, "count": n, "places": places[:5]} for note, n, places in notes]
        return pa.Table.from_pylist(
            [{**row, "id": _as_text(row["id"]), "text": _as_text(row["text"])} for row in rows], SCHEMA
        )


def _document(row: dict[str, Any]) -> Document:
    for name in ("id", "text"):
        if not isinstance(row[name], str):
            raise UsageError(f"{name} is {row[name]!r:.40}, expected text")
    check_not_empty(row["text"], row["id"])
    return Document(row["id"], row["text"]) if row.get(DOCUMENT) is None else _document_with_meta(row)


def _document_with_meta(row: dict[str, Any]) -> Document:
    return from_json(json.loads(row[DOCUMENT]), row["id"])


def _as_text(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)


def read_table(path: str) -> ray.data.Dataset:
    """Read Parquet with columns id and text from a path or an address that Ray understands."""
    try:
        return ray.data.read_parquet(path)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{path}: cannot be read ({first_line(error)}), expected Parquet with columns id and text"
        ) from None


def from_documents(documents: Iterable[Document], *, together: int = 1000) -> ray.data.Dataset:
    """Return documents of any format as a dataset; their texts go into the object store of Ray, block by block."""
    rest = iter(documents)
    blocks: list[Any] = []
    while block_documents := list(islice(rest, together)):
        lines = [line_of(replace(document, entities=())).decode() for document in block_documents]
        columns = {
            "id": [document.id for document in block_documents],
            "text": [document.text for document in block_documents],
            DOCUMENT: lines,
        }
        blocks.append(ray.put(pa.table(columns, pa.schema([(name, pa.string()) for name in columns]))))
    if not blocks:
        raise UsageError("no documents to predict")
    return ray.data.from_arrow_refs(blocks)


def to_documents(
    predictions: ray.data.Dataset, *, notes: Notes, batch_size: int = ROWS_PER_BATCH
) -> Iterator[Document]:
    """Yield the documents of a dataset that `predict` returned, and count the rows that could not be read."""
    batches: Iterable[Any] = predictions.iter_batches(batch_size=batch_size, batch_format="pyarrow")
    for batch in batches:
        for row in batch.to_pylist():
            for note in row["notes"]:
                notes.take(note["what"], note["count"], note["places"])
            if row["error"] is not None:
                notes.add("row that could not be read, left out", row["error"])
                continue
            entities = tuple(
                Entity(entity["type"], tuple(Fragment(*at) for at in entity["fragments"]), entity["score"])
                for entity in row["entities"]
            )
            plain = Document(row["id"], row["text"]) if row[DOCUMENT] is None else _document_with_meta(row)
            yield replace(plain, entities=entities)
