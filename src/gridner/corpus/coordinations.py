"""Make training sentences with coordinations from contiguous mentions.

If the corpus has *rod cells* and *bipolar cells*, gridner copies a sentence with one of them and writes "rod and
bipolar cells" in its place, with the mentions *rod … cells* and *bipolar cells*. Discontinuous mentions are rare, and
most of them are of this kind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from gridner.text.alignment import Mention, Sentence, Word

Texts = tuple[str, ...]
Key = tuple[str, str, Texts]  # the mention's type, which end is shared, and the words of that end
JOINS: tuple[Texts, ...] = (
    ("and",),
    ("and",),
    ("and",),
    ("or",),
    ("or",),
    ("/",),
    ("but", "not"),
)  # repeated: drawn more often
ENUMERATIONS: tuple[Texts, ...] = (
    (",", "and"),
    (",", "and"),
    ("and",),
    (",", "or"),
)  # before the last of three or more


@dataclass(frozen=True, slots=True)
class _Split:
    """A mention, split into a part that other mentions share and a part that is specific to it."""

    mention: Mention
    shared: Texts
    specific: Texts
    at_end: bool  # the shared part comes last, as in "rod | cells"

    @property
    def key(self) -> Key:
        return self.mention.type, "end" if self.at_end else "start", _stems(self.shared)


class Coordinations:
    """Makes sentences with coordinations from the contiguous mentions of a training corpus."""

    def __init__(self, sentences: Iterable[Sentence]) -> None:
        self._places: list[tuple[Sentence, list[_Split]]] = []
        self._parts: dict[Key, dict[Texts, None]] = defaultdict(dict)
        for sentence in sentences:
            splits = [split for mention in sentence.mentions for split in _splits(sentence, mention)]
            for split in splits:
                self._parts[split.key][split.specific] = None
            if splits:
                self._places.append((sentence, splits))
        usable = ((sentence, [split for split in splits if self._others(split)]) for sentence, splits in self._places)
        self._places = [(sentence, splits) for sentence, splits in usable if splits]

    def __len__(self) -> int:
        """Return how many sentences can get a coordination."""
        return len(self._places)

    def sample(self, count: int, random: Random) -> list[Sentence]:
        """Return `count` new sentences; none if the corpus has no suitable mentions."""
        if not self._places:
            return []
        return [self._make(*random.choice(self._places), random) for _ in range(count)]

    def _others(self, split: _Split) -> list[Texts]:
        return [part for part in self._parts[split.key] if _stems(part) != _stems(split.specific)]

    def _make(self, sentence: Sentence, splits: Sequence[_Split], random: Random) -> Sentence:
        at_end = [split for split in splits if split.at_end]
        split = random.choice(at_end if at_end and random.random() < 0.7 else splits)
        others = self._others(split)
        conjuncts = [split.specific, *random.sample(others, min(len(others), random.choice((1, 1, 2, 3))))]
        random.shuffle(conjuncts)
        join = random.choice(JOINS if len(conjuncts) == 2 else ENUMERATIONS)
        parts: list[Texts] = []  # conjuncts and the words between them, alternating
        for number, conjunct in enumerate(conjuncts):
            if number:
                parts.append(join if number == len(conjuncts) - 1 else (",",))
            parts.append(conjunct)
        return _replace(sentence, split, parts)


def _splits(sentence: Sentence, mention: Mention) -> Iterable[_Split]:
    """Yield the ways to split a continuous mention that shares no word with another mention."""
    words = mention.words
    if len(words) < 2 or len(words) != mention.tail - mention.head + 1:
        return
    if any(other is not mention and set(other.words) & set(words) for other in sentence.mentions):
        return
    texts = tuple(sentence.words[word].text for word in words)
    for cut in range(1, len(texts)):
        if texts[cut - 1].isalnum() and texts[cut].isalnum():
            yield _Split(mention, texts[cut:], texts[:cut], True)
            yield _Split(mention, texts[:cut], texts[cut:], False)


def _replace(sentence: Sentence, split: _Split, parts: Sequence[Texts]) -> Sentence:
    """Return the sentence with the coordination in place of the mention."""
    mention, shared = split.mention, split.shared
    pieces = [*parts, shared] if split.at_end else [shared, *parts]
    spans: list[tuple[int, ...]] = []
    texts = [word.text for word in sentence.words[: mention.head]]
    for piece in pieces:
        spans.append(tuple(range(len(texts), len(texts) + len(piece))))
        texts += piece
    conjuncts, common = (spans[:-1:2], spans[-1]) if split.at_end else (spans[1::2], spans[0])
    added = len(texts) - mention.tail - 1
    texts += [word.text for word in sentence.words[mention.tail + 1 :]]
    made = [Mention(mention.type, tuple(sorted((*conjunct, *common)))) for conjunct in conjuncts]
    others = [
        Mention(other.type, tuple(word + added if word > mention.tail else word for word in other.words))
        for other in sentence.mentions
        if other is not mention
    ]
    return Sentence(sentence.document_id, _words(texts), tuple(dict.fromkeys((*made, *others))))


def _words(texts: Iterable[str]) -> tuple[Word, ...]:
    """Return words whose offsets leave a space between them."""
    words, start = [], 0
    for text in texts:
        words.append(Word(text, start, start + len(text)))
        start += len(text) + 1
    return tuple(words)


def _stems(texts: Texts) -> Texts:
    return tuple(text.lower().removesuffix("s") for text in texts)
