"""Inline text of Dai et al. 2020: a line of tokens, a line of mentions, a blank line.

    I have pain in left arm and shoulder
    2,5 ADR|2,3,7,7 ADR

Indices are inclusive token indices in pairs. There are no documents: each sentence is one, numbered from 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise
from pathlib import Path

from gridner.documents import Document
from gridner.errors import FormatError, Notes, plural
from gridner.files import Line, Source, read_lines
from gridner.formats._support.folders import numbered_files
from gridner.formats._support.word_lists import document_from_words, sentences_to_write
from gridner.text.alignment import Mention

MENTION = re.compile(r"(\d{1,9}(?:,\d{1,9})*) (\S.*)")


def read(source: Source) -> Iterator[Document]:
    """Yield a document for each sentence of a file (or of the .txt files of a folder)."""
    for path, prefix in numbered_files(source, (".txt", ".inline")):
        for number, lines in enumerate(_records(path), start=1):
            document_id = f"{prefix}{number}"
            if source.wants(document_id):
                with source.record(lines[0].where):
                    yield _read_document(document_id, lines, source)


def _records(path: Path) -> Iterator[list[Line]]:
    """Yield the lines of each sentence: tokens, mentions, and the first line that should not follow."""
    lines = read_lines(path)
    for line in lines:
        if line.is_blank:
            continue
        record = [line, *islice(lines, 1)]
        for more in lines:
            if more.is_blank:
                break
            if len(record) < 3:
                record.append(more)
        yield record


def _read_document(document_id: str, lines: list[Line], source: Source) -> Document:
    words = [word for word in re.split("[ \t]+", lines[0].text) if word]
    listed = lines[1].text.strip() if len(lines) > 1 else ""
    if len(lines) > 2:
        raise FormatError(f"{lines[2].where}: {lines[2].text[:40]!r}, expected a blank line after tokens and mentions")
    mentions = []
    for part in listed.split("|") if listed else ():
        with source.record(lines[1].where):
            mentions.append(_read_mention(part, len(words), lines[1].where))
    return document_from_words(document_id, [(words, mentions)])


def _read_mention(part: str, words: int, where: str) -> Mention:
    match = MENTION.fullmatch(part.strip())
    if not match:
        raise FormatError(f"{where}: {part[:40]!r}, expected mentions such as '0,2 ADR|11,11,15,15 ADR'")
    indices = [int(index) for index in match[1].split(",")]
    if len(indices) % 2:
        raise FormatError(f"{where}: {part[:40]!r} has {len(indices)} indices, expected pairs")
    pairs = sorted(zip(indices[::2], indices[1::2], strict=True))
    if any(first > last for first, last in pairs) or any(a[1] >= b[0] for a, b in pairwise(pairs)):
        raise FormatError(f"{where}: {part[:40]!r}, expected disjoint pairs of first and last token")
    if pairs[-1][1] >= words:
        raise FormatError(f"{where}: {part[:40]!r} is outside a sentence of {plural(words, 'word')}")
    return Mention(match[2], tuple(word for first, last in pairs for word in range(first, last + 1)))


def write(documents: Iterable[Document], path: Path, notes: Notes) -> int:
    """Write one file with the sentences of all documents. Return the number of entities written."""
    written = 0
    with open(path, "x", encoding="utf-8", newline="") as file:
        for document in documents:
            count = 0
            for sentence in sentences_to_write(document, notes, "inline"):
                words = " ".join(_without(r"[ \t\r\n]", word.text, document, notes) for word in sentence.words)
                mentions = "|".join(_show(mention, document, notes) for mention in sentence.mentions)
                if words.startswith("\ufeff") and not file.tell():
                    file.write("\ufeff")  # a byte-order mark, which is left off on reading: the next one is text
                file.write(f"{words}\n{mentions}\n\n")
                count += 1
                written += len(sentence.mentions)
            notes.add(
                "document id, not carried by inline (each sentence is a document)",
                f"{document.id}: {plural(count, 'sentence')}",
            )
    return written


def _show(mention: Mention, document: Document, notes: Notes) -> str:
    runs: list[int] = []
    for word in mention.words:
        if runs and runs[-1] == word - 1:
            runs[-1] = word
        else:
            runs += [word, word]
    return f"{','.join(map(str, runs))} {_without(r'[|]', mention.type, document, notes)}"


def _without(characters: str, text: str, document: Document, notes: Notes) -> str:
    changed = re.sub(characters, "_", text)
    if changed != text:
        notes.add("word or type with what parts words or types in inline, written with _", f"{document.id}: {text!r}")
    return changed
