"""Sentences → training examples, and the steps of an epoch: a function of the seed and the epoch alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from gridner.config import Config, DecodingConfig
from gridner.corpus.coordinations import Coordinations
from gridner.corpus.splits import Corpus
from gridner.distillation.sparse_grid import SparseGrid
from gridner.errors import Notes, UsageError
from gridner.inference.word_pieces import EncodedSentence, PieceTokenizer
from gridner.text.sentences import Mention, Sentence


@dataclass(frozen=True, slots=True)
class Example:
    """The words of a window as pieces, and the mentions that lie in it."""

    words: EncodedSentence
    mentions: tuple[Mention, ...]
    group: int = 0  # of types, those of its corpus: what it can teach
    answer: SparseGrid | None = None  # of teachers, about a sentence without gold mentions

    @property
    def cells(self) -> int:
        """The size of its grid."""
        return len(self.words.words) ** 2


def is_discontinuous(mention: Mention) -> bool:
    """Whether there is a gap between its words."""
    return mention.tail - mention.head + 1 > len(mention.words)


def gold_words(examples: Sequence[Example]) -> NDArray[np.bool_]:
    """Return which words [B, n] are part of a mention, or may be one, if teachers are asked."""
    words = np.zeros((len(examples), max(len(example.words.words) for example in examples)), dtype=np.bool_)
    for row, example in zip(words, examples, strict=True):
        if example.answer is not None:
            row[example.answer.tagged_words] = True
        else:
            row[[word for mention in example.mentions for word in mention.words]] = True
    return words


class CorpusExamples:
    """The examples of a corpus, and those of an epoch: as often as its weight says."""

    def __init__(self, corpus: Corpus, *, group: int, pieces: PieceTokenizer, config: Config, notes: Notes) -> None:
        self.pieces = pieces
        self.config = config
        self.group = group
        self.weight = corpus.weight
        sentences, of = corpus.train.sentences, f" {corpus.name}" if corpus.name else ""
        used = _thinned(sentences, config.train.empty_share)
        self.distinct = examples_of(used, pieces=pieces, settings=config.decoding, notes=notes, group=group)
        if not any(example.mentions for example in self.distinct):
            raise UsageError(f"no entity in the training corpus{of} can become a mention, expected at least one")
        repeated = config.train.discontinuous_times - 1
        self.examples = [
            *self.distinct,
            *[one for one in self.distinct if any(map(is_discontinuous, one.mentions))] * repeated,
        ]
        self.coordinations = Coordinations(sentences) if config.train.coordinations else None
        with_entities = sum(bool(sentence.mentions) for sentence in sentences)
        self.made = round(config.train.coordinations * with_entities) if self.coordinations else 0
        if self.coordinations is not None and not len(self.coordinations):
            notes.add("no coordinations could be made from flat mentions", f"train.coordinations{of}")
            self.made = 0

    @property
    def count(self) -> int:
        """How many an epoch has."""
        return max(1, round(self.weight * (len(self.examples) + self.made)))

    def draw(self, random: Random) -> list[Example]:
        """Return the examples of an epoch: all as often as the weight's whole part says, and some once more."""
        examples = list(self.examples)
        if self.coordinations is not None and self.made:
            made = self.coordinations.sample(self.made, random)
            settings = self.config.decoding
            more = examples_of(made, pieces=self.pieces, settings=settings, notes=Notes(), group=self.group)
            examples += more[: self.made]
        times, rest = divmod(self.count, len(examples))
        return examples * times + (random.sample(examples, rest) if rest else [])


class TrainingSet:
    """The examples of all corpora and the steps that each epoch makes of them. A corpus's number is its group's."""

    def __init__(self, corpora: Sequence[Corpus], *, pieces: PieceTokenizer, config: Config, notes: Notes) -> None:
        self.size = config.train.batch_size
        self.corpora = [
            CorpusExamples(corpus, group=number, pieces=pieces, config=config, notes=notes)
            for number, corpus in enumerate(corpora)
        ]

    @property
    def examples(self) -> list[Example]:
        """Those of all corpora, without coordinations."""
        return [example for corpus in self.corpora for example in corpus.examples]

    @property
    def distinct(self) -> list[Example]:
        """Each of these once."""
        return [example for corpus in self.corpora for example in corpus.distinct]

    @property
    def count(self) -> int:
        """The number of examples of an epoch."""
        return sum(corpus.count for corpus in self.corpora)

    @property
    def steps(self) -> int:
        """The number of steps of an epoch."""
        return -(-self.count // self.size)

    def epoch(self, seed: int, epoch: int) -> list[list[Example]]:
        """The steps of an epoch, drawn at random: were their sentences of one length, short ones would weigh more."""
        random = Random(f"{seed}/{epoch}")
        examples = [example for corpus in self.corpora for example in corpus.draw(random)]
        random.shuffle(examples)
        return [examples[place : place + self.size] for place in range(0, len(examples), self.size)]


def examples_of(
    sentences: Sequence[Sentence], *, pieces: PieceTokenizer, settings: DecodingConfig, notes: Notes, group: int = 0
) -> list[Example]:
    """Return the windows of sentences as examples of a group. Mentions that fit into no window are counted."""
    found: list[Example] = []
    texts = [[word.text for word in sentence.words] for sentence in sentences]
    encoded = pieces.encode(texts, notes=[notes] * len(sentences))
    for sentence, whole in zip(sentences, encoded, strict=True):
        seen: set[Mention] = set()
        for words in pieces.encoder_windows(whole, max_words=settings.max_words, overlap=settings.overlap):
            inside = [mention for mention in sentence.mentions if mention.head in words and mention.tail in words]
            seen.update(inside)
            moved = (Mention(mention.type, tuple(word - words.start for word in mention.words)) for mention in inside)
            found.append(Example(whole.window(words), tuple(moved), group))
        for mention in sentence.mentions:
            if mention not in seen:
                place = f"{sentence.document_id}: {mention.type} of {mention.tail - mention.head + 1} words"
                notes.add("mention longer than what two windows share, left out of training", place)
    return found


def _thinned(sentences: Iterable[Sentence], share: float) -> list[Sentence]:
    """All sentences with mentions, and so many of the others, evenly: with 0.2 every fifth."""
    kept = []
    empty = 0
    for sentence in sentences:
        if not sentence.mentions:
            empty += 1
            if int(empty * share + 1e-9) == int((empty - 1) * share + 1e-9):
                continue
        kept.append(sentence)
    return kept
