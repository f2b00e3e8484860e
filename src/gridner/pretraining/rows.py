"""Text as rows of pieces, all of one length, in a memory-mapped file: no padding, no lost text."""

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
LINES = 1000  # per call of the tokenizer
FEWEST_PIECES = 20  # different ones in running text


@dataclass(frozen=True, slots=True)
class Frame:
    """The special pieces before and after a row. The first one after it also separates lines."""

    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of special pieces per row."""
        return len(self.before) + len(self.after)


def frame_of(tokenizer: Tokenizer) -> Frame:
    """Return the special pieces that a tokenizer puts around a sentence."""
    empty = PieceTokenizer(tokenizer, max_pieces=512).encode([["the"]])[0]
    return Frame(empty.before, empty.after)


class Rows:
    """The rows of a text. Each has `width` pieces without the frame; the highest bit marks a piece inside a word.

    Lines follow each other, with a separator between them, across the ends of rows. The beginning of a group fills its
    last row.
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
            raise FormatError(f"{folder / ROWS}: {error}; delete it, and gridner writes it again") from None

    def __len__(self) -> int:
        return len(self.data)

    def batch(self, rows: NDArray[np.int64], frame: Frame) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the pieces [B, p] of rows with their frame, and a mask [B, p] of the first pieces of words."""
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
        """The number of rows and the weight of each group of sources."""
        return [(int(rows), float(weight)) for rows, weight in self.about["groups"]]


def inside_bit(kind: np.dtype[Any]) -> Any:
    """Return the highest bit of a piece, which marks pieces inside a word."""
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
    """Return the rows in a folder. Write them first if it has none with this identity."""
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
    source_facts: list[dict[str, Any]] = []
    first = 0
    for weight in dict.fromkeys(source.weight for source in sources):
        writer = _GroupWriter(file, width, kind)
        for source in (source for source in sources if source.weight == weight):
            begin, before, lines = writer.rows, writer.pieces, 0
            for lines_pieces in pieces_of(source, pieces, notes):
                lines += len(lines_pieces)
                joined = np.concatenate(lines_pieces)
                counts += np.bincount(joined & ~writer.bit, minlength=vocabulary)
                words += int(((joined & writer.bit) == 0).sum()) - len(lines_pieces)
                writer.add(joined)
            if not lines:
                raise FormatError(f"{source.path}: no text; expected at least a sentence")
            source_facts.append(
                {"lines": lines, "pieces": writer.pieces - before, "first row": first + begin, "weight": weight}
            )
        writer.close()
        groups.append((writer.rows, weight))
        first += writer.rows
    counts[list(frame.after)] = 0
    different = int((counts > 0).sum())
    if different < FEWEST_PIECES:
        raise UsageError(
            f"{sources[0].path}: {counts.sum():,} pieces, but only {different} different; expected running text"
        )
    return {
        "width": width,
        "dtype": kind.name,
        "rows": first,
        "groups": groups,
        "sources": source_facts,
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
    """Yield the pieces of up to LINES lines at a time.

    Each line is an array that ends with a separator; the highest bit marks pieces inside a word.
    """
    frame, kind = frame_of(pieces.tokenizer), _kind(_vocabulary(pieces))
    bit = inside_bit(kind)
    lines = lines_of(source, notes)
    while texts := list(islice(lines, LINES)):
        encoded = []
        for encoding in pieces.tokenizer.encode_batch(texts, add_special_tokens=False):
            words = np.array(encoding.word_ids, dtype=np.float64)  # None becomes nan, which equals nothing
            ids = np.array([*encoding.ids, *frame.after[:1]], dtype=kind)
            ids[1 : len(words)] |= (words[1:] == words[:-1]).astype(kind) * bit
            if len(words):
                encoded.append(ids)
        if encoded:
            yield encoded


class _GroupWriter:
    """Writes the rows of the sources of one weight."""

    def __init__(self, file: IO[bytes], width: int, kind: np.dtype[Any]) -> None:
        self.file = file
        self.width = width
        self.bit = inside_bit(kind)
        self.buffer: list[NDArray[Any]] = []
        self.buffered = 0  # pieces in the buffer
        self.head: NDArray[Any] = np.empty(0, dtype=kind)  # the first pieces, which fill the last row
        self.pieces = 0

    @property
    def rows(self) -> int:
        """The number of rows so far. The last may be incomplete."""
        return -(-self.pieces // self.width)

    def add(self, pieces: NDArray[Any]) -> None:
        """Add pieces, and write the full rows if there are many."""
        self.pieces += len(pieces)
        self.buffered += len(pieces)
        self.buffer.append(pieces)
        if len(self.head) < self.width:
            self.head = np.concatenate((self.head, pieces))[: self.width]
        if self.buffered >= 1000 * self.width:
            joined = np.concatenate(self.buffer)
            full = len(joined) // self.width * self.width
            self.file.write(joined[:full].tobytes())
            self.buffer, self.buffered = [joined[full:]], len(joined) - full

    def close(self) -> None:
        """Write the remaining rows."""
        joined = np.concatenate(self.buffer)
        missing = -len(joined) % self.width
        self.file.write(np.concatenate((joined, np.resize(self.head, missing))).tobytes())
