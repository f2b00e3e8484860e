"""Abbreviations that a text defines, such as "otitis media (OM)".

The rule is that of Schwartz and Hearst (2003): the letters of the short form occur in the long form in the same order,
and the first one begins a word of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gridner.text.splitting import tokenize

BRACKET = re.compile(r"[(\[]([^()\[\]]{2,200})[)\]]")
SHORT = re.compile(r"(?=\S*[A-Z])\w[\w./+&-]{0,8}\w")  # a word of 2 to 10 characters, one of them a capital
LONGEST_BEFORE = 150  # characters before a bracket that can hold the long form


def find_abbreviations(text: str) -> dict[str, tuple[str, ...]]:
    """Return the words of the long form of each abbreviation, by its singular. The first definition counts."""
    found: dict[str, tuple[str, ...]] = {}
    for short, long in _definitions(text):
        found.setdefault(singular_short_form(short), tuple(long[word.start : word.end] for word in tokenize(long)))
    return found


def singular_short_form(word: str) -> str:
    """Return an abbreviation without the s of its plural: PMN for PMNs."""
    return word[:-1] if word.endswith("s") and len(word) > 2 and word[:-1].isupper() else word


def _definitions(text: str) -> Iterator[tuple[str, str]]:
    """Yield pairs of a short and a long form: "long form (SF)", "long form (SF; more)" and "SF (long form)"."""
    for bracket in BRACKET.finditer(text):
        before = text[max(0, bracket.start() - LONGEST_BEFORE) : bracket.start()].rstrip()
        inside = bracket[1].strip()
        short = re.split(r"[,;]", inside, maxsplit=1)[0].strip()
        if SHORT.fullmatch(short):
            if long := _long_form(short, before):
                yield short, long
        elif (words := before.split()) and SHORT.fullmatch(words[-1]) and _long_form(words[-1], inside) == inside:
            yield words[-1], inside


def _long_form(short: str, before: str) -> str | None:
    """Return the end of `before` that the letters of a short form abbreviate, or None."""
    place = len(before)
    letters = [letter.lower() for letter in short if letter.isalnum()]
    for number, letter in reversed(list(enumerate(letters))):
        place -= 1
        while place >= 0 and not (
            before[place].lower() == letter and (number > 0 or place == 0 or not before[place - 1].isalnum())
        ):
            place -= 1
        if place < 0:
            return None
    long = before[place:]
    is_short_enough = len(long.split()) <= min(len(letters) + 5, 2 * len(letters))
    return long if is_short_enough and len(long) > len(short) and "\n" not in long else None
