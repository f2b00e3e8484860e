"""PubAnnotation JSON: a text and its denotations, a document a file.

{"text": "ES and somatic cells", "sourcedb": "PubMed", "sourceid": "1",
 "denotations": [{"id": "T1", "span": [{"begin": 0, "end": 2}, {"begin": 15, "end": 20}], "obj": "CL:0002322"}]}

Discontinuous ones are read in both models that PubAnnotation has: a list of spans (bagging), and denotations joined by
`_lexicallyChainedTo`, of which all but one are a `_FRAGMENT` (chaining). Written is the list. A score is an attribute
`score`; other attributes are kept in the entity's `meta["pubannotation"]`, what names the source in the document's.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from reprlib import repr as shorten
from typing import Any

from gridner.documents import Document, Entity
from gridner.errors import FormatError, Notes, OutputError
from gridner.files import Source, check_not_empty, file_for, write_text
from gridner.formats._support.entity_ids import entity_ids
from gridner.formats._support.folders import data_files
from gridner.formats._support.joined_annotations import joined_groups
from gridner.formats._support.json_stream import stream_values
from gridner.formats._support.lost_information import note_losses
from gridner.formats._support.offsets import fragments_from

CHAIN, FRAGMENT, SCORE, META = "_lexicallyChainedTo", "_FRAGMENT", "score", "pubannotation"
SOURCE = ("sourcedb", "sourceid", "divid")
LISTS = ("denotations", "relations", "attributes", "modifications", "tracks", "blocks")


def read(source: Source) -> Iterator[Document]:
    """Yield the documents of a file (or of the .json files of a folder). An array and JSON lines are accepted, too."""
    for path in data_files(source, (".json", ".jsonl")):
        name = path.name if path == source.path else path.relative_to(source.path).as_posix()
        with source.record(str(path)):
            for number, item in enumerate(stream_values(path), start=1):
                where = f"{path}: record {number}"
                with source.record(where):
                    if not isinstance(item, dict) or not isinstance(item.get("text"), str):
                        raise FormatError(f"{where}: {shorten(item)}, expected an object with 'text' and 'denotations'")
                    plain = name.removesuffix(path.suffix)
                    document_id = _source_id(item) or (plain if number == 1 else f"{plain}:{number}")
                    if source.wants(document_id):
                        source.once(document_id, where)
                        yield _document(item, document_id, where, source)


def _source_id(item: dict[str, Any]) -> str:
    """Return sourcedb-sourceid-divid, by which PubAnnotation names files; '' if there is no sourceid."""
    if item.get("sourceid") in (None, ""):
        return ""
    return "-".join(str(item[key]) for key in SOURCE if item.get(key) not in (None, ""))


def _document(item: dict[str, Any], document_id: str, where: str, source: Source) -> Document:
    text = item["text"]
    check_not_empty(text, where)
    lists = {key: item.get(key) or [] for key in LISTS}
    for key, objects in lists.items():
        if not isinstance(objects, list) or not all(isinstance(element, dict) for element in objects):
            raise FormatError(f"{where}: {key} are {shorten(objects)}, expected a list of objects")
        if key in ("modifications", "tracks", "blocks"):
            for number in range(len(objects)):
                source.notes.add(f"one of the {key}, left out", f"{where}: {key}[{number}]")
    chains = []
    for relation in lists["relations"]:
        if relation.get("pred") == CHAIN:
            chains.append((str(relation.get("subj")), str(relation.get("obj"))))
        else:
            source.notes.add("relation, left out", f"{where}: {relation.get('id')!s:.40}")
    denotations = _by_id(lists["denotations"], where)
    attributes: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for attribute in lists["attributes"]:
        subject = str(attribute.get("subj"))
        if subject in denotations:
            attributes[subject].append(attribute)
        else:
            source.notes.add("attribute of something that is no denotation, left out", f"{where}: {subject:.40}")
    entities = []
    for members in joined_groups(denotations, chains, where):
        with source.record(where):
            entity_attributes = [attribute for name in members for attribute in attributes.get(name, ())]
            entities.append(
                _entity({name: denotations[name] for name in members}, entity_attributes, text, where, source.notes)
            )
    meta = {key: item[key] for key in SOURCE if item.get(key) not in (None, "")}
    return Document(document_id, text, tuple(entities), meta={META: meta} if meta else {})


def _by_id(denotations: list[dict[str, Any]], where: str) -> dict[str, dict[str, Any]]:
    by_id: dict[str, dict[str, Any]] = {}
    for number, denotation in enumerate(denotations, start=1):
        name = str(denotation.get("id") or f"#{number}")
        if name in by_id:
            raise FormatError(f"{where}: denotation {name:.40} appears twice; ids must be unique")
        by_id[name] = denotation
    return by_id


def _entity(
    members: dict[str, dict[str, Any]], attributes: list[dict[str, Any]], text: str, where: str, notes: Notes
) -> Entity:
    """Return the entity of a denotation, or of several that a chain joins."""
    denotation_where = f"{where}: denotation {', '.join(members):.60}"
    heads = [name for name, denotation in members.items() if denotation.get("obj") != FRAGMENT]
    if len(heads) != 1:
        raise FormatError(
            f"{denotation_where}: {len(heads)} have a type; give one the type, and the others the obj {FRAGMENT}"
        )
    kind = members[heads[0]].get("obj")
    if not isinstance(kind, str):
        raise FormatError(f"{denotation_where}: obj is {shorten(kind)}, expected a type")
    fragments = fragments_from(
        [pair for denotation in members.values() for pair in _spans(denotation, denotation_where)],
        text,
        denotation_where,
        notes,
    )
    score = None
    other_attributes = []
    for attribute in attributes:
        value = attribute.get("obj")
        if attribute.get("pred") == SCORE and isinstance(value, int | float) and not isinstance(value, bool):
            score = value
        else:
            other_attributes.append({"pred": attribute.get("pred"), "obj": value})
    name = None if "id" not in members[heads[0]] else heads[0]
    return Entity(kind.strip(), fragments, score, name, {META: other_attributes} if other_attributes else {})


def _spans(denotation: dict[str, Any], where: str) -> list[tuple[int, int]]:
    spans = denotation.get("span")
    pairs = []
    for span in spans if isinstance(spans, list) else [spans]:
        if not isinstance(span, dict) or [type(span.get(edge)) for edge in ("begin", "end")] != [int, int]:
            raise FormatError(f"{where}: span {shorten(span)}, expected begin and end as numbers")
        pairs.append((span["begin"], span["end"]))
    if not pairs:
        raise FormatError(f"{where}: no span; add its begin and end")
    return pairs


def write(documents: Iterable[Document], path: Path, notes: Notes) -> int:
    """Write a folder with NAME.json for each document. Return the number of entities written."""
    written = 0
    for document in documents:
        note_losses(document, notes, META, ids=True, scores=True, own_meta=META, own_entity_meta=META)
        try:
            serialized = json.dumps(_item(document, notes), ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise OutputError(f"document {document.id}: its meta cannot be written as JSON ({error})") from None
        write_text(file_for(path, document.id, ".json"), serialized + "\n")
        written += len(document.entities)
    return written


def _item(document: Document, notes: Notes) -> dict[str, Any]:
    meta = document.meta.get(META, {})
    if not isinstance(meta, dict) or not set(meta) <= set(SOURCE) or _source_id(meta) != document.id:
        if META in document.meta:
            notes.add("meta 'pubannotation' that does not make the id, not written", document.id)
        meta = {"sourceid": document.id}
    denotations: list[dict[str, Any]] = []
    attributes: list[dict[str, Any]] = []
    for entity, name in zip(document.entities, entity_ids(document, notes, META), strict=True):
        spans = [{"begin": at.start, "end": at.end} for at in entity.fragments]
        denotations.append({"id": name, "span": spans if len(spans) > 1 else spans[0], "obj": entity.type})
        pairs = [] if entity.score is None else [{"pred": SCORE, "obj": entity.score}]
        for attribute in [*pairs, *_attributes(entity, document.id, notes)]:
            attributes.append({"id": f"A{len(attributes) + 1}", "subj": name, **attribute})
    item = {**meta, "text": document.text, "denotations": denotations}
    return {**item, "attributes": attributes} if attributes else item


def _attributes(entity: Entity, document_id: str, notes: Notes) -> list[dict[str, Any]]:
    """Return what the format keeps in `meta`, checked, because it may come from anywhere."""
    attributes = entity.meta.get(META, [])
    if isinstance(attributes, list) and all(
        isinstance(attribute, dict) and set(attribute) == {"pred", "obj"} for attribute in attributes
    ):
        return attributes
    notes.add("meta 'pubannotation' that is not attributes, not written", f"{document_id}: {entity.type}")
    return []
