"""Text as rows of pieces of one length, in a file that is mapped into memory: no padding, nothing cut off."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from gridner.errors import FormatError, Notes, OutputError, UsageError
from gridner.inference.word_pieces import PieceTokenizer
from gridner.pretraining.text import Source, lines_of

ROWS, ABOUT = "rows.bin", "rows.json"
LINES = 1000  # that are cut at once
FEWEST = 20  # different pieces that running text has


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands before and after the pieces of a row, and between two lines."""

    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many pieces of a row it takes."""
        return len(self.before) + len(self.after)


def frame_of(tokenizer: Tokenizer) -> Frame:
    """The special pieces that a tokenizer puts around a sentence."""
    empty = PieceTokenizer(tokenizer, max_pieces=512).encode([["the"]])[0]
    return Frame(empty.before, empty.after)


class Rows:
    """The rows of a text. Each has `width` pieces, without the frame; the highest bit marks a piece inside a word.

    Lines follow one another with the separator between them, across the ends of rows. The last row of a group is
    filled from the group's beginning.
    """

    def __init__(self, folder: Path, about: Mapping[str, Any]) -> None:
        self.about = about
        self.width = int(about["width"])
        self.kind = np.dtype(about["dtype"])
        self.bit = inside_bit(self.kind)
        shape = (int(about["rows"]), self.width)
        try:
            self.data = np.memmap(folder / ROWS, dtype=self.kind, mode="r", shape=shape)
        except (OSError, ValueError) as error:
            raise FormatError(f"{folder / ROWS}: {error}; delete it to have it made again") from None

    def __len__(self) -> int:
        return len(self.data)

    def batch(self, rows: NDArray[np.int64], frame: Frame) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Pieces [B, p] with the frame around them, and where words start."""
        data = np.asarray(self.data[rows])
        size, begin = len(rows), len(frame.before)
        pieces = np.empty((size, self.width + frame.size), dtype=np.int64)
        pieces[:, :begin] = frame.before
        pieces[:, begin : begin + self.width] = data & ~self.bit
        pieces[:, begin + self.width :] = frame.after
        starts = np.ones(pieces.shape, dtype=np.bool_)
        starts[:, begin : begin + self.width] = (data & self.bit) == 0
        starts[:, begin] = True
        return pieces, starts

    @property
    def groups(self) -> list[tuple[int, float]]:
        """Rows and weight of each group of sources."""
        return [(int(rows), float(weight)) for rows, weight in self.about["groups"]]


def inside_bit(kind: np.dtype[Any]) -> Any:
    """The highest bit of a piece, which marks one inside a word."""
    return kind.type(1 << (8 * kind.itemsize - 1))


def made_rows(
    folder: Path,
    sources: Sequence[Source],
    pieces: PieceTokenizer,
    *,
    length: int,
    identity: Mapping[str, Any],
    notes: Notes,
) -> Rows:
    """The rows in a folder; they are made first if there are none of this identity."""
    about_path = folder / ABOUT
    if about_path.is_file():
        about = json.loads(about_path.read_text(encoding="utf-8"))
        if about["identity"] == identity:
            for what, count, places in about["notes"]:
                notes.take(what, count, places)
            return Rows(folder, about)
    own = Notes(keep=20)
    part = folder / f"{ROWS}.part"
    try:
        with open(part, "wb") as file:
            about = _write(file, sources, pieces, length, own)
        part.replace(folder / ROWS)
        about |= {"identity": dict(identity), "notes": [list(note) for note in own]}
        part.write_text(json.dumps(about), encoding="utf-8")
        part.replace(about_path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise OutputError(f"{folder / ROWS}: cannot be written ({error.strerror or error})") from None
    notes.merge(own)
    return Rows(folder, about)


def _write(
    file: IO[bytes], sources: Sequence[Source], pieces: PieceTokenizer, length: int, notes: Notes
) -> dict[str, Any]:
    frame = frame_of(pieces.tokenizer)
    width = length - frame.size
    vocabulary = _vocabulary(pieces)
    kind = _kind(vocabulary)
    words = 0
    counts = np.zeros(vocabulary, dtype=np.int64)
    groups: list[tuple[int, float]] = []
    of_sources: list[dict[str, Any]] = []
    first = 0
    for weight in dict.fromkeys(source.weight for source in sources):
        writer = _Group(file, width, kind)
        for source in (source for source in sources if source.weight == weight):
            begin, before, lines = writer.rows, writer.pieces, 0
            for some in pieces_of(source, pieces, notes):
                lines += len(some)
                joined = np.concatenate(some)
                counts += np.bincount(joined & ~writer.bit, minlength=vocabulary)
                words += int(((joined & writer.bit) == 0).sum()) - len(some)
                writer.add(joined)
            if not lines:
                raise FormatError(f"{source.path}: no text in it; expected at least a sentence")
            of_sources.append(
                {"lines": lines, "pieces": writer.pieces - before, "first row": first + begin, "weight": weight}
            )
        writer.close()
        groups.append((writer.rows, weight))
        first += writer.rows
    counts[list(frame.after)] = 0
    different = int((counts > 0).sum())
    if different < FEWEST:
        raise UsageError(
            f"{sources[0].path}: {counts.sum():,} pieces, but only {different} different; expected running text"
        )
    return {
        "width": width,
        "dtype": kind.name,
        "rows": first,
        "groups": groups,
        "sources": of_sources,
        "pieces": int(counts.sum()),
        "words": words,
        "unknown": int(counts[pieces.unknown]),
        "counts": counts.tolist(),
    }


def _vocabulary(pieces: PieceTokenizer) -> int:
    return max(pieces.tokenizer.get_vocab().values()) + 1


def _kind(vocabulary: int) -> np.dtype[Any]:
    return np.dtype(np.uint16 if vocabulary <= 2**15 else np.uint32)


def pieces_of(source: Source, pieces: PieceTokenizer, notes: Notes) -> Iterator[list[NDArray[Any]]]:
    """The pieces of some lines after another: each with the mark of those inside a word, and a separator at the end."""
    frame, kind = frame_of(pieces.tokenizer), _kind(_vocabulary(pieces))
    bit = inside_bit(kind)
    lines = lines_of(source, notes)
    while some := list(islice(lines, LINES)):
        found = []
        for encoding in pieces.tokenizer.encode_batch(some, add_special_tokens=False):
            words = np.array(encoding.word_ids, dtype=np.float64)  # None becomes nan, which equals nothing
            ids = np.array([*encoding.ids, *frame.after[:1]], dtype=kind)
            ids[1 : len(words)] |= (words[1:] == words[:-1]).astype(kind) * bit
            if len(words):
                found.append(ids)
        if found:
            yield found


class _Group:
    """Writes the rows of the sources of one weight."""

    def __init__(self, file: IO[bytes], width: int, kind: np.dtype[Any]) -> None:
        self.file = file
        self.width = width
        self.bit = inside_bit(kind)
        self.waiting: list[NDArray[Any]] = []
        self.waits = 0
        self.head: NDArray[Any] = np.empty(0, dtype=kind)  # the beginning, which fills the last row
        self.pieces = 0

    @property
    def rows(self) -> int:
        """Rows so far; the last one is not full yet."""
        return -(-self.pieces // self.width)

    def add(self, some: NDArray[Any]) -> None:
        """Take pieces, and write once a block of rows is full."""
        self.pieces += len(some)
        self.waits += len(some)
        self.waiting.append(some)
        if len(self.head) < self.width:
            self.head = np.concatenate((self.head, some))[: self.width]
        if self.waits >= 1000 * self.width:
            whole = np.concatenate(self.waiting)
            full = len(whole) // self.width * self.width
            self.file.write(whole[:full].tobytes())
            self.waiting, self.waits = [whole[full:]], len(whole) - full

    def close(self) -> None:
        """Write what is left."""
        whole = np.concatenate(self.waiting)
        lacking = -len(whole) % self.width
        self.file.write(np.concatenate((whole, np.resize(self.head, lacking))).tobytes())
