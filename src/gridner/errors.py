"""The errors of gridner, and Notes: counts of what was skipped or changed.

    GridnerError
    ├── InvalidError    an object that cannot exist: a fragment past the end, a mention outside its sentence
    ├── FormatError     a file that breaks the rules of its format
    ├── OutputError     an output that cannot be written, or must not be overwritten
    │   └── InUseError  a folder that another process writes to
    ├── MismatchError   gold and predictions that differ in their texts
    └── UsageError      a wrong argument: an unknown format, an unknown type

Each message is one line: where, what was found, what to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import islice
from typing import Any


class GridnerError(Exception):
    """Wrong input. The command line prints it as one line and exits with 2."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))  # libraries say what is wrong in several lines


class InvalidError(GridnerError, ValueError):
    """An object that cannot exist."""


class FormatError(GridnerError):
    """A file that breaks the rules of its format."""


class OutputError(GridnerError):
    """An output that cannot be written, or must not be overwritten."""


class InUseError(OutputError):
    """A folder that another process writes to."""


class MismatchError(GridnerError):
    """Gold and predictions that differ in their texts."""


class UsageError(GridnerError, ValueError):
    """A wrong argument."""


def plural(count: float, noun: str) -> str:
    """Return a count with its noun: 1 entity, 2 entities, 1,000 documents, 0.5 seconds."""
    many = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    shown = f"{count:,}" if isinstance(count, int) else f"{count:g}"
    return f"{shown} {noun if count == 1 else many}"


def printable(text: str) -> str:
    """Return text that is safe to print on a terminal: control characters and the like as escapes."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, at most 160 characters; the name of its class if it has none."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:160]


class Notes:
    """Counts of what was skipped, cut, changed or capped, with the places.

    Everything is counted; the first `keep` places of each kind are kept.
    """

    def __init__(self, *, keep: int = 1000) -> None:
        self._keep = keep
        self._counts: dict[str, int] = {}
        self._places: dict[str, list[str]] = {}

    def add(self, what: str, where: str) -> None:
        """Count one more `what`, and remember that it happened at `where`."""
        self._counts[what] = self._counts.get(what, 0) + 1
        places = self._places.setdefault(what, [])
        if len(places) < self._keep:
            places.append(where)

    def take(self, what: str, count: int, places: Iterable[str]) -> None:
        """Count several at once; `places` are the first places."""
        self._counts[what] = self._counts.get(what, 0) + count
        known = self._places.setdefault(what, [])
        known.extend(islice(places, self._keep - len(known)))

    def merge(self, other: Notes) -> None:
        """Add the counts and places of other notes."""
        for what, count, places in other:
            self.take(what, count, places)

    @property
    def total(self) -> int:
        """The sum of all counts."""
        return sum(self._counts.values())

    def copy(self) -> Notes:
        """Return an independent copy."""
        other = Notes(keep=self._keep)
        other._counts = dict(self._counts)
        other._places = {what: list(places) for what, places in self._places.items()}
        return other

    def __iter__(self) -> Iterator[tuple[str, int, list[str]]]:
        for what, count in self._counts.items():
            yield what, count, list(self._places[what])

    def places(self, what: str) -> list[str]:
        """Return the first places where `what` happened."""
        return list(self._places.get(what, ()))

    def __bool__(self) -> bool:
        return bool(self._counts)

    def __getitem__(self, what: str) -> int:
        return self._counts.get(what, 0)


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Turn the failed import of an optional library into an error that names the extra to install."""
    try:
        yield
    except ImportError as error:
        missing = (error.name or "a library").partition(".")[0]
        if missing == "gridner":
            raise
        raise UsageError(f"{missing} is missing; install it with: pip install 'gridner[{extra}]'") from None


def need(module: str, extra: str) -> Any:
    """Import an optional library, or raise an error that names the extra to install."""
    with needs(extra):
        return import_module(module)
