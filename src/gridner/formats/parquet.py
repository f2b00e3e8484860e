"""Parquet, a table with a row for each entity: only written, as it has no texts.

`gridner.integrations.tables` has its columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

from gridner.documents import Document
from gridner.errors import FormatError, Notes
from gridner.files import Source
from gridner.formats._support.lost_information import note_losses
from gridner.integrations.tables import arrow_batches, schema


def read(source: Source) -> Iterator[Document]:
    """Refused."""
    raise FormatError(f"{source.path}: a table of entities, which has no texts, expected a format with documents")


def write(documents: Iterable[Document], path: Path, notes: Notes) -> int:
    """One file, an entity a row, some thousand rows at a time. How many entities were written is returned."""
    columns = schema()  # where pyarrow is missing, this says so
    parquet = import_module("pyarrow.parquet")
    written = 0
    with open(path, "xb") as file, parquet.ParquetWriter(file, columns) as writer:
        for batch in arrow_batches(_counted(documents, notes)):
            writer.write_batch(batch)
            written += batch.num_rows
    return written


def _counted(documents: Iterable[Document], notes: Notes) -> Iterator[Document]:
    """The documents; what has no place in a table is counted."""
    for document in documents:
        note_losses(document, notes, "parquet", ids=True, scores=True)
        if not document.entities:
            notes.add("document without entities, not in the table", document.id)
        yield document
