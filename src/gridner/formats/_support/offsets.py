"""Fragments from the character offsets of annotation files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

from gridner.documents import Fragment, join_fragments
from gridner.errors import FormatError, InvalidError, Notes, plural


def check_text(stated: str, pairs: Sequence[tuple[int, int]], text: str, where: str) -> None:
    """Raise an error if the offsets of an annotation do not cover the text that it states; white space is ignored."""
    covered = [" ".join(text[start:end] for start, end in order) for order in (pairs, sorted(pairs))]
    if squeezed(stated) not in map(squeezed, covered):
        offsets = ";".join(f"{start} {end}" for start, end in pairs)
        raise FormatError(f"{where}: the text at {offsets[:60]} is {covered[0][:60]!r}, expected {stated[:60]!r}")


def squeezed(text: str) -> str:
    """Return the text without white space."""
    return "".join(text.split())


def fragments_from(pairs: Iterable[tuple[int, int]], text: str, where: str, notes: Notes) -> tuple[Fragment, ...]:
    """Return fragments in text order; those with only white space between them are one.

    Overlapping fragments are joined and counted.
    """
    fragments: list[Fragment] = []
    for start, end in sorted(pairs):
        if end > len(text):
            raise FormatError(
                f"{where}: fragment {start}-{end} is past the end of the text ({plural(len(text), 'character')})"
            )
        try:
            fragment = Fragment(start, end)
        except InvalidError as error:
            raise FormatError(f"{where}: {error}") from None
        if fragments and start < fragments[-1].end:
            notes.add("annotation whose fragments overlap, joined", where)
            fragments[-1] = Fragment(fragments[-1].start, max(fragments[-1].end, end))
        else:
            fragments.append(fragment)
    return join_fragments(text, fragments)


def from_utf16(text: str) -> dict[int, int]:
    """Map offsets in UTF-16 units to code points; an offset inside a pair of units is missing."""
    return _starts(2 if character > "\uffff" else 1 for character in text)


def from_utf8(text: str) -> dict[int, int]:
    """Map offsets in bytes of UTF-8 to code points; an offset inside a character is missing."""
    return _starts(len(character.encode("utf-8", "surrogatepass")) for character in text)


def _starts(widths: Iterable[int]) -> dict[int, int]:
    return {unit: number for number, unit in enumerate(accumulate(widths, initial=0))}
