"""What the tests of the formats share: writing small files, and a corpus through a format and back."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from gridner.documents import Document, Fragment, extent
from gridner.errors import Notes
from gridner.formats import read, write
from gridner.text.alignment import overlapping_words, sentences_of


def put(folder: Path, files: dict[str, str | bytes]) -> Path:
    """Write files, as they are, into a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return folder


def through(documents: Iterable[Document], format: str) -> tuple[list[Document], Notes]:
    """The documents written and read again, and the notes of the writing."""
    notes = Notes()
    with tempfile.TemporaryDirectory() as folder:
        write(documents, Path(folder, "corpus"), format, notes=notes)
        return list(read(Path(folder, "corpus"), format)), notes


def extents(document: Document) -> list[tuple[str, tuple[Fragment, ...]]]:
    """Type and extent of each entity, in order."""
    return [(entity.type, extent(document.text, entity)) for entity in document.entities]


def same_documents(back: list[Document], corpus: list[Document], *, scores: bool = True) -> None:
    """Ids, texts, types and extents are the same; scores too, unless a format has none; entity ids, if they can be."""
    found = {document.id: document for document in back}
    assert len(found) == len(back)
    assert found.keys() == {document.id for document in corpus}
    for document in corpus:
        again = found[document.id]
        assert again.text == document.text
        assert extents(again) == extents(document)
        assert [one.score for one in again.entities] == [one.score if scores else None for one in document.entities]
        ids = [entity.id for entity in document.entities]
        kept = [(one.id, entity.id) for one, entity in zip(again.entities, document.entities, strict=True)]
        assert all(a == b for a, b in kept if b is not None and ids.count(b) == 1)


def mentions(document: Document) -> list[list[tuple[str, tuple[int, ...]]]]:
    """Types and word indices of the entities of each sentence, of a document that came as words."""
    return [
        [
            (entity.type, overlapping_words(sentence.words, entity.fragments))
            for entity in document.entities
            if sentence.start <= entity.start < sentence.end
        ]
        for sentence in sentences_of(document)
    ]


def counted(notes: Notes) -> dict[str, int]:
    """The notes as counts."""
    return {what: count for what, count, _ in notes}
