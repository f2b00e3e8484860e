"""CoNLL: a word a line with its tag in the last column, a blank line after each sentence.

    -DOCSTART-	note-1	O

    Pain	B-ADR
    in	I-ADR

`-DOCSTART-` starts a document, with its id in the second column if there is one, and so does a remark such as
`# doc_id = note-1` or `# newdoc id = note-1`; in a file without either each sentence is a document, numbered from 1.
Tags are read as BIO, IOB1, BIOES or BILOU, whichever they are; written is BIO. There is no place for entities with gaps
or for two at one word: to write them is an error, unless they were flattened before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from gridner.documents import Document
from gridner.errors import FormatError, Notes, OutputError
from gridner.files import Line, Source, read_lines
from gridner.formats._support.folders import numbered_files
from gridner.formats._support.word_lists import Record, document_from_words, sentences_to_write
from gridner.text.alignment import Mention, Sentence

START = "-DOCSTART-"
NO_ID = ("-X-", "O")  # what stands in a column of the line that starts a document
NAMED = re.compile(rb"#\s*(?:doc_id|newdoc id)\s*=\s*(\S.*?)\s*")  # a remark that starts a document
TAG = re.compile(r"O|([BIESLUM])-(\S.*)")
HINT = "--flat (with --max-gap N) simplifies such entities and counts what it leaves out"


def read(source: Source) -> Iterator[Document]:
    """Yield the documents of a file (or of the files of a folder)."""
    for path, prefix in numbered_files(source, (".conll", ".bio", ".iob", ".iob2", ".bioes", ".tsv", ".txt")):
        for number, (start, lines) in enumerate(_documents(path, source.notes), start=1):
            where = (start or lines[0]).where
            with source.record(where):
                document_id = (_own_id(start) if start else "") or f"{prefix}{number}"
                if source.wants(document_id):
                    source.once(document_id, where)
                    yield document_from_words(document_id, list(_sentences(lines, source.notes)))


def _documents(path: Path, notes: Notes) -> Iterator[tuple[Line | None, list[Line]]]:
    """Yield the line that starts each document, if there is one, and the lines of the document."""
    start: Line | None = None
    lines: list[Line] = []
    for line in read_lines(path):
        first = line.data.split(b"\t")[0].split(b" ")[0]
        named = NAMED.fullmatch(line.data)
        if named and start and (before := NAMED.fullmatch(start.data)) and before[1] == named[1]:
            continue  # the id is repeated before each sentence
        if named or first == START.encode():
            if any(not document_line.is_blank for document_line in lines):
                yield start, lines
            elif start is not None and not (named and not _own_id(start)):
                notes.add("document without words, left out", start.where)
            start, lines = line, []
        elif start is not None or not line.is_blank:
            lines.append(line)
        elif lines:
            yield None, lines
            lines = []
    if any(not document_line.is_blank for document_line in lines):
        yield start, lines
    elif start is not None:
        notes.add("document without words, left out", start.where)


def _own_id(line: Line) -> str:
    if NAMED.fullmatch(line.data):
        return line.text.split("=", 1)[1].strip()
    columns = _columns(line)[1:]
    if len(columns) > 1:
        columns.pop()  # the tag
    return "" if all(column in NO_ID for column in columns) else " ".join(columns)


def _columns(line: Line) -> list[str]:
    """Return the columns of a line, separated by tabs if it has any, or else by spaces."""
    return line.text.split("\t") if "\t" in line.text else [part for part in line.text.split(" ") if part]


def _sentences(lines: list[Line], notes: Notes) -> Iterator[Record]:
    words: list[str] = []
    tags: list[tuple[str, str]] = []
    for line in lines:
        if line.is_blank:
            if words:
                yield words, list(_mentions(tags))
                words, tags = [], []
            continue
        *columns, tag = _columns(line)
        match = TAG.fullmatch(tag.strip())
        if columns and columns[0] == "#" and not match and not words:
            notes.add("remark before a sentence, left out", line.where)
            continue
        if not columns or not columns[0] or not match:
            raise FormatError(f"{line.where}: {line.text[:40]!r}, expected a word and, last, O or a tag such as B-ADR")
        words.append(columns[0])
        tags.append((match[1] or "O", match[2] or ""))
    if words:
        yield words, list(_mentions(tags))


def _mentions(tags: list[tuple[str, str]]) -> Iterator[Mention]:
    """Yield runs of one type. B, S and U start a run; E, L, S, U and another type end it."""
    run: list[int] = []
    kind = ""
    for number, (prefix, name) in enumerate(tags):
        if run and (prefix in "OBSU" or name != kind):
            yield Mention(kind, tuple(run))
            run = []
        if prefix != "O":
            run.append(number)
            kind = name
            if prefix in "ELSU":
                yield Mention(kind, tuple(run))
                run = []
    if run:
        yield Mention(kind, tuple(run))


def write(documents: Iterable[Document], path: Path, notes: Notes) -> int:
    """Write one file with all documents. Return the number of entities written."""
    written = 0
    with open(path, "x", encoding="utf-8", newline="") as file:
        for document in documents:
            if document.id in NO_ID:
                notes.add("document id that conll does not take, a number instead", document.id)
            head = f"{START}\t{document.id}\tO\n\n"
            for sentence in sentences_to_write(document, notes, "conll"):
                lines = zip(sentence.words, _tags(sentence, document.id), strict=True)
                body = "".join(f"{_word(word.text, document.id, notes)}\t{tag}\n" for word, tag in lines)
                file.write(f"{head}{body}\n")
                head = ""
                written += len(sentence.mentions)
    return written


def _tags(sentence: Sentence, document_id: str) -> list[str]:
    tags = ["O"] * len(sentence.words)
    for mention in sentence.mentions:
        mention_text = " ".join(sentence.words[word].text for word in mention.words)
        where = f"document {document_id}: {mention.type} {mention_text[:60]!r}"
        if mention.tail - mention.head >= len(mention.words):
            raise OutputError(f"{where} has a gap, which conll cannot have; {HINT}")
        if any(tags[word] != "O" for word in mention.words):
            raise OutputError(f"{where} overlaps another, which conll cannot have; {HINT}")
        for word in mention.words:
            tags[word] = f"{'B' if word == mention.head else 'I'}-{mention.type}"
    return tags


def _word(text: str, document_id: str, notes: Notes) -> str:
    changed = re.sub(r"[\t\n]", "_", text)
    if changed == START:
        changed = "_DOCSTART_"
    if changed != text:
        notes.add("word that conll does not take, written with _", f"{document_id}: {text!r}")
    return changed
