"""Abbreviations that a text defines, such as "otitis media (OM)".

The rule is that of Schwartz and Hearst (2003): the letters of the short form occur in the long form in the same order,
and the first one begins a word of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gridner.text.splitting import tokenize

Abbreviations = Mapping[tuple[str, ...], tuple[str, ...]]  # words of a short form → words of its long form

BRACKET = re.compile(r"[(\[]([^()\[\]]{2,200})[)\]]")
SHORT = re.compile(r"(?=\S*[A-Z])\w[\w./+&-]{0,8}\w")  # 2 to 10 characters, one of them a capital
LONGEST_BEFORE = 150  # characters before a bracket that can hold the long form
TOKENS_PER_WORD = 2  # of a long form, at most: hyphens and apostrophes are words of their own


def find_abbreviations(text: str) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Map each abbreviation, in the singular, to the words of its long form.

    If a text defines an abbreviation twice, the first definition counts.
    """
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    for short, long in _definitions(text):
        *first, last = _words(short)
        found.setdefault((*first, singular_short_form(last)), _words(long))
    return found


def singular_short_form(word: str) -> str:
    """Return a word that looks like the plural of an abbreviation without its s: PMN for PMNs, mRNA for mRNAs."""
    is_plural = word.endswith("s") and any(letter.isupper() for letter in word[1:-1])
    return word[:-1] if is_plural else word


def _words(text: str) -> tuple[str, ...]:
    return tuple(text[word.start : word.end] for word in tokenize(text))


def _definitions(text: str) -> Iterator[tuple[str, str]]:
    """Yield pairs of a short and a long form: "long form (SF)", "long form (SF; more)" and "SF (long form)"."""
    for bracket in BRACKET.finditer(text):
        before = _before(text, bracket.start())
        inside = bracket[1].strip()
        short = re.split(r"[,;]", inside, maxsplit=1)[0].strip()
        if SHORT.fullmatch(short):
            if long := _long_form(short, before):
                yield short, long
        elif (words := before.split()) and SHORT.fullmatch(words[-1]) and _long_form(words[-1], inside) == inside:
            yield words[-1], inside


def _before(text: str, end: int) -> str:
    """Return the words before a place in a text, as far back as a long form can reach."""
    start = max(0, end - LONGEST_BEFORE)
    before = text[start:end].rstrip()
    is_cut = start > 0 and not text[start - 1].isspace()
    return re.sub(r"\A\S*", "", before) if is_cut else before


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
    most = min(len(letters) + 5, 2 * len(letters))
    is_short_enough = len(long.split()) <= most and len(_words(long)) <= TOKENS_PER_WORD * most
    return long if is_short_enough and len(long) > len(short) and "\n" not in long else None
