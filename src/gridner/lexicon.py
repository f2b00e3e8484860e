"""Names by type, from a file that users have: of an ontology, a thesaurus, a list of drugs.

In training, mentions of the corpus also appear under such names, so that the model knows more of them than the corpus
does. Prediction needs no lexicon.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from random import Random

from gridner.documents import check_type
from gridner.errors import FormatError, InvalidError, Notes
from gridner.formats.files import read_lines, reading
from gridner.sentences import Sentence
from gridner.split import tokenize

Texts = tuple[str, ...]


class Lexicon:
    """Names as words, by type and number of words."""

    def __init__(self, names: Iterable[tuple[str, str]]) -> None:
        found: dict[tuple[str, int], dict[Texts, None]] = defaultdict(dict)
        for type, name in names:
            texts = tuple(name[word.start : word.end] for word in tokenize(name))
            found[type, len(texts)][texts] = None
        self._names = {key: tuple(some) for key, some in found.items()}
        self.others: tuple[Texts, ...] = ()  # names of what a corpus does not mark

    @property
    def types(self) -> tuple[str, ...]:
        """The types that have names, sorted."""
        return tuple(sorted({type for type, _ in self._names}))

    def __iter__(self) -> Iterator[tuple[str, Texts]]:
        for (type, _), names in self._names.items():
            yield from ((type, name) for name in names)

    def about(self) -> dict[str, object]:
        """Counts and a hash: what a model card may say."""
        counts = {name: sum(len(some) for (of, _), some in self._names.items() if of == name) for name in self.types}
        names = sorted((of, *texts) for (of, _), some in self._names.items() for texts in some)
        counts |= {"other types": len(self.others)} if self.others else {}
        return {"names": counts, "sha256": hashlib.sha256(repr(names).encode()).hexdigest()}

    def suited(self, sentences: Collection[Sentence], *, notes: Notes) -> Lexicon:
        """Without the names that a corpus mostly leaves unmarked; names of types that it does not have are `others`."""
        types = {mention.type for sentence in sentences for mention in sentence.mentions}
        marked, unmarked = self._counts(sentences)
        kept: dict[tuple[str, int], tuple[Texts, ...]] = {}
        others: dict[Texts, Texts] = {}
        named: set[Texts] = set()
        for (name, size), some in self._names.items():
            left = []
            for texts in some:
                lower = tuple(text.lower() for text in texts)
                if name not in types:
                    others[lower] = texts
                    continue
                named.add(lower)
                if marked[name, lower] < unmarked[lower]:
                    notes.add("lexicon: name that train mostly leaves unmarked, left out", f"{name}: {' '.join(texts)}")
                else:
                    left.append(texts)
            if left:
                kept[name, size] = tuple(left)
        lexicon = Lexicon(())
        lexicon._names = kept
        lexicon.others = tuple(texts for lower, texts in others.items() if lower not in named)
        return lexicon

    def _counts(self, sentences: Iterable[Sentence]) -> tuple[Counter[tuple[str, Texts]], Counter[Texts]]:
        """How often names are mentions of a type in the sentences, and how often they stand outside all mentions."""
        names = {tuple(text.lower() for text in texts) for some in self._names.values() for texts in some}
        sizes = sorted({len(texts) for texts in names})
        marked: Counter[tuple[str, Texts]] = Counter()
        unmarked: Counter[Texts] = Counter()
        for sentence in sentences:
            words = [word.text.lower() for word in sentence.words]
            marked.update((one.type, tuple(words[word] for word in one.words)) for one in sentence.mentions)
            inside = {word for mention in sentence.mentions for word in mention.words}
            for size in sizes:
                for start in range(len(words) - size + 1):
                    texts = tuple(words[start : start + size])
                    if texts in names and inside.isdisjoint(range(start, start + size)):
                        unmarked[texts] += 1
        return marked, unmarked

    def draw(self, type: str, words: int, random: Random) -> Texts | None:
        """A name of so many words, if there is one."""
        names = self._names.get((type, words))
        return random.choice(names) if names else None


def read_lexicon(path: str | Path) -> Lexicon:
    """A file of lines with a type, a tab and a name; blank lines and those that begin with # are left out."""
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
            names.append((type, name))
    if not names:
        raise FormatError(f"{path}: no names, expected lines with a type, a tab and a name")
    return Lexicon(names)
