"""Character offsets as annotation files give them, made into fragments."""

from __future__ import annotations

from collections.abc import Iterable

from gridner.documents import Fragment, join_fragments
from gridner.errors import FormatError, InvalidError, Notes


def fragments_from(pairs: Iterable[tuple[int, int]], text: str, where: str, notes: Notes) -> tuple[Fragment, ...]:
    """Fragments in text order; those parted only by white space are one. Overlapping ones are joined and counted."""
    found: list[Fragment] = []
    for start, end in sorted(pairs):
        if end > len(text):
            raise FormatError(f"{where}: fragment {start}-{end} is past the end of the text ({len(text)} characters)")
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
