"""Entities as a table, a row each: plain rows, pandas, Arrow, Parquet.

A table has no texts but those of the entities, so it cannot be read back as documents; `gridner.write` keeps these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridner.documents import Document, covered_text, extent
from gridner.errors import Notes, UsageError

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]
    import pyarrow  # type: ignore[import-untyped]

COLUMNS = ("document", "type", "start", "end", "fragments", "text", "discontinuous", "score", "id")
ROWS = 10_000  # of a part of a Parquet file, the most that are in memory


def rows(documents: Iterable[Document]) -> Iterator[dict[str, Any]]:
    """A row for each entity, in the order of the documents, with the keys of `COLUMNS`.

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


def to_pandas(documents: Iterable[Document]) -> pandas.DataFrame:
    """The rows as a data frame; its columns have the same types whatever is in them."""
    types = {"start": "int64", "end": "int64", "fragments": "object", "discontinuous": "bool", "score": "float64"}
    frame = _need("pandas").DataFrame(list(rows(documents)), columns=list(COLUMNS))
    return frame.astype({name: types.get(name, "string") for name in COLUMNS})


def to_arrow(documents: Iterable[Document]) -> pyarrow.Table:
    """The rows as a table of Arrow, with the columns of `schema`."""
    return _need("pyarrow").Table.from_batches(arrow_batches(documents), schema=schema())


def arrow_batches(documents: Iterable[Document]) -> Iterator[pyarrow.RecordBatch]:
    """The same in parts of at most `ROWS` rows, one at a time in memory."""
    arrow, columns = _need("pyarrow"), schema()
    every = rows(documents)
    while some := list(islice(every, ROWS)):
        yield arrow.RecordBatch.from_pylist(some, schema=columns)


def schema() -> pyarrow.Schema:
    """The columns: none but `score` and `id` has missing values."""
    arrow = _need("pyarrow")
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


def write_parquet(
    documents: Iterable[Document], path: str | Path, *, force: bool = False, notes: Notes | None = None
) -> int:
    """Write the rows as a Parquet file: all of it or nothing. How many were written is returned.

    `notes` counts what the table does not carry, such as documents without entities.
    """
    from gridner.files import write_whole  # files, which tables in memory need not
    from gridner.formats.parquet import write

    _need("pyarrow")
    written = 0

    def make(part: Path) -> None:
        nonlocal written
        written = write(documents, part, Notes() if notes is None else notes)

    write_whole(Path(path), make, folder=False, force=force)
    return written


def _need(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        missing = (error.name or name).partition(".")[0]
        raise UsageError(f"{missing} is missing, expected the extra for tables: pip install 'gridner[table]'") from None
