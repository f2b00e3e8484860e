"""Answers that outlive a stop: beside the output until all are there, so that a prediction can be gone on with.

OUTPUT.part/settings.json     what was asked for; going on with something else is an error
OUTPUT.part/documents.jsonl   the documents that are done, in order
OUTPUT.part/notes.json        what was cut or capped on the way
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from gridner.documents import Document
from gridner.errors import FormatError, Notes, OutputError
from gridner.formats.jsonl import from_json, line_of


class Kept:
    """The answers of a prediction. As a context it keeps what there is when something goes wrong."""

    def __init__(self, output: Path, settings: Mapping[str, Any], *, resume: bool, notes: Notes) -> None:
        self.folder = output.absolute().with_name(f"{output.name}.part")
        self.done: frozenset[str] = frozenset()
        self._notes, self._noted = notes, 0
        asked = json.loads(json.dumps(settings))
        try:
            if self.folder.exists():
                self._go_on(asked, resume)
            else:
                self.folder.mkdir(parents=True)
                (self.folder / "settings.json").write_text(json.dumps(asked, indent=1), encoding="utf-8")
            self._file: IO[bytes] = open(self._documents, "ab")  # noqa: SIM115
        except OSError as error:
            raise OutputError(f"{self.folder}: cannot be written ({error.strerror or error})") from None

    @property
    def _documents(self) -> Path:
        return self.folder / "documents.jsonl"

    def _go_on(self, asked: Mapping[str, Any], resume: bool) -> None:
        if not resume:
            raise OutputError(
                f"{self.folder}: from a prediction that was stopped; --resume goes on with it, else remove it first"
            )
        try:
            before = json.loads((self.folder / "settings.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise FormatError(f"{self.folder}: no settings.json, expected what a stopped prediction leaves") from None
        changed = sorted(key for key in before.keys() | asked.keys() if before.get(key) != asked.get(key))
        if changed:
            said = ", ".join(f"{key} was {before.get(key)!r:.60}" for key in changed)
            raise OutputError(f"{self.folder}: {said}, expected the same again, or remove it to begin anew")
        if self._documents.exists():
            self._cut_torn_line()
            with open(self._documents, "rb") as file:
                self.done = frozenset(json.loads(line)["id"] for line in file)
        if (self.folder / "notes.json").exists():
            for what, count, places in json.loads((self.folder / "notes.json").read_text(encoding="utf-8")):
                self._notes.take(what, count, places)

    def _cut_torn_line(self) -> None:
        """A line without an end was being written when the process died."""
        with open(self._documents, "rb+") as file:
            file.truncate(sum(len(line) for line in file if line.endswith(b"\n")))

    def add(self, answers: Iterable[Document]) -> Iterator[Document]:
        """Keep the answers, and pass them on."""
        for answer in answers:
            self._file.write(line_of(answer) + b"\n")
            self._file.flush()
            if self._notes.total != self._noted:
                part = self.folder / "notes.json.part"
                part.write_text(json.dumps(list(self._notes)), encoding="utf-8")
                part.replace(self.folder / "notes.json")
                self._noted = self._notes.total
            yield answer

    def documents(self) -> Iterator[Document]:
        """All that are kept, in order."""
        with open(self._documents, "rb") as file:
            for number, line in enumerate(file, start=1):
                yield from_json(json.loads(line), f"{self._documents}:{number}")

    def __enter__(self) -> Kept:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        if kind is None or not self._documents.stat().st_size:
            shutil.rmtree(self.folder)
