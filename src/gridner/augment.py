"""Training sentences made from those of the corpus: with coordinations, and with other names.

Where the corpus has *rod cells* and *bipolar cells*, a sentence with one of them becomes one with "rod and bipolar
cells": the mentions *rod … cells* and *bipolar cells*. Discontinuous mentions are rare, and most are of this kind.
And where a lexicon has *Sertoli cell*, a sentence about rod cells also becomes one about Sertoli cells.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from gridner.lexicon import Lexicon, Texts
from gridner.sentences import Mention, Sentence, Word

Key = tuple[str, str, Texts]  # the mention's type, which end is shared, and the words of that end
JOINS: tuple[Texts, ...] = (("and",), ("and",), ("and",), ("or",), ("or",), ("/",), ("but", "not"))  # drawn from
ENUMERATIONS: tuple[Texts, ...] = (
    (",", "and"),
    (",", "and"),
    ("and",),
    (",", "or"),
)  # before the last of three or more
ITEMS = (3, 6)  # of an enumeration, the fewest and the most
NAMED = 0.6  # share of them that are names
SHORT = 2  # words that a part from a lexicon may have: what is coordinated is seldom longer


@dataclass(frozen=True, slots=True)
class _Split:
    """A mention as the part that others share with it and the part that is its own."""

    mention: Mention
    shared: Texts
    own: Texts
    at_end: bool  # the shared part comes last, as in "rod | cells"

    @property
    def key(self) -> Key:
        return _key(self.mention.type, self.shared, at_end=self.at_end)


class Coordinations:
    """Makes sentences with coordinations from the flat mentions of a training corpus, and from names of a lexicon."""

    def __init__(self, sentences: Iterable[Sentence], lexicon: Lexicon | None = None) -> None:
        places: list[tuple[Sentence, list[_Split]]] = []
        parts: dict[Key, dict[Texts, Texts]] = defaultdict(dict)  # what is a mention's own, by its stems
        for sentence in sentences:
            splits = [split for mention in sentence.mentions for split in _splits(sentence, mention)]
            for split in splits:
                parts[split.key].setdefault(_stems(split.own), split.own)
            places.append((sentence, splits))
        for type, name in lexicon or ():
            for cut in range(1, len(name)):
                for at_end, own, shared in ((True, name[:cut], name[cut:]), (False, name[cut:], name[:cut])):
                    key = _key(type, shared, at_end=at_end)
                    if len(own) <= SHORT and key in parts and name[cut - 1].isalnum() and name[cut].isalnum():
                        parts[key].setdefault(_stems(own), own)
        self._parts = {key: list(owns.values()) for key, owns in parts.items() if len(owns) > 1}
        usable = ((sentence, [one for one in splits if one.key in self._parts]) for sentence, splits in places)
        self._places = [(sentence, splits) for sentence, splits in usable if splits]

    def __len__(self) -> int:
        """How many sentences can be changed."""
        return len(self._places)

    def sample(self, count: int, random: Random) -> list[Sentence]:
        """So many new sentences; none where the corpus gives nothing to make them from."""
        if not self._places:
            return []
        return [self._make(*random.choice(self._places), random) for _ in range(count)]

    def _make(self, sentence: Sentence, splits: Sequence[_Split], random: Random) -> Sentence:
        at_end = [split for split in splits if split.at_end]
        split = random.choice(at_end if at_end and random.random() < 0.7 else splits)
        count = random.choice((1, 1, 2, 3))
        drawn = random.sample(self._parts[split.key], min(len(self._parts[split.key]), count + 1))
        owns = [split.own, *(own for own in drawn if _stems(own) != _stems(split.own))][: count + 1]
        random.shuffle(owns)
        join = random.choice(JOINS if len(owns) == 2 else ENUMERATIONS)
        parts: list[Texts] = []  # the coordinated parts and what stands between them, in turn
        for number, own in enumerate(owns):
            if number:
                parts.append(join if number == len(owns) - 1 else (",",))
            parts.append(own)
        return _replace(sentence, split, parts)


def _splits(sentence: Sentence, mention: Mention) -> Iterable[_Split]:
    """The ways to split a mention of several neighbouring words that no other mention touches."""
    if len(mention.words) < 2 or not _stands_alone(sentence, mention):
        return
    texts = _texts(sentence, mention)
    for cut in range(1, len(texts)):
        if texts[cut - 1].isalnum() and texts[cut].isalnum():
            yield _Split(mention, texts[cut:], texts[:cut], True)
            yield _Split(mention, texts[:cut], texts[cut:], False)


def _replace(sentence: Sentence, split: _Split, parts: Sequence[Texts]) -> Sentence:
    """The sentence with the coordination in the place of the mention."""
    mention, shared = split.mention, split.shared
    pieces = [*parts, shared] if split.at_end else [shared, *parts]
    spans: list[tuple[int, ...]] = []
    texts = [word.text for word in sentence.words[: mention.head]]
    for piece in pieces:
        spans.append(tuple(range(len(texts), len(texts) + len(piece))))
        texts += piece
    owns, common = (spans[:-1:2], spans[-1]) if split.at_end else (spans[1::2], spans[0])
    added = len(texts) - mention.tail - 1
    texts += [word.text for word in sentence.words[mention.tail + 1 :]]
    made = [Mention(mention.type, tuple(sorted((*own, *common)))) for own in owns]
    kept = [
        Mention(other.type, tuple(word + added if word > mention.tail else word for word in other.words))
        for other in sentence.mentions
        if other is not mention
    ]
    return Sentence(sentence.document_id, _words(texts), tuple(dict.fromkeys((*made, *kept))))


def renamed(sentence: Sentence, lexicon: Lexicon, share: float, random: Random) -> Sentence:
    """The sentence with other names in place of a share of its flat mentions; itself where none is changed."""
    texts = [word.text for word in sentence.words]
    for mention in sentence.mentions:
        if random.random() < share and _stands_alone(sentence, mention):
            before = _texts(sentence, mention)
            name = lexicon.draw(mention.type, len(before), random)
            if name is not None:
                texts[mention.head : mention.tail + 1] = _in_number(name, like=before)
    if texts == [word.text for word in sentence.words]:
        return sentence
    return Sentence(sentence.document_id, _words(texts), sentence.mentions)


class Enumerations:
    """Makes short sentences that enumerate names of a lexicon, among words of the corpus and names of other things."""

    def __init__(self, sentences: Iterable[Sentence], lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._like: list[tuple[str, int]] = []  # type and number of words of the mentions
        words: list[Texts] = []
        for sentence in sentences:
            self._like += [(mention.type, len(mention.words)) for mention in sentence.mentions]
            words += _unmarked(sentence)
        names = [name for name in lexicon.others if len(name) <= SHORT]
        self._others = [some for some in (words, names) if some] or [[(",",)]]

    def sample(self, count: int, random: Random) -> list[Sentence]:
        """So many sentences."""
        return [self._make(random) for _ in range(count)]

    def _make(self, random: Random) -> Sentence:
        texts: list[str] = []
        mentions: list[Mention] = []
        items = random.randint(*ITEMS)
        for number in range(items):
            if number:
                texts.append("and" if number == items - 1 else ",")
            type, size = random.choice(self._like)
            name = self._lexicon.draw(type, size, random) if random.random() < NAMED else None
            if name is not None:
                mentions.append(Mention(type, tuple(range(len(texts), len(texts) + len(name)))))
            texts += name or random.choice(random.choice(self._others))
        return Sentence("enumeration", _words(texts), tuple(mentions))


def _unmarked(sentence: Sentence) -> Iterable[Texts]:
    """Runs of up to three words that are letters and in no mention."""
    marked = {word for mention in sentence.mentions for word in mention.words}
    run: list[str] = []
    for place, word in enumerate(sentence.words):
        if place not in marked and word.text.isalnum():
            run.append(word.text)
        if run and (len(run) == 3 or place in marked or not word.text.isalnum()):
            yield tuple(run)
            run = []


def _stands_alone(sentence: Sentence, mention: Mention) -> bool:
    """Whether its words are neighbours and no other mention touches them."""
    words = set(mention.words)
    if len(words) != mention.tail - mention.head + 1:
        return False
    return not any(other is not mention and words.intersection(other.words) for other in sentence.mentions)


def _texts(sentence: Sentence, mention: Mention) -> Texts:
    return tuple(sentence.words[word].text for word in mention.words)


def _in_number(name: Texts, *, like: Texts) -> Texts:
    """The name, in the plural if `like` is."""
    if _has_plural_s(like[-1]) and name[-1][-1].isalpha() and not name[-1].endswith("s"):
        return (*name[:-1], f"{name[-1]}s")
    return name


def _has_plural_s(word: str) -> bool:
    return len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "is", "us"))


def _words(texts: Iterable[str]) -> tuple[Word, ...]:
    """Words with a space between them."""
    words, start = [], 0
    for text in texts:
        words.append(Word(text, start, start + len(text)))
        start += len(text) + 1
    return tuple(words)


def _key(type: str, shared: Texts, *, at_end: bool) -> Key:
    return type, "end" if at_end else "start", _stems(shared)


def _stems(texts: Texts) -> Texts:
    return tuple(text.lower().removesuffix("s") for text in texts)
