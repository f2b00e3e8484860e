"""Inline text of Dai et al. 2020: a line of tokens, a line of mentions, a blank line.

    I have pain in left arm and shoulder
    2,5 ADR|2,3,7,7 ADR

Indices are inclusive token indices in pairs. There are no documents: each sentence is one, numbered from 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from gridner.documents import Document
from gridner.errors import FormatError, Notes
from gridner.formats.files import Line, Source, numbered_files, read_lines
from gridner.formats.words import document_of, sentences_for
from gridner.sentences import Mention

MENTION = re.compile(r"(\d{1,9}(?:,\d{1,9})*) (\S.*)")


def read(source: Source) -> Iterator[Document]:
    """A document for each sentence of the file (or of the .txt files of a folder)."""
    for path, prefix in numbered_files(source.path, (".txt", ".inline")):
        for number, (line_number, words, listed) in enumerate(_records(path), start=1):
            document_id = f"{prefix}{number}"
            where = f"{path}:{line_number}"
            if source.wants(document_id):
                mentions = []
                for part in listed.split("|") if listed else ():
                    with source.record(where):
                        mentions.append(_read_mention(part, len(words), where))
                yield document_of(document_id, [(words, mentions)])


def _records(path: Path) -> Iterator[tuple[int, list[str], str]]:
    """Line number, words and listed mentions of each sentence."""
    lines = read_lines(path)
    for number, line, _ in lines:
        words = [word for word in re.split("[ \t]+", line) if word]
        if not words:
            continue
        _, listed, _ = next(lines, Line(0, "", 0))
        after, blank, _ = next(lines, Line(0, "", 0))
        if blank.strip():
            raise FormatError(f"{path}:{after}: {blank[:40]!r}, expected a blank line after tokens and mentions")
        yield number, words, listed.strip()


def _read_mention(part: str, words: int, where: str) -> Mention:
    match = MENTION.fullmatch(part.strip())
    if not match:
        raise FormatError(
            f"{where}: {part[:40]!r} on the next line, expected mentions such as '0,2 ADR|11,11,15,15 ADR'"
        )
    indices = [int(index) for index in match[1].split(",")]
    if len(indices) % 2:
        raise FormatError(f"{where}: {part[:40]!r} on the next line has {len(indices)} indices, expected pairs")
    pairs = sorted(zip(indices[::2], indices[1::2], strict=True))
    if any(first > last for first, last in pairs) or any(a[1] >= b[0] for a, b in pairwise(pairs)):
        raise FormatError(f"{where}: {part[:40]!r} on the next line, expected disjoint pairs of first and last token")
    if pairs[-1][1] >= words:
        raise FormatError(f"{where}: {part[:40]!r} on the next line is outside a sentence of {words} words")
    return Mention(match[2], tuple(word for first, last in pairs for word in range(first, last + 1)))


def write(documents: Iterable[Document], path: Path, notes: Notes) -> None:
    """One file with the sentences of all documents."""
    with open(path, "x", encoding="utf-8", newline="") as file:
        for document in documents:
            count = 0
            for sentence in sentences_for(document, notes, "inline"):
                words = [re.sub(r"[ \t\r\n]", "_", word.text) for word in sentence.words]
                if words != [word.text for word in sentence.words]:
                    notes.add("word with white space in it, written with _", document.id)
                mentions = "|".join(_show(mention) for mention in sentence.mentions)
                file.write(f"{' '.join(words)}\n{mentions}\n\n")
                count += 1
            notes.add(
                "document id, not carried by inline (each sentence is a document)", f"{document.id}: {count} sentences"
            )


def _show(mention: Mention) -> str:
    if "|" in mention.type:
        raise FormatError(f"entity type {mention.type!r} has a '|', which inline cannot carry")
    runs: list[int] = []
    for word in mention.words:
        if runs and runs[-1] == word - 1:
            runs[-1] = word
        else:
            runs += [word, word]
    return f"{','.join(map(str, runs))} {mention.type}"
