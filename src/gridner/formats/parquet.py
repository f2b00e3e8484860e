"""Parquet, a table with a row for each entity. It is only written, because it has no texts.

`gridner.integrations.tables` has the same table for pandas and Arrow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridner.documents import Document, covered_text, extent
from gridner.errors import FormatError, Notes, need
from gridner.files import Source
from gridner.formats._support.lost_information import note_losses

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped]

COLUMNS = ("document", "type", "start", "end", "fragments", "text", "discontinuous", "score", "id")
ROWS = 10_000  # of a part of a Parquet file, the most that are in memory


def read(source: Source) -> Iterator[Document]:
    """Refused."""
    raise FormatError(
        f"{source.path}: gridner only writes Parquet, because it has no texts; read the documents from another format"
    )


def write(documents: Iterable[Document], path: Path, notes: Notes) -> int:
    """Write one file with one row per entity, in batches of rows. Return the number of entities written."""
    columns = schema()  # an error if pyarrow is missing
    parquet = import_module("pyarrow.parquet")
    written = 0
    with open(path, "xb") as file, parquet.ParquetWriter(file, columns) as writer:
        for batch in arrow_batches(_counted(documents, notes)):
            writer.write_batch(batch)
            written += batch.num_rows
    return written


def _counted(documents: Iterable[Document], notes: Notes) -> Iterator[Document]:
    """Yield the documents, and count what the table cannot carry."""
    for document in documents:
        note_losses(document, notes, "parquet", ids=True, scores=True)
        if not document.entities:
            notes.add("document without entities, not in the table", document.id)
        yield document


def rows(documents: Iterable[Document]) -> Iterator[dict[str, Any]]:
    """Yield a row for each entity, in the order of the documents, with the keys of `COLUMNS`.

    `start` and `end` are those of the whole entity, `fragments` a list of [start, end]. `discontinuous` is whether more
    than white space parts its fragments. `score` and `id` may be None.
    """
    for document in documents:
        for entity in document.entities:
            yield {
                "document": document.id,
                "type": entity.type,
                "start": entity.start,
                "end": entity.end,
                "fragments": [[part.start, part.end] for part in entity.fragments],
                "text": covered_text(document.text, entity.fragments),
                "discontinuous": len(extent(document.text, entity)) > 1,
                "score": None if entity.score is None else float(entity.score),
                "id": entity.id,
            }


def spreadsheet_text(text: str) -> str:
    """Return text for a cell of a CSV file: an apostrophe stands before what a spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) else text


def arrow_batches(documents: Iterable[Document]) -> Iterator[pyarrow.RecordBatch]:
    """Yield the rows in batches of at most `ROWS`, with one batch at a time in memory."""
    arrow, columns = need("pyarrow", "table"), schema()
    remaining = rows(documents)
    while batch := list(islice(remaining, ROWS)):
        yield arrow.RecordBatch.from_pylist(batch, schema=columns)


def schema() -> pyarrow.Schema:
    """Return the columns; only `score` and `id` may have missing values."""
    arrow = need("pyarrow", "table")
    number, text = arrow.int64(), arrow.string()
    types = {
        "start": number,
        "end": number,
        "fragments": arrow.list_(arrow.list_(number)),
        "discontinuous": arrow.bool_(),
        "score": arrow.float64(),
    }
    return arrow.schema(
        [arrow.field(name, types.get(name, text), nullable=name in ("score", "id")) for name in COLUMNS]
    )
