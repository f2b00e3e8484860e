"""The `kb` schema of BigBIO, as JSON: an array of examples, or one per line.

{"id": "1", "document_id": "1", "passages": [{"id": "1_0", "type": "", "text": ["pain in arm"], "offsets": [[0, 11]]}],
 "entities": [{"id": "1_T1", "type": "ADR", "text": ["pain", "arm"], "offsets": [[0, 4], [8, 11]], "normalized": []}],
 "events": [], "coreferences": [], "relations": []}

Offsets are code points. Passages are at their offsets, with line feeds between them. The concepts of an entity
(`normalized`) are kept in its `meta["bigbio"]`. BigBIO needs ids that are unique among all examples, so entity ids
begin with the document's id; reading removes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from reprlib import repr as shorten
from typing import Any

from gridner.documents import Document, Entity
from gridner.errors import FormatError, Notes, plural
from gridner.files import Source, check_not_empty
from gridner.formats._support.entity_ids import entity_ids
from gridner.formats._support.folders import data_files
from gridner.formats._support.json_fields import objects_in
from gridner.formats._support.json_output import document_json, write_array
from gridner.formats._support.json_stream import stream_values
from gridner.formats._support.lost_information import note_losses
from gridner.formats._support.passages import join_passages
from gridner.formats._support.repair import agreed_fragments

META = "bigbio"
CONCEPT = ("db_name", "db_id")


def read(source: Source) -> Iterator[Document]:
    """Yield the documents of a file (or of the .json files of a folder)."""
    for path in data_files(source, (".json", ".jsonl")):
        with source.record(str(path)):
            for number, item in enumerate(stream_values(path), start=1):
                where = f"{path}: record {number}"
                with source.record(where):
                    document_id = _id_of(item, where)
                    if source.wants(document_id):
                        source.once(document_id, where)
                        yield _document(item, document_id, where, source)


def from_kb(item: Mapping[str, Any], where: str, notes: Notes | None = None) -> Document:
    """Return a document from an example of the `kb` schema, and count what is left out."""
    notes = Notes() if notes is None else notes
    return _document(item, _id_of(item, where), where, Source(Path(where), notes=notes))


def _id_of(item: Any, where: str) -> str:
    if not isinstance(item, Mapping) or "passages" not in item or "entities" not in item:
        raise FormatError(f"{where}: {shorten(item)}, expected an object with 'passages' and 'entities'")
    document_id = item.get("document_id") or item.get("id")
    if not isinstance(document_id, str | int) or isinstance(document_id, bool):
        raise FormatError(f"{where}: document_id is {shorten(document_id)}, expected text")
    return str(document_id)


def _document(item: Mapping[str, Any], document_id: str, where: str, source: Source) -> Document:
    where = f"{where}: document {document_id:.60}"
    passages = [
        located
        for number, passage in enumerate(objects_in(item, "passages", where))
        for located in _located_texts(passage, f"{where}: passages[{number}]")
    ]
    text = join_passages(passages, where)
    check_not_empty(text, where)
    entities = []
    for number, entity in enumerate(objects_in(item, "entities", where)):
        entity_where = f"{where}: entities[{number}]"
        with source.record(entity_where):
            entities.append(_entity(entity, document_id, text, entity_where, source))
    for kind in ("events", "coreferences", "relations"):
        for number, _ in enumerate(objects_in(item, kind, where)):
            source.notes.add(f"one of the {kind}, left out", f"{where}: {kind}[{number}]")
    return Document(document_id, text, tuple(entities))


def _texts_and_offsets(item: Mapping[str, Any], where: str) -> tuple[list[str], list[tuple[int, int]]]:
    """Return the texts and the offsets of a passage or an entity."""
    texts, offsets = item.get("text"), item.get("offsets")
    if not isinstance(texts, list) or not all(isinstance(value, str) for value in texts):
        raise FormatError(f"{where}: text is {shorten(texts)}, expected a list of texts")
    if not isinstance(offsets, list) or not offsets:
        raise FormatError(f"{where}: offsets are {shorten(offsets)}, expected a list of [start, end]")
    for pair in offsets:
        if not isinstance(pair, list | tuple) or [type(at) for at in pair] != [int, int]:
            raise FormatError(f"{where}: offsets {shorten(pair)}, expected [start, end]")
    return texts, [(start, end) for start, end in offsets]


def _located_texts(passage: Mapping[str, Any], where: str) -> Iterator[tuple[int, str]]:
    """Yield the texts of a passage with their offsets."""
    texts, pairs = _texts_and_offsets(passage, where)
    if len(texts) != len(pairs):
        raise FormatError(f"{where}: {len(texts)} texts and {len(pairs)} offsets, expected the same number")
    for text, (start, end) in zip(texts, pairs, strict=True):
        if end - start != len(text):
            raise FormatError(
                f"{where}: offsets {start}-{end} for a text of {plural(len(text), 'character')}, "
                f"expected {start}-{start + len(text)}"
            )
        yield start, text


def _entity(item: Mapping[str, Any], document_id: str, text: str, where: str, source: Source) -> Entity:
    texts, pairs = _texts_and_offsets(item, where)
    kind = item.get("type")
    if not isinstance(kind, str):
        raise FormatError(f"{where}: type is {shorten(kind)}, expected text")
    stated = " ".join(texts)
    fragments = agreed_fragments(stated if stated.strip() else None, pairs, text, where, source)
    entity_id = item.get("id")
    name = str(entity_id).removeprefix(f"{document_id}_") if entity_id not in (None, "") else ""
    concepts = item.get("normalized") or []
    return Entity(kind.strip(), fragments, id=name or None, meta={META: concepts} if concepts else {})


def to_kb(document: Document, notes: Notes | None = None) -> dict[str, Any]:
    """Return a document as an example of the `kb` schema, and count what it cannot carry."""
    notes = Notes() if notes is None else notes
    note_losses(document, notes, META, ids=True, own_entity_meta=META)
    text, names = document.text, entity_ids(document, notes, META)
    passage = {"id": f"{document.id}__text", "type": "", "text": [text], "offsets": [[0, len(text)]]}
    entities = [
        {
            "id": f"{document.id}_{name}",
            "type": entity.type,
            "text": [text[at.start : at.end] for at in entity.fragments],
            "offsets": [[at.start, at.end] for at in entity.fragments],
            "normalized": _concepts(entity, document.id, notes),
        }
        for entity, name in zip(document.entities, names, strict=True)
    ]
    empty: dict[str, Any] = {"events": [], "coreferences": [], "relations": []}
    return {"id": document.id, "document_id": document.id, "passages": [passage], "entities": entities, **empty}


def _concepts(entity: Entity, document_id: str, notes: Notes) -> list[dict[str, str]]:
    """Return the concepts of an entity, checked, because `meta` may come from anywhere."""
    concepts = entity.meta.get(META, [])
    if isinstance(concepts, list) and all(
        isinstance(concept, dict)
        and set(concept) == set(CONCEPT)
        and all(isinstance(value, str) for value in concept.values())
        for concept in concepts
    ):
        return concepts
    notes.add("meta 'bigbio' that is not a list of db_name and db_id, not written", f"{document_id}: {entity.type}")
    return []


def write(documents: Iterable[Document], path: Path, notes: Notes) -> int:
    """Write one file, an array with one example per line. Return the number of entities written."""
    return write_array(
        path,
        ((document_json(document.id, to_kb(document, notes)), len(document.entities)) for document in documents),
    )
