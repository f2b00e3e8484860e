"""Read the values of a JSON array, or of JSON lines, one at a time, with at most one of them in memory."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn, TextIO

from gridner import files
from gridner.errors import FormatError

CHUNK = 2**16  # characters
WHITE = re.compile(r"[ \t\r\n]*")


def stream_values(path: Path, under: str | None = None) -> Iterator[Any]:
    """Yield the values of the array in a file, or the values of a file without an array.

    If an object has an array in the field `under`, its place is taken by the values of that array.
    """
    number, first = 0, True
    expected = "a JSON array of records" if under is None else f"JSON with {under!r}"
    with io.TextIOWrapper(files.open_bytes(path), encoding="utf-8-sig", newline="") as file:
        stream = _Stream(file)
        try:
            array = stream.peek() == "["
            if array:
                stream.skip()
            while (character := stream.peek()) and not (array and character == "]"):
                if array and not first:
                    stream.expect(",")
                first = False
                for value in [stream.value()] if under is None else stream.values_under(under):
                    number += 1
                    yield value
            if array:
                stream.expect("]")
            if stream.peek():
                raise ValueError("Extra data")
        except (ValueError, RecursionError) as error:  # UnicodeDecodeError and JSONDecodeError are ValueErrors
            raise FormatError(
                f"{path}: after record {number}: {_problem(error)}, expected {expected}, in UTF-8"
            ) from None
    if not number:
        raise FormatError(f"{path}: no records, expected {'a JSON array of them' if under is None else expected}")


def _problem(error: Exception) -> str:
    """Return what is wrong, without the position, which counts from the start of a chunk."""
    if isinstance(error, UnicodeDecodeError):
        return f"byte 0x{error.object[error.start]:02x}"
    return error.msg if isinstance(error, json.JSONDecodeError) else str(error)[:120]


def no_constant(name: str) -> NoReturn:
    """Raise an error for NaN and Infinity, which are not JSON."""
    raise ValueError(f"{name} is not a JSON number")


DECODER = json.JSONDecoder(parse_constant=no_constant)


class _Stream:
    """JSON text, read as far as needed and dropped once it is consumed."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._text, self._at, self._ended = "", 0, False

    def peek(self) -> str:
        """Return the next character that is not white space, '' at the end."""
        while True:
            self._at = WHITE.match(self._text, self._at).end()  # type: ignore[union-attr]  # it always matches
            if self._at < len(self._text) or self._ended:
                return self._text[self._at : self._at + 1]
            self._read_more()

    def skip(self) -> None:
        """Skip the next character."""
        self._at += 1

    def expect(self, character: str) -> None:
        """Skip the next character, which must be this one."""
        if self.peek() != character:
            raise ValueError(f"{self.peek()!r}, expected {character!r}" if self.peek() else "the file ends")
        self.skip()

    def value(self) -> Any:
        """Return the next value. Only at the end of the file is a broken value known not to be merely cut."""
        self.peek()
        while True:
            try:
                value, end = DECODER.raw_decode(self._text, self._at)
                if end < len(self._text) or self._ended:
                    self._check_size(end - self._at)
                    self._at = end
                    return value
            except json.JSONDecodeError as error:
                if self._ended:
                    if error.pos >= len(self._text.rstrip()) or error.msg.startswith("Unterminated"):
                        raise ValueError("the file ends in the middle of a record") from None
                    raise
            self._read_more()

    def values_under(self, name: str) -> Iterator[Any]:
        """Yield the next value; if it is an object with an array in that field, the values of the array instead."""
        if self.peek() != "{":
            yield self.value()
            return
        self.skip()
        others: dict[str, Any] = {}
        has_array = False
        for _ in self._separated_until("}"):
            key = self.value()
            self.expect(":")
            if key == name and self.peek() == "[":
                has_array = True
                self.skip()
                for _ in self._separated_until("]"):
                    yield self.value()
            else:
                others[str(key)] = self.value()
        if not has_array:
            yield others

    def _separated_until(self, end: str) -> Iterator[None]:
        """Yield before each value; skip the commas between values, and the end."""
        first = True
        while self.peek() != end:
            if not first:
                self.expect(",")
            first = False
            yield
        self.skip()

    def _read_more(self) -> None:
        left = len(self._text) - self._at
        self._check_size(left)
        more = self._file.read(max(CHUNK, min(left, files.MAX_BYTES - left + 1)))
        self._text, self._at, self._ended = self._text[self._at :] + more, 0, not more

    def _check_size(self, size: int) -> None:
        if size > files.MAX_BYTES:
            raise ValueError(f"a record larger than {files.MAX_BYTES:,} characters")
