"""How the words of a name and of a text are compared: in lower case, without hyphens, singular like plural.

"α-cells", "alpha cell" and "Alpha-Cell" are the same name. An abbreviation that the text defines is also read as its
long form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gridner.text.abbreviations import Abbreviations, singular_short_form

NUMBERS = (  # endings of nouns, and what both the singular and the plural become
    ("ies", "y"),  # neuropathies
    ("ium", "ia"),  # bacterium
    ("sis", "se"),  # metastasis; the plural loses its s
    ("ae", "a"),  # vertebrae
)
HYPHENS = "-‐‑–"
GREEK_LETTERS = "αβγδεζηθικλμνξοπρστυφχψως" + "µϕϑϵ"  # the last four are symbols that look like letters
GREEK_NAMES = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu "
    "nu xi omicron pi rho sigma tau upsilon phi chi psi omega sigma mu phi theta epsilon"
)
NORMAL = str.maketrans({**dict(zip(GREEK_LETTERS, GREEK_NAMES.split(), strict=True)), **dict.fromkeys(HYPHENS, " ")})


class NameWords:
    """The normalized words of a text. `lower` has every word; `last` has its singular, for the end of a name.

    With `abbreviations`, they have the words of the long form in place of each abbreviation.
    """

    def __init__(self, words: Sequence[str], abbreviations: Abbreviations | None = None) -> None:
        self.lower: list[str] = []
        self._places: list[range] = []  # the words of `words` that each normalized word stands for
        for place, parts in _expanded(words, abbreviations or {}):
            for part in parts:
                normalized = part.lower().translate(NORMAL).split()
                self.lower += normalized
                self._places += [place] * len(normalized)
        self.last = [_singular(word) for word in self.lower]

    def __len__(self) -> int:
        return len(self.lower)

    def places(self, start: int, stop: int) -> range | None:
        """Return the original words behind the normalized words `start` to `stop`; None if that splits a word."""
        first, last = self._places[start], self._places[stop - 1]
        splits_first = start > 0 and self._places[start - 1] is first
        splits_last = stop < len(self) and self._places[stop] is last
        return None if splits_first or splits_last else range(first.start, last.stop)

    def key(self, start: int, stop: int) -> str:
        """Return the normalized words `start` to `stop` as the key of a name."""
        return " ".join((*self.lower[start : stop - 1], self.last[stop - 1]))


def name_key(words: Sequence[str]) -> str:
    """Return the key of a name, which all of its forms share; empty if it has no words.

    A hyphen at the beginning or the end is a sign, as in "CD4-". It stays, and such a name matches no text.
    """
    name = NameWords(words)
    text = " ".join(words).strip()
    key = name.key(0, len(name)) if len(name) else ""
    return f"{'- ' * text.startswith(tuple(HYPHENS))}{key}{' -' * text.endswith(tuple(HYPHENS))}".strip() if key else ""


def is_plain_key(text: str) -> bool:
    """Return whether a text is the key of a name for certain: `name_key` would not change it."""
    last = text.rpartition(" ")[2]
    return text.isascii() and "-" not in text and _shortened(last) == last


def _expanded(words: Sequence[str], abbreviations: Abbreviations) -> Iterator[tuple[range, Sequence[str]]]:
    """Yield the places of each word with the word, or those of an abbreviation with the words of its long form."""
    longest = max((len(short) for short in abbreviations), default=0)
    place = 0
    while place < len(words):
        for length in range(min(longest, len(words) - place), 0, -1):
            short = (*words[place : place + length - 1], singular_short_form(words[place + length - 1]))
            if short in abbreviations:
                yield range(place, place + length), abbreviations[short]
                break
        else:
            length = 1
            yield range(place, place + 1), (words[place],)
        place += length


def _singular(word: str) -> str:
    """Return a form of a word that its singular and its plural share; it need not be a word."""
    while (shorter := _shortened(word)) != word:
        word = shorter
    return word


def _shortened(word: str) -> str:
    if len(word) <= 3:
        return word
    for ending, shared in NUMBERS:
        if word.endswith(ending) and len(word) > len(ending) + 1:
            return word.removesuffix(ending) + shared
    plural = word.endswith("s") and not word.endswith(("ss", "is", "us"))
    return word[:-1] if plural else word
