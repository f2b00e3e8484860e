"""How the words of a name and of a text are compared: in lower case, without hyphens, singular like plural.

"α-cells", "alpha cell" and "Alpha-Cell" are the same name. An abbreviation that the text defines stands for its long
form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gridner.text.abbreviations import singular_short_form

NUMBERS = (  # endings of nouns, and what both the singular and the plural become
    ("ies", "y"),  # neuropathies
    ("ium", "ia"),  # bacterium
    ("sis", "se"),  # metastasis; the plural loses its s
    ("ae", "a"),  # vertebrae
)
HYPHENS = frozenset("-‐‑–")
GREEK_NAMES = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu "
    "nu xi omicron pi rho sigma tau upsilon phi chi psi omega"
)
GREEK = str.maketrans(dict(zip("αβγδεζηθικλμνξοπρστυφχψω", GREEK_NAMES.split(), strict=True)))


class NameWords:
    """The words of a text as names are compared with them: `lower`, and `last` for the last word of a name."""

    def __init__(self, words: Sequence[str], abbreviations: Mapping[str, tuple[str, ...]] | None = None) -> None:
        self.lower: list[str] = []
        self._places: list[int] = []  # of each of them, in `words`
        for place, word in enumerate(words):
            parts = (abbreviations or {}).get(singular_short_form(word), (word,))
            for part in parts:
                for lower in part.lower().translate(GREEK).split():  # a word can contain white space
                    if lower not in HYPHENS:
                        self.lower.append(lower)
                        self._places.append(place)
        self.last = [_singular(word) for word in self.lower]

    def __len__(self) -> int:
        return len(self.lower)

    def places(self, start: int, stop: int) -> range | None:
        """Return the given words that hold these words; None if they hold more than these."""
        before = self._places[start - 1] if start else -1
        after = self._places[stop] if stop < len(self) else -1
        first, last = self._places[start], self._places[stop - 1]
        return None if first == before or last == after else range(first, last + 1)

    def key(self, start: int, stop: int) -> str:
        """Return these words as the key of a name."""
        return " ".join((*self.lower[start : stop - 1], self.last[stop - 1]))


def name_key(words: Sequence[str]) -> str:
    """Return the key of a name, which all of its forms share; empty if it has no words."""
    name = NameWords(words)
    return name.key(0, len(name)) if len(name) else ""


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
