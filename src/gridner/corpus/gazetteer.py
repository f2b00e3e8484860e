"""Gazetteers: lists of known names, from an ontology, a thesaurus, a list of drugs or the training corpus.

Where a name of the gazetteer occurs in a text, `with_name_bonus` adds a bonus to the scores of its relations before
decoding. The network itself is that of the paper. gridner then finds names that the network has never seen, unless the
network is certain that they are not entities.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from gridner.corpus.name_words import NameWords, is_plain_key, name_key
from gridner.documents import check_type
from gridner.errors import FormatError, InvalidError, Notes
from gridner.files import read_lines, reading
from gridner.text.abbreviations import Abbreviations
from gridner.text.alignment import Sentence
from gridner.text.splitting import tokenize

JOINS = frozenset(("and", "or", "/", ",", "("))  # words that start an enumeration or a bracket
SHARED = frozenset(("and", "or"))  # words before the last item of an enumeration
GAP = 5  # words at most in the gap of a name
BEFORE, AFTER = 4, 2  # words at most before and after the gap


class Match(NamedTuple):
    """A known name of a type at these words of a sentence."""

    type: str
    words: tuple[int, ...]


class Lexicon:
    """Names by type. `name_words` says how names and texts are compared."""

    def __init__(self, names: Iterable[tuple[str, Sequence[str]]] = ()) -> None:
        self._types: dict[str, list[str]] = {}
        self._longest: dict[str, int] = {}  # words of the longest name, by its first word
        self._last: set[str] = set()  # last words of names
        for type, words in names:
            if key := name_key(words):
                self._add(type, key)

    def _add(self, type: str, key: str) -> None:
        types = self._types.setdefault(key, [])
        if type not in types:
            types.append(type)
            first = key.partition(" ")[0]
            self._last.add(key.rpartition(" ")[2])
            self._longest[first] = max(self._longest.get(first, 0), key.count(" ") + 1)

    def __iter__(self) -> Iterator[tuple[str, list[str]]]:
        for key, types in sorted(self._types.items()):
            for type in sorted(types):
                yield type, key.split(" ")

    def __len__(self) -> int:
        return len(self._types)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lexicon) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(self.to_text())

    def __or__(self, other: Lexicon) -> Lexicon:
        return Lexicon([*self, *other])

    @property
    def types(self) -> tuple[str, ...]:
        """The types that have names, sorted."""
        return tuple(sorted({type for types in self._types.values() for type in types}))

    def find(self, words: Sequence[str], abbreviations: Abbreviations | None = None) -> list[Match]:
        """Return the names in a sentence, those without a gap first.

        An abbreviation is read as it stands and as its long form. A name inside a longer name of the same type does not
        count. Names with and without a gap are compared apart.
        """
        texts = [NameWords(words)]
        if abbreviations and (expanded := NameWords(words, abbreviations)).lower != texts[0].lower:
            texts.append(expanded)
        contiguous = (match for text in texts for match in self._contiguous(text))
        with_gap = (match for text in texts for match in self._with_gap(text))
        return [*_longest(contiguous), *_longest(with_gap)]

    def _contiguous(self, text: NameWords) -> Iterator[Match]:
        words = len(text)
        for start, first in enumerate(text.lower):
            before = ""
            most = min(max(1, self._longest.get(first, 0)), words - start)
            for stop in range(start + 1, start + most + 1):
                types = self._types.get(before + text.last[stop - 1])
                if types and (places := text.places(start, stop)):
                    for type in types:
                        yield Match(type, tuple(places))
                before += f"{text.lower[stop - 1]} "

    def _with_gap(self, text: NameWords) -> Iterator[Match]:
        """Yield names with a gap: "bipolar cells" in "bipolar and amacrine cells", "T cells" in "T (and B) cells"."""
        words = len(text)
        for stop, resume in _gaps(text.lower):
            last = [
                end for end in range(resume + 1, min(words, resume + AFTER) + 1) if text.last[end - 1] in self._last
            ]
            for start in range(max(0, stop - BEFORE), stop) if last else ():
                if self._longest.get(text.lower[start], 0) > 1:
                    for end in last:
                        types = self._types.get(" ".join((*text.lower[start:stop], text.key(resume, end))))
                        if types and (before := text.places(start, stop)) and (after := text.places(resume, end)):
                            for type in types:
                                yield Match(type, (*before, *after))

    def suited(self, sentences: Collection[Sentence], *, notes: Notes) -> Lexicon:
        """Return the names that fit a corpus: of its types, and mostly annotated where they occur. Count the others."""
        types = {mention.type for sentence in sentences for mention in sentence.mentions}
        marked: Counter[tuple[str, str]] = Counter()
        unmarked: Counter[str] = Counter()
        for sentence in sentences:
            words = [word.text for word in sentence.words]
            inside = {word for mention in sentence.mentions for word in mention.words}
            for mention in sentence.mentions:
                marked[mention.type, name_key([words[word] for word in mention.words])] += 1
            for places in {match.words for match in _longest(self._contiguous(NameWords(words)))}:
                if inside.isdisjoint(places):
                    unmarked[name_key([words[place] for place in places])] += 1
        fitting = []
        for type, name in self:
            key = " ".join(name)
            if type not in types:
                notes.add("lexicon: name of a type that the corpus does not have, left out", f"{type}: {key}")
            elif marked[type, key] < unmarked[key]:
                notes.add("lexicon: name that the corpus mostly leaves unmarked, left out", f"{type}: {key}")
            else:
                fitting.append((type, name))
        return Lexicon(fitting)

    def about(self) -> dict[str, object]:
        """Return counts and a hash, for the model card."""
        counts = Counter(type for types in self._types.values() for type in types)
        return {
            "names": {type: counts[type] for type in self.types},
            "sha256": hashlib.sha256(self.to_text().encode()).hexdigest(),
        }

    def to_text(self) -> str:
        """Return one line per name: the type, a tab and the normalized words."""
        return "".join(f"{type}\t{' '.join(words)}\n" for type, words in self)

    @classmethod
    def from_text(cls, text: str, *, where: str) -> Lexicon:
        """Read the output of `to_text`."""
        lexicon = cls()
        lines = [line.partition("\t") for line in text.split("\n")[:-1]]
        if not all(key for _, _, key in lines):
            raise FormatError(
                f"{where}: a line without a type, a tab and a name, expected a gazetteer that gridner wrote"
            )
        for type, _, key in lines:
            if own := key if is_plain_key(key) else name_key(key.split(" ")):  # gridner 0.1 kept hyphens
                lexicon._add(type, own)
        return lexicon


def names_of(sentences: Iterable[Sentence]) -> Lexicon:
    """Return the names of the continuous mentions of a corpus."""
    return Lexicon(
        (mention.type, [sentence.words[word].text for word in mention.words])
        for sentence in sentences
        for mention in sentence.mentions
        if len(mention.words) == mention.tail - mention.head + 1
    )


def fitting_names(lexicon: Lexicon, corpora: Sequence[Collection[Sentence]], *, notes: Notes) -> Lexicon:
    """Return the names that fit the sentences of the corpora that annotate their type. Count the others."""
    fitting, known = Lexicon(), set()
    for sentences in corpora:
        types = {mention.type for sentence in sentences for mention in sentence.mentions}
        known |= types
        fitting |= Lexicon((type, name) for type, name in lexicon if type in types).suited(sentences, notes=notes)
    return fitting | Lexicon((type, name) for type, name in lexicon if type not in known).suited((), notes=notes)


def read_lexicon(path: str | Path) -> Lexicon:
    """Read a TSV gazetteer: TYPE<tab>name per line. Blank lines and lines that begin with # are skipped."""
    names = []
    with reading(Path(path)):
        for line in read_lines(Path(path)):
            text = line.text
            if not text.strip() or text.startswith("#"):
                continue
            type, tab, name = text.partition("\t")
            if not tab or "\t" in name or not name.strip():
                raise FormatError(f"{line.where}: {text!r:.60}, expected a type, a tab and a name")
            try:
                check_type(type)
            except InvalidError as error:
                raise FormatError(f"{line.where}: {error}") from None
            names.append((type, [name[word.start : word.end] for word in tokenize(name)]))
    if not names:
        raise FormatError(f"{path}: no names, expected lines with a type, a tab and a name")
    return Lexicon(names)


def _longest(matches: Iterable[Match]) -> list[Match]:
    """Return distinct matches, without those inside a longer match of the same type."""
    distinct = list(dict.fromkeys(matches))
    sets = [(match.type, frozenset(match.words)) for match in distinct]
    return [
        match
        for match, (type, words) in zip(distinct, sets, strict=True)
        if not any(type == other_type and words < other_words for other_type, other_words in sets)
    ]


def _gaps(lower: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the possible gaps of names as half-open word ranges: they start with a joining word or end with one."""
    for place, word in enumerate(lower):
        if word in JOINS:
            for resume in range(place + 2, min(place + GAP + 1, len(lower))):
                yield place, resume
        if word in SHARED:
            for stop in range(max(1, place + 1 - GAP), place):
                if lower[stop] not in JOINS:
                    yield stop, place + 1
