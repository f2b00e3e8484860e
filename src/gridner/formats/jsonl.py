"""Our own format: one document a line, in JSON, with all that a `Document` carries. `jsonl.schema.json` describes it.

{"id": "note-1", "text": "pain in left arm and shoulder",
 "entities": [{"type": "Disorder", "fragments": [[0, 7], [21, 29]], "score": 0.93}]}
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from gridner.documents import Document, Entity, Fragment
from gridner.errors import FormatError, Notes
from gridner.formats.files import Source, check_not_empty, data_files, read_lines


def read(source: Source) -> Iterator[Document]:
    """The documents of the file (or of the .jsonl files of a folder)."""
    for path in data_files(source.path, (".jsonl",)):
        for number, line, _ in read_lines(path):
            where = f"{path}:{number}"
            with source.record(where):
                if line.strip():
                    document_id, item = _parse(line, where)
                    if source.wants(document_id):
                        yield from_json(item, where)


def _parse(line: str, where: str) -> tuple[str, Any]:
    try:
        item = json.loads(line, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        said = str(error) if isinstance(error, json.JSONDecodeError) else f"not readable JSON ({error})"
        raise FormatError(f"{where}: {said[:120]}, expected a document in JSON on one line") from None
    document_id = item.get("id") if isinstance(item, dict) else None
    if not isinstance(document_id, str):
        raise FormatError(f"{where}: {line[:40]!r}, expected an object with id and text")
    return document_id, item


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def from_json(item: dict[str, Any], where: str) -> Document:
    """A document from its JSON object."""
    _check_keys(item, required=("id", "text"), optional=("entities", "sentences", "meta"), where=where)
    if not isinstance(item["text"], str):
        raise FormatError(f"{where}: text is {item['text']!r:.40}, expected text")
    check_not_empty(item["text"], where)
    entities = _list(item.get("entities", []), f"{where}: entities")
    sentences = item.get("sentences")
    words = None
    if sentences is not None:
        words = tuple(
            _fragments(sentence, f"{where}: sentences[{number}]")
            for number, sentence in enumerate(_list(sentences, f"{where}: sentences"))
        )
    return Document(
        item["id"],
        item["text"],
        tuple(_entity(entity, f"{where}: entities[{number}]") for number, entity in enumerate(entities)),
        words,
        _meta(item, where),
    )


def _entity(item: Any, where: str) -> Entity:
    if not isinstance(item, dict):
        raise FormatError(f"{where}: {item!r:.40}, expected an object")
    _check_keys(item, required=("type", "fragments"), optional=("score", "id", "meta"), where=where)
    score = item.get("score")
    if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
        raise FormatError(f"{where}: score is {score!r:.40}, expected a number")
    fragments = _fragments(item["fragments"], f"{where}: fragments")
    return Entity(item["type"], fragments, score, item.get("id"), _meta(item, where))


def _fragments(item: Any, where: str) -> tuple[Fragment, ...]:
    pairs = _list(item, where)
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2:
            raise FormatError(f"{where}: {pair!r:.40}, expected [start, end]")
    return tuple(Fragment(start, end) for start, end in pairs)


def _list(item: Any, where: str) -> list[Any]:
    if not isinstance(item, list):
        raise FormatError(f"{where}: {item!r:.40}, expected a list")
    return item


def _meta(item: dict[str, Any], where: str) -> dict[str, Any]:
    meta = item.get("meta", {})
    if not isinstance(meta, dict):
        raise FormatError(f"{where}: meta is {meta!r:.40}, expected an object")
    return meta


def _check_keys(item: dict[str, Any], *, required: tuple[str, ...], optional: tuple[str, ...], where: str) -> None:
    for key in required:
        if key not in item:
            raise FormatError(f"{where}: no {key!r}, expected {', '.join(required)}")
    for key in item:
        if key not in required + optional:
            raise FormatError(
                f"{where}: unknown key {key!r}, expected {', '.join(required + optional)} (meta takes anything)"
            )


def to_json(document: Document) -> dict[str, Any]:
    """The JSON object of a document; what is absent is left out."""
    item: dict[str, Any] = {"id": document.id, "text": document.text, "entities": []}
    for entity in document.entities:
        fields: dict[str, Any] = {"type": entity.type, "fragments": [[at.start, at.end] for at in entity.fragments]}
        if entity.score is not None:
            fields["score"] = entity.score
        if entity.id is not None:
            fields["id"] = entity.id
        if entity.meta:
            fields["meta"] = dict(entity.meta)
        item["entities"].append(fields)
    if document.sentences is not None:
        item["sentences"] = [[[word.start, word.end] for word in sentence] for sentence in document.sentences]
    if document.meta:
        item["meta"] = dict(document.meta)
    return item


def write(documents: Iterable[Document], path: Path, notes: Notes) -> None:  # noqa: ARG001
    """One file, a document a line. Nothing is left out."""
    with open(path, "x", encoding="utf-8", newline="") as file:
        for document in documents:
            file.write(json.dumps(to_json(document), ensure_ascii=False, allow_nan=False) + "\n")
