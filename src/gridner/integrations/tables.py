"""Entities as a table, a row each: plain rows, pandas, Arrow, Parquet.

A table has no texts but those of the entities, so it cannot be read back as documents; `gridner.write` keeps these.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from gridner.documents import Document
from gridner.errors import Notes, need
from gridner.files import write_whole
from gridner.formats.parquet import COLUMNS, arrow_batches, rows, schema, write

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]
    import pyarrow  # type: ignore[import-untyped]

__all__ = ["COLUMNS", "arrow_batches", "rows", "schema", "to_arrow", "to_pandas", "write_parquet"]


def to_pandas(documents: Iterable[Document]) -> pandas.DataFrame:
    """The rows as a data frame; its columns have the same types whatever is in them."""
    types = {"start": "int64", "end": "int64", "fragments": "object", "discontinuous": "bool", "score": "float64"}
    frame = need("pandas", "table").DataFrame(list(rows(documents)), columns=list(COLUMNS))
    return frame.astype({name: types.get(name, "string") for name in COLUMNS})


def to_arrow(documents: Iterable[Document]) -> pyarrow.Table:
    """The rows as a table of Arrow, with the columns of `schema`."""
    return need("pyarrow", "table").Table.from_batches(arrow_batches(documents), schema=schema())


def write_parquet(
    documents: Iterable[Document], path: str | Path, *, force: bool = False, notes: Notes | None = None
) -> int:
    """Write the rows as a Parquet file: all of it or nothing. How many were written is returned.

    `notes` counts what the table does not carry, such as documents without entities.
    """
    need("pyarrow", "table")
    written = 0

    def make(part: Path) -> None:
        nonlocal written
        written = write(documents, part, Notes() if notes is None else notes)

    write_whole(Path(path), make, folder=False, force=force)
    return written
