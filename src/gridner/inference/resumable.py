"""Partial predictions, kept beside the output so that an interrupted run can resume.

OUTPUT.part/settings.json     the model and the options; a run with different ones is refused
OUTPUT.part/documents.jsonl   the finished documents, in the order of the input
OUTPUT.part/notes.json        what was cut or capped so far

A finished document has the text, the sentences and the meta of the input. So a resumed run can check that the input
still begins with the same documents.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from gridner.documents import Document
from gridner.errors import FormatError, Notes, OutputError
from gridner.formats.jsonl import from_json, line_of
from gridner.locking import only_process

HASHED = ("model", "lexicon")  # settings that are hashes, which messages leave out


class PartialPredictions:
    """The finished documents of a run. As a context manager it keeps them if an error stops the run.

    Only one process at a time can open them; a second one gets an InUseError.
    """

    def __init__(self, output: Path, settings: Mapping[str, Any], *, resume: bool, notes: Notes) -> None:
        self.folder = output.absolute().with_name(f"{output.name}.part")
        self.done: dict[str, bytes] = {}  # id → hash of the document, without entities, in order
        self._notes, self._saved_notes = notes, 0
        options = json.loads(json.dumps(settings))
        self._lock = ExitStack()
        try:
            self._lock.enter_context(
                only_process(self.folder, f"{output}: another process writes it; choose another --output")
            )
            part = self.folder / "settings.json.part"
            if any(entry != part for entry in self.folder.iterdir()):
                self._resume(options, resume)
            else:  # a new run, or one that was killed before it had written its settings
                part.write_text(json.dumps(options, indent=1), encoding="utf-8")
                part.replace(self.folder / "settings.json")
            self._file: IO[bytes] = open(self._documents, "ab")  # noqa: SIM115
        except BaseException as error:
            self._lock.close()
            if isinstance(error, OSError):
                raise OutputError(f"{self.folder}: cannot be written ({error.strerror or error})") from None
            raise

    @property
    def _documents(self) -> Path:
        return self.folder / "documents.jsonl"

    def _resume(self, options: Mapping[str, Any], resume: bool) -> None:
        if not resume:
            raise OutputError(
                f"{self.folder}: from an interrupted prediction; pass --resume to continue it, or remove it"
            )
        try:
            before = json.loads((self.folder / "settings.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise FormatError(
                f"{self.folder}: no settings.json, so it is not from an interrupted prediction; choose another --output"
            ) from None
        changed = sorted(key for key in before.keys() | options.keys() if before.get(key) != options.get(key))
        if changed:
            differences = ", ".join(
                f"a different {key}" if key in HASHED else f"{key} was {before.get(key)!r:.60}" for key in changed
            )
            raise OutputError(
                f"{self.folder}: {differences}; resume with the same options, or remove the folder to start over"
            )
        if self._documents.exists():
            self._cut_torn_line()
            for document in self.documents():
                self.done[document.id] = _hash(document)
        if (self.folder / "notes.json").exists():
            for note, count, places in json.loads((self.folder / "notes.json").read_text(encoding="utf-8")):
                self._notes.take(note, count, places)

    def _cut_torn_line(self) -> None:
        """Remove a line without an end, which was being written when the process died."""
        with open(self._documents, "rb+") as file:
            file.truncate(sum(len(line) for line in file if line.endswith(b"\n")))

    def left(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Yield the documents that are left to predict. The finished ones must come first and be unchanged."""
        done = iter(self.done)
        for document in documents:
            expected = next(done, None)
            if expected is None:
                yield document
                continue
            if document.id != expected:
                raise self._changed(f"document {document.id} is in the place of document {expected}, which is finished")
            self.check(document)
        for name in done:
            raise self._changed(f"document {name} is finished and no longer in the input")

    def check(self, document: Document) -> None:
        """Raise an error if a finished document has changed."""
        if self.done[document.id] != _hash(document):
            raise self._changed(f"document {document.id} has changed since it was finished")

    def check_all(self, documents: Iterable[Document]) -> None:
        """Raise an error unless these, in any order, are the finished documents, unchanged."""
        left = dict.fromkeys(self.done)
        for document in documents:
            self.check(document)
            left.pop(document.id, None)
        for name in left:
            raise self._changed(f"document {name} is finished and no longer in the input")

    def _changed(self, what: str) -> OutputError:
        return OutputError(f"{self.folder}: the input has changed: {what}; restore it, or remove this folder")

    def add(self, predicted: Iterable[Document]) -> Iterator[Document]:
        """Save finished documents, and pass them on."""
        for document in predicted:
            self._file.write(line_of(document) + b"\n")
            self._file.flush()
            if self._notes.total != self._saved_notes:
                part = self.folder / "notes.json.part"
                part.write_text(json.dumps(list(self._notes)), encoding="utf-8")
                part.replace(self.folder / "notes.json")
                self._saved_notes = self._notes.total
            yield document

    def documents(self) -> Iterator[Document]:
        """Yield all finished documents, in order."""
        with open(self._documents, "rb") as file:
            for number, line in enumerate(file, start=1):
                where = f"{self._documents}:{number}"
                try:
                    yield from_json(json.loads(line), where)
                except (ValueError, TypeError, RecursionError):
                    raise FormatError(f"{where}: damaged; remove {self.folder} to start over") from None

    def __enter__(self) -> PartialPredictions:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        if kind is None or not self._documents.stat().st_size:
            shutil.rmtree(self.folder)
        self._lock.close()


def _hash(document: Document) -> bytes:
    return hashlib.blake2b(line_of(replace(document, entities=())), digest_size=16).digest()
