"""A brat folder with a model's suggestions for annotators, and which documents annotators have worked on since."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

from gridner.corpus.brat_preannotation import add_predictions
from gridner.documents import Document
from gridner.errors import FormatError, Notes
from gridner.files import Source, file_for, read_bytes, write_text, write_whole
from gridner.formats import labelstudio
from gridner.formats._support.folders import files_under
from gridner.formats.brat import brat_name, configuration, empty_names

MANIFEST = "suggestions.json"  # in the folder: the hash of each .ann file as it was written
RESTORE = "restore it, or remove it to count all documents with entities as annotated"


def write_suggestions(
    documents: Iterable[Document], folder: Path, *, types: Collection[str], force: bool, notes: Notes
) -> int:
    """Write documents as a brat folder, all of it or nothing, and return how many entities it has.

    Each entity has its score as a note. All `types` are in annotation.conf, so that annotators can add any of them.
    """
    written = 0

    def make(part: Path) -> None:
        nonlocal written
        hashes: dict[str, str] = {}
        for document in documents:
            write_text(file_for(part, document.id, ".txt"), document.text)
            ann = file_for(part, document.id, ".ann")
            write_text(ann, "")  # brat needs one
            written += add_predictions(ann, Document(document.id, document.text), document.entities, notes)
            hashes[document.id] = _hash(ann)
        names = empty_names()
        names["entities"] = {brat_name(type): None for type in types}
        write_text(part / "annotation.conf", configuration(names))
        write_text(part / MANIFEST, json.dumps({"documents": hashes}, indent=1, ensure_ascii=False) + "\n")

    for name in write_whole(folder, make, folder=True, force=force):
        notes.add("file that was there before and stays", f"{folder}/{name}")
    return written


def only_annotated(documents: Iterable[Document], path: Path, format: str, notes: Notes) -> Iterator[Document]:
    """Leave out the documents of a brat folder or a Label Studio export that nobody has annotated, and count them."""
    if format not in ("brat", "labelstudio"):
        yield from documents
        return
    annotated = is_annotated(path, format)
    for document in documents:
        if annotated(document):
            yield document
        else:
            notes.add("document that nobody has annotated, left out (--ids keeps it)", document.id)


def only_unannotated(documents: Iterable[Document], path: Path, format: str, notes: Notes) -> Iterator[Document]:
    """Leave out the documents that somebody has annotated, and count them."""
    annotated = is_annotated(path, format)
    for document in documents:
        if annotated(document):
            notes.add("document that is annotated already, left out", document.id)
        else:
            yield document


def is_annotated(path: Path, format: str) -> Callable[[Document], bool]:
    """Return a function that says whether somebody has annotated a document of this corpus.

    In Label Studio it has an annotation that was not skipped. Elsewhere it has entities; and where gridner wrote
    suggestions for it, it has others than these.
    """
    if format == "labelstudio":
        tasks = labelstudio.annotated_ids(path)
        return lambda document: document.id in tasks
    suggested = _suggested(path) if format == "brat" and path.is_dir() else {}
    anns = files_under(path, (".ann",), Source(path, lenient=True)) if suggested else {}

    def annotated(document: Document) -> bool:
        if document.id in suggested and document.id in anns:
            return _hash(anns[document.id]) != suggested[document.id]
        return bool(document.entities)

    return annotated


def _suggested(folder: Path) -> dict[str, str]:
    """Return the hashes of the .ann files as gridner wrote them; none if it did not."""
    path = folder / MANIFEST
    if not path.is_file():
        return {}
    try:
        hashes = json.loads(read_bytes(path))["documents"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise FormatError(f"{path}: damaged ({error!s:.80}); {RESTORE}") from None
    if not isinstance(hashes, dict):
        raise FormatError(f"{path}: damaged (documents are {hashes!r:.40}); {RESTORE}")
    return hashes


def _hash(path: Path) -> str:
    return hashlib.sha256(read_bytes(path)).hexdigest()
