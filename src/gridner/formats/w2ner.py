"""The JSON of W2NER and TOE: an array of `{"sentence": [words], "ner": [{"index": [...], "type": "..."}]}`.

Records of a document stand together under its `id`, which the public implementations ignore; a record without one is a
document of its own, numbered from 1.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from reprlib import repr as shorten
from typing import Any

from gridner.documents import Document
from gridner.errors import FormatError, Notes, plural
from gridner.files import Source
from gridner.formats._support.folders import numbered_files
from gridner.formats._support.json_stream import stream_values
from gridner.formats._support.word_lists import Record, document_from_words, sentences_to_write
from gridner.text.alignment import Mention


def read(source: Source) -> Iterator[Document]:
    """Yield the documents of a file (or of the .json files of a folder). JSON lines are accepted, too."""
    for path, prefix in numbered_files(source, (".json", ".jsonl")):
        for (_, document_id), group in groupby(_records(path, prefix, source), key=lambda numbered: numbered[0]):
            yield document_from_words(document_id, [record for _, record in group])


def _records(path: Path, prefix: str, source: Source) -> Iterator[tuple[tuple[int, str], Record]]:
    """Yield the good records that are wanted, each with the number and the id of its document."""
    run, last = 0, None
    with source.record(str(path)):
        for number, item in enumerate(stream_values(path), start=1):
            where = f"{path}: record {number}"
            with source.record(where):
                stated_id = _own_id(item, where)
                document_id = f"{prefix}{number}" if stated_id is None else stated_id
                is_next = stated_id is None or stated_id != last
                last = stated_id
                if source.wants(document_id):
                    if is_next:
                        source.once(document_id, where)
                        run += 1
                    record = _read_record(item, source, where)
                    document_from_words(document_id, [record])  # so that a bad one is found here, and skipped alone
                    yield (run, document_id), record


def _own_id(item: Any, where: str) -> str | None:
    stated_id = item.get("id") if isinstance(item, dict) else None
    if stated_id is not None and (not isinstance(stated_id, str) or not stated_id):
        raise FormatError(f"{where}: id is {shorten(stated_id)}, expected text")
    return stated_id


def _read_record(item: Any, source: Source, where: str) -> Record:
    if (
        not isinstance(item, dict)
        or not isinstance(item.get("ner"), list)
        or not isinstance(item.get("sentence"), list)
    ):
        raise FormatError(f"{where}: {shorten(item)}, expected 'sentence' and 'ner' lists")
    words = item["sentence"]
    for word in words:
        if not isinstance(word, str):
            raise FormatError(f"{where}: a word is {shorten(word)}, expected text")
    mentions = []
    for entry in item["ner"]:
        with source.record(where):
            mention = _read_mention(entry, where)
            if mention.tail >= len(words):
                raise FormatError(
                    f"{where}: index {mention.tail} is outside a sentence of {plural(len(words), 'word')}"
                )
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
        raise FormatError(f"{where}: {shorten(entry)}, expected an 'index' list and a 'type'")
    if not all(type(word) is int for word in entry["index"]):
        raise FormatError(f"{where}: index {shorten(entry['index'])}, expected integers")
    return Mention(entry["type"], tuple(sorted(entry["index"])))


def write(documents: Iterable[Document], path: Path, notes: Notes) -> int:
    """Write one file with one record per line. Return the number of entities written."""
    written = 0
    with open(path, "x", encoding="utf-8", newline="") as file:
        separator = "[\n"
        for document in documents:
            for sentence in sentences_to_write(document, notes, "w2ner"):
                ner = [{"index": list(mention.words), "type": mention.type} for mention in sentence.mentions]
                record = {"id": document.id, "sentence": [word.text for word in sentence.words], "ner": ner}
                file.write(separator + json.dumps(record, ensure_ascii=False))
                separator = ",\n"
                written += len(ner)
        file.write("\n]\n" if separator == ",\n" else "[]\n")
    return written
