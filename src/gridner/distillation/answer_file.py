"""The file of the teachers' answers: JSON lines, without pickle, read sentence by sentence.

first line   {"format": …, "types": …, "tags": …, "groups": …, "least": …, "share": …, "text": …, "teachers": …}
a sentence   {"words": ["Pain", "in", "arm"], "cells": [[0, 1, 0, 0.98], …]}   subject, object, label, probability
             {}                                                                a sentence that gridner skipped
last line    {"sentences": 1234, "sha256": …, "notes": …}                      hash of all lines before

The first line names the text, teachers, types and tags of the answers. The last line shows that the file is complete.
The file contains the sentences themselves: protect it like the text.
"""

from __future__ import annotations

import hashlib
import json
import os
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gridner.distillation.sparse_grid import SparseGrid
from gridner.errors import FormatError, InvalidError, UsageError
from gridner.files import MAX_BYTES, reading
from gridner.tagging.tags import TagScheme, TypeGroup

FORMAT = "gridner answers 1"
DIGITS = 4  # of a probability
MOST_PROBABILITY = 1 - 10.0**-DIGITS  # so that log-odds are finite
SKIPPED = b"{}\n"  # the line of a sentence without an answer
TAIL_BYTES = 2**16  # at the end of the file, which contain the last line


class Answer(NamedTuple):
    """The words of a sentence, and the tag probabilities of the teachers."""

    words: tuple[str, ...]
    grid: SparseGrid


def header_of(
    scheme: TagScheme, *, least: float, share: float, text: Sequence[Mapping[str, Any]], teachers: Sequence[Any]
) -> dict[str, Any]:
    """Return the first line of an answer file as plain data."""
    groups = scheme.groups if len(scheme.groups) > 1 else ()
    return {
        "format": FORMAT,
        "types": list(scheme.types),
        "tags": scheme.tags,
        "groups": [{"name": group.name, "types": list(group.types)} for group in groups],
        "least": least,
        "share": share,
        "text": [{key: source[key] for key in ("name", "bytes", "sha256")} for source in text],
        "teachers": [{"name": name, "sha256": sha256} for name, sha256 in teachers],
    }


def line_of(answer: Answer) -> bytes:
    """Return the line of an answer in the file."""
    probabilities = answer.grid.probabilities.clip(0, MOST_PROBABILITY).round(DIGITS).tolist()
    cells = [[*cell, p] for cell, p in zip(answer.grid.cells.tolist(), probabilities, strict=True)]
    data = {"words": answer.words, "cells": cells}
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8") + b"\n"


@dataclass(frozen=True, slots=True)
class AnswerInfo:
    """The first and the last line of an answer file."""

    path: Path
    header: Mapping[str, Any]
    scheme: TagScheme
    sentences: int
    sha256: str
    notes: Sequence[tuple[str, int, Sequence[str]]]

    @classmethod
    def read(cls, path: Path) -> AnswerInfo:
        """Read the first and the last line. Raise FormatError if the file is truncated."""
        with reading(path), open(path, "rb") as file:
            first = file.readline(MAX_BYTES)
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
            last = file.read(TAIL_BYTES)
        header = _json(first, f"{path}:1")
        if header.get("format") != FORMAT:
            raise FormatError(f"{path}: not a file of teachers' answers; make one with gridner distill")
        end = _json(last.removesuffix(b"\n").rpartition(b"\n")[2], f"{path}, last line") if last[-1:] == b"\n" else {}
        if not {"sentences", "sha256", "notes"} <= end.keys():
            raise FormatError(f"{path}: truncated, its last line is missing; copy it again")
        try:
            groups = tuple(TypeGroup(group["name"], tuple(group["types"])) for group in header["groups"])
            scheme = TagScheme(tuple(header["types"]), header["tags"], groups)
            return cls(path, header, scheme, int(end["sentences"]), str(end["sha256"]), end["notes"])
        except (KeyError, TypeError, ValueError, UsageError) as error:
            raise FormatError(f"{path}:1: {error!s:.160}; make the file again with gridner distill") from None


class AnswerFile:
    """The answers in a file, read when needed. Only their positions in the file are in memory, 8 bytes each."""

    def __init__(self, info: AnswerInfo, *, wanted: Callable[[Answer, str], bool] = lambda *_: True) -> None:
        """Check all lines, and index the answers for which `wanted(answer, "FILE:LINE")` is true."""
        self.info = info
        self._labels = len(info.scheme.labels)
        self._positions = array("q")
        digest = hashlib.sha256()
        position = 0
        for number, line in enumerate(self._lines()):
            where = f"{info.path}:{number + 1}"
            digest.update(line)
            if number and line != SKIPPED and wanted(self._parsed(line, where), where):
                self._positions.append(position)
            position += len(line)
        if digest.hexdigest() != info.sha256:
            raise FormatError(f"{info.path}: damaged, its hash differs from that in its last line; copy it again")

    def _lines(self) -> Iterator[bytes]:
        """Yield all lines but the last."""
        with reading(self.info.path), open(self.info.path, "rb") as file:
            for _ in range(1 + self.info.sentences):
                if not (line := file.readline(MAX_BYTES)):
                    return
                yield line

    def __len__(self) -> int:
        return len(self._positions)

    def __getitem__(self, index: int) -> Answer:
        with reading(self.info.path), open(self.info.path, "rb") as file:
            file.seek(self._positions[index])
            return self._parsed(file.readline(MAX_BYTES), str(self.info.path))

    def _parsed(self, line: bytes, where: str) -> Answer:
        data = _json(line, where)
        try:
            words = tuple(data["words"])
            cells = np.array([cell[:3] for cell in data["cells"]], dtype=np.int64).reshape(-1, 3)
            probabilities = np.array([cell[3] for cell in data["cells"]], dtype=np.float64)
            if not words or not all(isinstance(word, str) and word for word in words):
                raise InvalidError("a sentence without words")
            if (cells < 0).any() or (cells >= (len(words), len(words), self._labels)).any():
                raise InvalidError("a cell outside the grid")
            if not ((probabilities > 0) & (probabilities < 1)).all():
                raise InvalidError("a probability that is not between 0 and 1")
        except (KeyError, IndexError, TypeError, ValueError, OverflowError, InvalidError) as error:
            raise FormatError(f"{where}: {error!s:.160}; make the file again with gridner distill") from None
        return Answer(words, SparseGrid(len(words), cells, probabilities))


def _json(line: bytes, where: str) -> dict[str, Any]:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise FormatError(f"{where}: not a file of teachers' answers; make one with gridner distill")
    return data
