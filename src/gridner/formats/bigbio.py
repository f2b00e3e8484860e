"""The `kb` schema of BigBIO, as JSON: an array of examples, or one a line.

{"id": "1", "document_id": "1", "passages": [{"id": "1_0", "type": "", "text": ["pain in arm"], "offsets": [[0, 11]]}],
 "entities": [{"id": "1_T1", "type": "ADR", "text": ["pain", "arm"], "offsets": [[0, 4], [8, 11]], "normalized": []}],
 "events": [], "coreferences": [], "relations": []}

Offsets are code points. Passages stand at their offsets, line feeds between them. The concepts of an entity
(`normalized`) are kept in its `meta["bigbio"]`. BigBIO wants ids that no other example has, so the document's stands
before those of entities; on reading it is left off.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from reprlib import repr as shorten
from typing import Any

from gridner.documents import Document, Entity
from gridner.errors import FormatError, Notes, plural
from gridner.files import Source, check_not_empty
from gridner.formats._support.entity_ids import entity_ids
from gridner.formats._support.folders import data_files
from gridner.formats._support.json_stream import stream_values
from gridner.formats._support.lost_information import note_losses
from gridner.formats._support.offsets import fragments_from
from gridner.formats._support.passages import join_passages
from gridner.formats._support.repair import agreed

META = "bigbio"
CONCEPT = ("db_name", "db_id")


def read(source: Source) -> Iterator[Document]:
    """The documents of the file (or of the .json files of a folder)."""
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
    """A document from an example of the `kb` schema; what is left out is counted."""
    notes = Notes() if notes is None else notes
    return _document(item, _id_of(item, where), where, Source(Path(where), notes=notes))


def _id_of(item: Any, where: str) -> str:
    if not isinstance(item, Mapping) or "passages" not in item or "entities" not in item:
        raise FormatError(f"{where}: {shorten(item)}, expected an object with 'passages' and 'entities'")
    own = item.get("document_id") or item.get("id")
    if not isinstance(own, str | int) or isinstance(own, bool):
        raise FormatError(f"{where}: document_id is {shorten(own)}, expected text")
    return str(own)


def _document(item: Mapping[str, Any], document_id: str, where: str, source: Source) -> Document:
    where = f"{where}: document {document_id:.60}"
    pieces = [
        piece
        for number, passage in enumerate(_objects(item, "passages", where))
        for piece in _pieces(passage, f"{where}: passages[{number}]")
    ]
    text = join_passages(pieces, where)
    check_not_empty(text, where)
    entities = []
    for number, entity in enumerate(_objects(item, "entities", where)):
        place = f"{where}: entities[{number}]"
        with source.record(place):
            entities.append(_entity(entity, document_id, text, place, source))
    for kind in ("events", "coreferences", "relations"):
        for number, _ in enumerate(_objects(item, kind, where)):
            source.notes.add(f"one of the {kind}, left out", f"{where}: {kind}[{number}]")
    return Document(document_id, text, tuple(entities))


def _objects(item: Mapping[str, Any], key: str, where: str) -> list[Mapping[str, Any]]:
    found = item.get(key) or []
    if not isinstance(found, list) or not all(isinstance(one, Mapping) for one in found):
        raise FormatError(f"{where}: {key} are {shorten(found)}, expected a list of objects")
    return found


def _parts(item: Mapping[str, Any], where: str) -> tuple[list[str], list[tuple[int, int]]]:
    """The texts and the offsets of a passage or an entity."""
    texts, offsets = item.get("text"), item.get("offsets")
    if not isinstance(texts, list) or not all(isinstance(said, str) for said in texts):
        raise FormatError(f"{where}: text is {shorten(texts)}, expected a list of texts")
    if not isinstance(offsets, list) or not offsets:
        raise FormatError(f"{where}: offsets are {shorten(offsets)}, expected a list of [start, end]")
    for pair in offsets:
        if not isinstance(pair, list | tuple) or [type(at) for at in pair] != [int, int]:
            raise FormatError(f"{where}: offsets {shorten(pair)}, expected [start, end]")
    return texts, [(start, end) for start, end in offsets]


def _pieces(passage: Mapping[str, Any], where: str) -> Iterator[tuple[int, str]]:
    texts, pairs = _parts(passage, where)
    if len(texts) != len(pairs):
        raise FormatError(f"{where}: {len(texts)} texts and {len(pairs)} offsets, expected as many")
    for said, (start, end) in zip(texts, pairs, strict=True):
        if end - start != len(said):
            raise FormatError(
                f"{where}: offsets {start}-{end} for a text of {plural(len(said), 'character')}, expected as many"
            )
        yield start, said


def _entity(item: Mapping[str, Any], document_id: str, text: str, where: str, source: Source) -> Entity:
    texts, pairs = _parts(item, where)
    kind = item.get("type")
    if not isinstance(kind, str):
        raise FormatError(f"{where}: type is {shorten(kind)}, expected text")
    fragments = fragments_from(pairs, text, where, source.notes)
    if any(map(str.strip, texts)) and (found := agreed(" ".join(texts), pairs, text, where, source)) is not pairs:
        fragments = fragments_from(found, text, where, Notes())
    own = item.get("id")
    name = str(own).removeprefix(f"{document_id}_") if own not in (None, "") else ""
    concepts = item.get("normalized") or []
    return Entity(kind.strip(), fragments, id=name or None, meta={META: concepts} if concepts else {})


def to_kb(document: Document, notes: Notes | None = None) -> dict[str, Any]:
    """An example of the `kb` schema from a document; what it cannot carry is counted."""
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
    """What was kept; `meta` may come from anywhere, so it is checked."""
    kept = entity.meta.get(META, [])
    if isinstance(kept, list) and all(
        isinstance(one, dict) and set(one) == set(CONCEPT) and all(isinstance(said, str) for said in one.values())
        for one in kept
    ):
        return kept
    notes.add("meta 'bigbio' that is not a list of db_name and db_id, not written", f"{document_id}: {entity.type}")
    return []


def write(documents: Iterable[Document], path: Path, notes: Notes) -> int:
    """One file, an array with an example a line. How many entities were written is returned."""
    written = 0
    with open(path, "x", encoding="utf-8", newline="") as file:
        separator = "[\n"
        for document in documents:
            file.write(separator + json.dumps(to_kb(document, notes), ensure_ascii=False))
            separator = ",\n"
            written += len(document.entities)
        file.write("\n]\n" if separator == ",\n" else "[]\n")
    return written
