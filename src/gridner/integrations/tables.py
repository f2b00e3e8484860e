"""Entities as a table with one row per entity: plain rows, pandas, Arrow, Parquet.

A table has only the texts of the entities, so it cannot be read back as documents; use `gridner.write` for that.
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
    """Return the rows as a data frame, whose column types do not depend on the values."""
    types = {"start": "int64", "end": "int64", "fragments": "object", "discontinuous": "bool", "score": "float64"}
    frame = need("pandas", "table").DataFrame(list(rows(documents)), columns=list(COLUMNS))
    return frame.astype({name: types.get(name, "string") for name in COLUMNS})


def to_arrow(documents: Iterable[Document]) -> pyarrow.Table:
    """Return the rows as an Arrow table, with the columns of `schema`."""
    return need("pyarrow", "table").Table.from_batches(arrow_batches(documents), schema=schema())


def write_parquet(
    documents: Iterable[Document], path: str | Path, *, force: bool = False, notes: Notes | None = None
) -> int:
    """Write the rows as a Parquet file, everything or nothing. Return the number of rows.

    `notes` counts what the table does not carry, such as documents without entities.
    """
    need("pyarrow", "table")
    written = 0

    def make(part: Path) -> None:
        nonlocal written
        written = write(documents, part, Notes() if notes is None else notes)

    write_whole(Path(path), make, folder=False, force=force)
    return written
