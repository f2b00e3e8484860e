"""The input of `gridner predict`: a text on the command line, files, folders or standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import typer

from gridner.cli.progress import document_progress
from gridner.cli.reading_options import ReadingOptions
from gridner.documents import Document
from gridner.errors import FormatError, Notes, UsageError
from gridner.files import SKIPPED, STANDARD_INPUT, Source, is_empty, read_text
from gridner.files import reading as errors_of
from gridner.formats._support.folders import files_under

STDIN = "-"
SUFFIXES = (".txt", ".ann", ".json", ".jsonl", ".inline", ".conll", ".bio", ".xml", ".xmi", ".parquet")


@dataclass(frozen=True)
class PredictionInput:
    """The documents to predict. Each id must be unique."""

    reading: ReadingOptions
    paths: tuple[Path, ...] = ()
    text: str | None = None  # of the command line, instead of paths
    from_stdin: bool = False

    def documents(self, notes: Notes) -> Iterator[Document]:
        """Yield the documents. A repeated id is an error, or is skipped and counted if reading is lenient."""
        return self._without_repeats(self._read(notes), notes)

    def check(self) -> None:
        """Read all input once, to report errors before the long work. Input from a pipe cannot be checked."""
        if self.from_stdin or not all(path.is_file() or path.is_dir() for path in self.paths):
            return
        for _ in document_progress(self.documents(Notes()), "check"):
            pass

    def _read(self, notes: Notes) -> Iterator[Document]:
        if self.text is not None:
            yield _plain("text", self.text, self.reading)
        elif self.from_stdin and self.reading.format == "text":
            with errors_of(STANDARD_INPUT):
                yield _plain("text", read_text(STANDARD_INPUT), self.reading)
        else:
            ids = self._document_ids()
            for path in self.paths:
                yield from _read_path(path, ids.get(path), self.reading, notes)

    def _document_ids(self) -> dict[Path, str]:
        """Return an id for each file that is one document: its name without ending.

        Where two would be the same, ids are the paths from the folder that holds all these files.
        """
        single = [
            path for path in self.paths if self.reading.format == "text" or path.suffix.lower() in (".txt", ".ann")
        ]
        files = [path for path in single if path.is_file()]
        names = [path.name.removesuffix(path.suffix) for path in files]
        if len(set(names)) < len(names):
            absolute = [os.path.abspath(path) for path in files]  # noqa: PTH100
            common = os.path.commonpath([os.path.dirname(path) for path in absolute])  # noqa: PTH120
            names = [Path(os.path.splitext(path)[0]).relative_to(common).as_posix() for path in absolute]  # noqa: PTH122
        return dict(zip(files, names, strict=True))

    def _without_repeats(self, documents: Iterable[Document], notes: Notes) -> Iterator[Document]:
        seen: set[str] = set()
        for document in documents:
            if document.id not in seen:
                seen.add(document.id)
                yield document
                continue
            problem = f"document {document.id}: in the input twice, expected each id once"
            if not self.reading.lenient:
                raise FormatError(f"{problem}; predict the folder that holds both, or change an id")
            notes.add(SKIPPED, problem)


def input_of(arguments: list[str], source: Path | None, reading: ReadingOptions) -> PredictionInput:
    """Return the input that the arguments or --input name."""
    if source is not None and arguments:
        raise UsageError(f"{arguments[0]:.60} and --input, expected one of them")
    if source is not None:
        return PredictionInput(reading, (source,))
    if arguments == [STDIN] or (not arguments and not sys.stdin.isatty()):
        options = replace(reading, format="jsonl" if reading.format == "auto" else reading.format)
        return PredictionInput(options, (STANDARD_INPUT,), from_stdin=True)
    if not arguments:
        raise UsageError("nothing to read, expected a text, files, --input or standard input")
    if len(arguments) == 1 and not _is_path(arguments[0]):
        return PredictionInput(reading, text=arguments[0])
    return PredictionInput(reading, tuple(map(Path, arguments)))


def _is_path(given: str) -> bool:
    """Whether an argument names a file or a folder, which need not exist, rather than being a text such as HER2/neu."""
    try:
        if bool(given) and Path(given).exists():  # the empty path is the current folder
            return True
        words = given.split()
        if len(words) != 1 or given != words[0]:
            return False
        if (
            Path(given).suffix.lower() in SUFFIXES
            or given.startswith(("./", "../", "/", "~/"))
            or given.endswith(os.sep)
        ):
            return True
        if os.sep not in given:
            return False
        if Path(given).parent.is_dir():
            return True
    except (OSError, ValueError):  # too long for a name, or not one
        return False
    typer.echo(f"{given:.60}: no such file, so read as a text", err=True)
    return False


def _read_path(path: Path, document_id: str | None, reading: ReadingOptions, notes: Notes) -> Iterator[Document]:
    if not path.exists():
        raise FormatError(f"{path}: not found")
    if reading.format == "text" or (reading.format == "auto" and path.is_file() and path.suffix.lower() == ".txt"):
        source = Source(path, lenient=reading.lenient, notes=notes)
        with errors_of(path):
            files = files_under(path, (".txt",) if path.is_dir() else (path.suffix.lower(),), source)
        if not files:
            raise FormatError(f"{path}: no documents, expected files that end in .txt")
        for file_id, file in files.items():
            with source.record(str(file)):
                yield _plain(document_id or file_id, read_text(file), reading)
        return
    for document in reading.documents(path, notes, activity=None):
        yield document if document_id is None else replace(document, id=document_id)


def _plain(name: str, text: str, reading: ReadingOptions) -> Document:
    """Return a document from plain text."""
    if is_empty(text):
        raise FormatError(f"{name}: an empty text, expected something to read")
    return reading.split(Document(name, text))
