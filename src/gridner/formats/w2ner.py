"""The JSON of W2NER and TOE: an array of `{"sentence": [words], "ner": [{"index": [...], "type": "..."}]}`.

Records of a document stand together under its `id`, which the public implementations ignore; a record without one is a
document of its own, numbered from 1.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

from gridner.documents import Document
from gridner.errors import FormatError, Notes
from gridner.formats.files import MAX_BYTES, Source, numbered_files
from gridner.formats.words import Record, document_of, sentences_for
from gridner.sentences import Mention


def read(source: Source) -> Iterator[Document]:
    """The documents of the file (or of the .json files of a folder). JSON lines are taken too."""
    for path, prefix in numbered_files(source.path, (".json", ".jsonl")):
        with source.record(str(path)):
            for (document_id, _), group in groupby(_records(path, prefix), key=lambda record: record[0]):
                if not source.wants(document_id):
                    continue
                records: list[Record] = []
                for _, number, item in group:
                    with source.record(f"{path}: record {number}"):
                        records.append(_read_record(item, source, f"{path}: record {number}"))
                        document_of(document_id, records[-1:])
                if records:
                    yield document_of(document_id, records)


def _records(path: Path, prefix: str) -> Iterator[tuple[tuple[str, int], int, Any]]:
    """(document id, group), record number and content; records of one group are one document."""
    for number, item in enumerate(_items(path), start=1):
        own = item.get("id") if isinstance(item, dict) else None
        if own is not None and (not isinstance(own, str) or not own):
            raise FormatError(f"{path}: record {number}: id is {own!r}, expected text")
        yield (own, 0) if own is not None else (f"{prefix}{number}", number), number, item


def _items(path: Path) -> Iterator[Any]:
    import ijson  # here, because only this format needs it

    number = 0
    with open(path, "rb") as file:
        opening = file.read(3).removeprefix(b"\xef\xbb\xbf")
        start = 3 - len(opening)
        while opening.isspace():
            opening = file.read(1)
        file.seek(start)
        bounded = _Bounded(file, path)
        try:
            items = (
                ijson.items(bounded, "item", use_float=True)
                if opening.lstrip()[:1] == b"["
                else ijson.items(bounded, "", use_float=True, multiple_values=True)
            )
            for item in items:
                number += 1
                bounded.since_record = 0
                yield item
        except (ijson.JSONError, UnicodeDecodeError, RecursionError) as error:
            said = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise FormatError(f"{path}: after record {number}: {said}, expected a JSON array of records") from None
    if not number:
        raise FormatError(f"{path}: no records, expected a JSON array of them")


class _Bounded:
    """A file whose records may not be larger than MAX_BYTES."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file, self._path = file, path
        self.since_record = 0

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.since_record += len(data)
        if self.since_record > MAX_BYTES:
            raise FormatError(f"{self._path}: a record larger than {MAX_BYTES:,} bytes, expected at most that")
        return data


def _read_record(item: Any, source: Source, where: str) -> Record:
    if (
        not isinstance(item, dict)
        or not isinstance(item.get("ner"), list)
        or not isinstance(item.get("sentence"), list)
    ):
        raise FormatError(f"{where}: {json.dumps(item, default=str)[:60]}, expected 'sentence' and 'ner' lists")
    words = item["sentence"]
    if not all(isinstance(word, str) for word in words):
        raise FormatError(f"{where}: a word that is not text")
    mentions = []
    for entry in item["ner"]:
        with source.record(where):
            mention = _read_mention(entry, where)
            if mention.tail >= len(words):
                raise FormatError(f"{where}: index {mention.tail} in a sentence of {len(words)} words")
            if list(mention.words) != entry["index"]:
                source.notes.add("index out of order, sorted", where)
            mentions.append(mention)
    return words, mentions


def _read_mention(entry: Any, where: str) -> Mention:
    if (
        not isinstance(entry, dict)
        or not isinstance(entry.get("index"), list)
        or not isinstance(entry.get("type"), str)
    ):
        raise FormatError(f"{where}: {json.dumps(entry, default=str)[:60]}, expected an 'index' list and a 'type'")
    if not all(type(word) is int for word in entry["index"]):
        raise FormatError(f"{where}: index {entry['index']!r:.60}, expected integers")
    return Mention(entry["type"], tuple(sorted(entry["index"])))


def write(documents: Iterable[Document], path: Path, notes: Notes) -> None:
    """One file, a record a line."""
    with open(path, "x", encoding="utf-8", newline="") as file:
        separator = "[\n"
        for document in documents:
            for sentence in sentences_for(document, notes, "w2ner"):
                ner = [{"index": list(mention.words), "type": mention.type} for mention in sentence.mentions]
                record = {"id": document.id, "sentence": [word.text for word in sentence.words], "ner": ner}
                file.write(separator + json.dumps(record, ensure_ascii=False))
                separator = ",\n"
        file.write("\n]\n" if separator == ",\n" else "[]\n")
