"""The values of a JSON array, or of JSON lines, one at a time: never more than one of them in memory."""

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


def items(path: Path, under: str | None = None) -> Iterator[Any]:
    """The values of the array that the file holds, or the values that it holds one after the other.

    An object among them that has an array under the name `under` stands for the values of that array.
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
            raise FormatError(f"{path}: after record {number}: {_said(error)}, expected {expected}, in UTF-8") from None
    if not number:
        raise FormatError(f"{path}: no records, expected {'a JSON array of them' if under is None else expected}")


def _said(error: Exception) -> str:
    """What is wrong; positions are left off, as they count from where a chunk starts."""
    if isinstance(error, UnicodeDecodeError):
        return f"byte 0x{error.object[error.start]:02x}"
    return error.msg if isinstance(error, json.JSONDecodeError) else str(error)[:120]


def no_constant(name: str) -> NoReturn:
    """NaN and Infinity are not JSON."""
    raise ValueError(f"{name} is not a JSON number")


DECODER = json.JSONDecoder(parse_constant=no_constant)


class _Stream:
    """JSON text that is read as far as it is needed, and forgotten when it was taken."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._text, self._at, self._ended = "", 0, False

    def peek(self) -> str:
        """The next character that is not white space, '' at the end."""
        while True:
            self._at = WHITE.match(self._text, self._at).end()  # type: ignore[union-attr]  # it matches anything
            if self._at < len(self._text) or self._ended:
                return self._text[self._at : self._at + 1]
            self._read_more()

    def skip(self) -> None:
        """Leave the next character behind."""
        self._at += 1

    def expect(self, character: str) -> None:
        """Take the next character, which must be this one."""
        if self.peek() != character:
            raise ValueError(f"{self.peek()!r}, expected {character!r}" if self.peek() else "the file ends")
        self.skip()

    def value(self) -> Any:
        """Take the next value. Only at the end of the file is it certain that one is broken and not just cut here."""
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
        """Take the next value: if it is an object with an array under that name, the values of that array."""
        if self.peek() != "{":
            yield self.value()
            return
        self.skip()
        others: dict[str, Any] = {}
        found = False
        for _ in self._parted_until("}"):
            key = self.value()
            self.expect(":")
            if key == name and self.peek() == "[":
                found = True
                self.skip()
                for _ in self._parted_until("]"):
                    yield self.value()
            else:
                others[str(key)] = self.value()
        if not found:
            yield others

    def _parted_until(self, end: str) -> Iterator[None]:
        """Stop where a value stands, and take the commas between them and the end."""
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
