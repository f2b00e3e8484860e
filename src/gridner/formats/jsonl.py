"""gridner's own format: one document per line, in JSON, without any loss. `jsonl.schema.json` describes it.

{"id": "note-1", "text": "pain in left arm and shoulder",
 "entities": [{"type": "Disorder", "fragments": [[0, 7], [21, 29]], "score": 0.93}]}

Predictions may be shared without their texts: a document without "text" takes it from ID.txt in the folder `texts`, or
from the document of the same id that it is scored against.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from reprlib import repr as shorten
from typing import Any

from gridner.documents import Document, Entity, Fragment
from gridner.errors import FormatError, Notes, OutputError
from gridner.files import Source, check_not_empty, read_lines, read_text
from gridner.formats._support.folders import data_files, files_under
from gridner.formats._support.json_stream import no_constant

MAX_SCORE = 2**53  # of an integer


def read(source: Source) -> Iterator[Document]:
    """Yield the documents of a file (or of the .jsonl files of a folder)."""
    texts = files_under(source.texts, (".txt",), source) if source.texts is not None else {}
    for path in data_files(source, (".jsonl",)):
        for line in read_lines(path):
            with source.record(line.where):
                if not line.is_blank:
                    document_id, item = _parse(line.text, line.where)
                    if source.wants(document_id):
                        source.once(document_id, line.where)
                        if "text" not in item and document_id in texts:
                            item["text"] = read_text(texts[document_id])
                        elif "text" not in item and document_id in source.known_texts:
                            item["text"] = source.known_texts[document_id]
                        elif "text" not in item and source.known_texts:
                            raise FormatError(
                                f"{line.where}: document {document_id!r:.60} has no text and is not in the gold "
                                "corpus; add its text, or remove the document"
                            )
                        yield from_json(item, line.where)


def _parse(line: str, where: str) -> tuple[str, Any]:
    try:
        item = json.loads(line, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        problem = str(error) if isinstance(error, json.JSONDecodeError) else f"not readable JSON ({error})"
        raise FormatError(f"{where}: {problem[:120]}, expected a document in JSON on one line") from None
    document_id = item.get("id") if isinstance(item, dict) else None
    if not isinstance(document_id, str):
        raise FormatError(f"{where}: {line[:40]!r}, expected an object with id and text")
    return document_id, item


def from_json(item: dict[str, Any], where: str) -> Document:
    """Return a document from its JSON object."""
    _check_keys(item, required=("id", "text"), optional=("entities", "sentences", "meta"), where=where)
    check_not_empty(_text(item["text"], f"{where}: text"), where)
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
        raise FormatError(f"{where}: {shorten(item)}, expected an object")
    _check_keys(item, required=("type", "fragments"), optional=("score", "id", "meta"), where=where)
    score = item.get("score")
    if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
        raise FormatError(f"{where}: score is {shorten(score)}, expected a number")
    if isinstance(score, int) and abs(score) > MAX_SCORE:
        raise FormatError(f"{where}: score is {shorten(score)}, expected at most {MAX_SCORE}")
    identifier = item.get("id")
    if identifier is not None:
        _check_writable(_text(identifier, f"{where}: id"), f"{where}: id")
    fragments = _fragments(item["fragments"], f"{where}: fragments")
    return Entity(_text(item["type"], f"{where}: type"), fragments, score, identifier, _meta(item, where))


def _fragments(item: Any, where: str) -> tuple[Fragment, ...]:
    pairs = _list(item, where)
    for pair in pairs:
        if not isinstance(pair, list) or [type(at) for at in pair] != [int, int]:
            raise FormatError(f"{where}: {shorten(pair)}, expected [start, end]")
    return tuple(Fragment(start, end) for start, end in pairs)


def _text(item: Any, where: str) -> str:
    if not isinstance(item, str):
        raise FormatError(f"{where} is {shorten(item)}, expected text")
    return item


def _list(item: Any, where: str) -> list[Any]:
    if not isinstance(item, list):
        raise FormatError(f"{where}: {shorten(item)}, expected a list")
    return item


def _meta(item: dict[str, Any], where: str) -> dict[str, Any]:
    meta = item.get("meta", {})
    if not isinstance(meta, dict):
        raise FormatError(f"{where}: meta is {shorten(meta)}, expected an object")
    if meta:
        _check_writable(meta, f"{where}: meta")
    return meta


def _check_writable(value: Any, where: str) -> None:
    """Raise an error for a value that could not be written again: a lone surrogate, NaN, too deep nesting."""
    try:
        _dumps(value)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{where}: cannot be written as JSON ({error})") from None


def _dumps(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")


def _check_keys(item: dict[str, Any], *, required: tuple[str, ...], optional: tuple[str, ...], where: str) -> None:
    for key in required:
        if key not in item:
            hint = " (--texts names the folder of texts that are apart)" if key == "text" else ""
            raise FormatError(f"{where}: no {key!r}, expected {', '.join(required)}{hint}")
    for key in item:
        if key not in required + optional:
            raise FormatError(
                f"{where}: unknown key {key!r}, expected {', '.join(required + optional)} (meta takes anything)"
            )


def to_json(document: Document) -> dict[str, Any]:
    """Return the JSON object of a document, without absent fields."""
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


def line_of(document: Document) -> bytes:
    """Return a document as a line, without the line end."""
    try:
        return _dumps(to_json(document))
    except (TypeError, ValueError, RecursionError) as error:
        raise OutputError(f"document {document.id}: its meta cannot be written as JSON ({error})") from None


def write(documents: Iterable[Document], path: Path, notes: Notes) -> int:  # noqa: ARG001
    """Write one file with one document per line, without any loss. Return the number of entities written."""
    written = 0
    with open(path, "xb") as file:
        for document in documents:
            file.write(line_of(document) + b"\n")
            written += len(document.entities)
    return written
