"""Character offsets as annotation files give them, made into fragments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

from gridner.documents import Fragment, join_fragments
from gridner.errors import FormatError, InvalidError, Notes, plural


def check_text(said: str, pairs: Sequence[tuple[int, int]], text: str, where: str) -> None:
    """Offsets whose characters are not what the annotation itself says are wrong. White space does not matter."""
    covered = [" ".join(text[start:end] for start, end in order) for order in (pairs, sorted(pairs))]
    if squeezed(said) not in map(squeezed, covered):
        offsets = ";".join(f"{start} {end}" for start, end in pairs)
        raise FormatError(f"{where}: the text at {offsets[:60]} is {covered[0][:60]!r}, expected {said[:60]!r}")


def squeezed(text: str) -> str:
    """Return the text without white space."""
    return "".join(text.split())


def fragments_from(pairs: Iterable[tuple[int, int]], text: str, where: str, notes: Notes) -> tuple[Fragment, ...]:
    """Fragments in text order; those parted only by white space are one. Overlapping ones are joined and counted."""
    found: list[Fragment] = []
    for start, end in sorted(pairs):
        if end > len(text):
            raise FormatError(
                f"{where}: fragment {start}-{end} is past the end of the text ({plural(len(text), 'character')})"
            )
        try:
            fragment = Fragment(start, end)
        except InvalidError as error:
            raise FormatError(f"{where}: {error}") from None
        if found and start < found[-1].end:
            notes.add("annotation whose fragments overlap, joined", where)
            found[-1] = Fragment(found[-1].start, max(found[-1].end, end))
        else:
            found.append(fragment)
    return join_fragments(text, found)


def from_utf16(text: str) -> dict[int, int]:
    """Where in the text, in code points, each UTF-16 unit starts; the middle of a pair of units is nowhere."""
    return _starts(2 if character > "\uffff" else 1 for character in text)


def from_utf8(text: str) -> dict[int, int]:
    """Where in the text, in code points, each byte of UTF-8 starts; the middle of a character is nowhere."""
    return _starts(len(character.encode("utf-8", "surrogatepass")) for character in text)


def _starts(widths: Iterable[int]) -> dict[int, int]:
    return {unit: number for number, unit in enumerate(accumulate(widths, initial=0))}
