"""Repair annotations whose offsets cover something else than the text that they repeat.

Offsets are kept, with boundaries that lie inside a word moved to an end of it: those that give the stated text, else
outwards, which is what a system that finds words could predict. Each repair is counted, and named with what it was and
what it became.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import product

from gridner.errors import FormatError, Notes
from gridner.files import Source
from gridner.formats._support.offsets import check_text, fragments_from, squeezed
from gridner.text.splitting import tokenize

REPAIRED = "annotation whose text and offsets disagree, repaired"
LONGEST = 200  # characters of a run without spaces that are looked at
MOST = 8  # boundaries inside words of which every choice of ends is tried
SPACE = re.compile(r"\s")

Pair = tuple[int, int]
Check = Callable[[str, Sequence[Pair], str, str], None]


def agreed(
    said: str, pairs: Sequence[Pair], text: str, where: str, source: Source, check: Check = check_text
) -> Sequence[Pair]:
    """Return the offsets, which must cover what the annotation says; repair them if the source allows it.

    The offsets must lie in the text. Without a repair, or if nothing the annotation says is there, it is an error.
    """
    try:
        check(said, pairs, text, where)
    except FormatError:
        if not source.repair:
            raise
        found = repaired(said, pairs, text)
        if found is None:
            raise
        fragments_from(found, text, where, Notes())
        became = "is kept" if found == list(pairs) else f"became {_shown(found, text)}"
        source.notes.add(REPAIRED, f"{where}: {_shown(pairs, text)} {became}, said to be {said[:60]!r}")
        return found
    return pairs


def repaired(said: str, pairs: Sequence[Pair], text: str) -> list[Pair] | None:
    """Return offsets that end where words end; None if they have no word in common with what is said."""
    ends = [(_choices(text, start, first=True), _choices(text, end, first=False)) for start, end in pairs]
    sides = [side for pair in ends for side in pair]
    outwards = [side[0] for side in sides]
    every = product(*sides) if sum(len(side) > 1 for side in sides) <= MOST else iter([tuple(outwards)])
    for chosen in every:
        found = list(zip(chosen[::2], chosen[1::2], strict=True))
        if all(start < end for start, end in found) and squeezed(said) in _covered(found, text):
            return found
    found = list(zip(outwards[::2], outwards[1::2], strict=True))
    words = {word for start, end in found for word in _words(text[start:end])}
    return found if words & set(_words(said)) else None


def _choices(text: str, place: int, *, first: bool) -> tuple[int, ...]:
    """Where a boundary may be: as it is or, inside a word, at the ends of the word, the outer one first."""
    start = place - len(text[max(0, place - LONGEST) : place].split(" ")[-1])
    stop = SPACE.search(text, place)
    for word in tokenize(text, start, stop.start() if stop else len(text)):
        if word.start < place < word.end:
            before, after = word.start, word.end  # less the white space that is there without the word
            while before > 0 and text[before - 1].isspace():
                before -= 1
            while after < len(text) and text[after].isspace():
                after += 1
            return (word.start, after) if first else (word.end, before)
        if word.start >= place:
            break
    return (place,)


def _covered(pairs: Sequence[Pair], text: str) -> Iterator[str]:
    for order in (pairs, sorted(pairs)):
        yield squeezed("".join(text[start:end] for start, end in order))


def _words(text: str) -> Iterator[str]:
    for word in tokenize(text):
        said = text[word.start : word.end].casefold()
        if any(map(str.isalnum, said)):
            yield said


def _shown(pairs: Sequence[Pair], text: str) -> str:
    offsets = ";".join(f"{start} {end}" for start, end in pairs)
    return f"{offsets[:60]} {' … '.join(text[start:end] for start, end in pairs)[:60]!r}"
