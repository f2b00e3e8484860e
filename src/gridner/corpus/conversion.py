"""Convert documents to a format, and count what it cannot represent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gridner.corpus.flattening import simplified
from gridner.documents import Document
from gridner.errors import Notes
from gridner.formats import write


@dataclass(slots=True)
class Conversion:
    """The numbers of documents and entities that were read, and of entities that were written."""

    documents: int = 0
    entities: int = 0
    entities_written: int = 0


def convert(
    documents: Iterable[Document],
    target: str | Path,
    format: str = "auto",
    *,
    flat: bool = False,
    max_gap: int | None = None,
    force: bool = False,
    notes: Notes | None = None,
) -> Conversion:
    """Write documents in a format, and return the counts. `notes` counts what is left out and why.

    `flat` keeps contiguous entities without overlaps and bridges gaps of up to `max_gap` words. Without it, `max_gap`
    leaves out entities with a wider gap.
    """
    notes = Notes() if notes is None else notes
    conversion = Conversion()

    def counted() -> Iterator[Document]:
        for document in documents:
            conversion.documents += 1
            conversion.entities += len(document.entities)
            yield simplified(document, flat=flat, max_gap=max_gap, notes=notes)

    conversion.entities_written = write(counted(), target, format, force=force, notes=notes)
    return conversion
