"""Repair annotations whose offsets cover a different text than the one that they state.

A repair moves boundaries that lie inside a word to an end of that word: those that give the stated text, or else
outwards, which is what a system that finds words could predict. Each repair is counted, with the offsets before and
after it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import product

from gridner.documents import Fragment
from gridner.errors import FormatError, Notes
from gridner.files import Source
from gridner.formats._support.offsets import check_text, fragments_from, squeezed
from gridner.text.splitting import tokenize

REPAIRED = "annotation whose text and offsets disagree, repaired"
LONGEST = 200  # characters of a run without spaces to look at
MOST = 8  # boundaries inside words up to which every choice of ends is tried
SPACE = re.compile(r"\s")

Pair = tuple[int, int]
Check = Callable[[str, Sequence[Pair], str, str], None]


def agreed_fragments(
    stated: str | None, pairs: Sequence[Pair], text: str, where: str, source: Source, check: Check = check_text
) -> tuple[Fragment, ...]:
    """Return the fragments of an annotation, whose offsets must cover the text that it states, if any."""
    fragments = fragments_from(pairs, text, where, source.notes)
    if stated is None:
        return fragments
    agreed = agreed_pairs(stated, pairs, text, where, source, check)
    return fragments if agreed is pairs else fragments_from(agreed, text, where, Notes())


def agreed_pairs(
    stated: str, pairs: Sequence[Pair], text: str, where: str, source: Source, check: Check = check_text
) -> Sequence[Pair]:
    """Return offsets that cover the stated text; repair them if the source allows it.

    The offsets must lie in the text. It is an error if they disagree and are not repaired, or if they have no word in
    common with the stated text.
    """
    try:
        check(stated, pairs, text, where)
    except FormatError:
        if not source.repair:
            raise
        better = repaired(stated, pairs, text)
        if better is None:
            raise
        fragments_from(better, text, where, Notes())
        became = "is kept" if better == list(pairs) else f"became {_shown(better, text)}"
        source.notes.add(REPAIRED, f"{where}: {_shown(pairs, text)} {became}, said to be {stated[:60]!r}")
        return better
    return pairs


def repaired(stated: str, pairs: Sequence[Pair], text: str) -> list[Pair] | None:
    """Return offsets that end where words end; None if they have no word in common with the stated text."""
    ends = [(_choices(text, start, first=True), _choices(text, end, first=False)) for start, end in pairs]
    sides = [side for pair in ends for side in pair]
    outwards = [side[0] for side in sides]
    choices = product(*sides) if sum(len(side) > 1 for side in sides) <= MOST else iter([tuple(outwards)])
    for chosen in choices:
        candidate = list(zip(chosen[::2], chosen[1::2], strict=True))
        if all(start < end for start, end in candidate) and squeezed(stated) in _covered(candidate, text):
            return candidate
    widest = list(zip(outwards[::2], outwards[1::2], strict=True))
    words = {word for start, end in widest for word in _words(text[start:end])}
    return widest if words & set(_words(stated)) else None


def _choices(text: str, boundary: int, *, first: bool) -> tuple[int, ...]:
    """Return where a boundary may be: unchanged or, inside a word, at the ends of the word, the outer one first."""
    start = boundary - len(text[max(0, boundary - LONGEST) : boundary].split(" ")[-1])
    stop = SPACE.search(text, boundary)
    for word in tokenize(text, start, stop.start() if stop else len(text)):
        if word.start < boundary < word.end:
            before, after = word.start, word.end  # without the white space around the word
            while before > 0 and text[before - 1].isspace():
                before -= 1
            while after < len(text) and text[after].isspace():
                after += 1
            return (word.start, after) if first else (word.end, before)
        if word.start >= boundary:
            break
    return (boundary,)


def _covered(pairs: Sequence[Pair], text: str) -> Iterator[str]:
    for order in (pairs, sorted(pairs)):
        yield squeezed("".join(text[start:end] for start, end in order))


def _words(text: str) -> Iterator[str]:
    for word in tokenize(text):
        lower = text[word.start : word.end].casefold()
        if any(map(str.isalnum, lower)):
            yield lower


def _shown(pairs: Sequence[Pair], text: str) -> str:
    offsets = ";".join(f"{start} {end}" for start, end in pairs)
    return f"{offsets[:60]} {' … '.join(text[start:end] for start, end in pairs)[:60]!r}"
