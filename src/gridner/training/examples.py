"""Turn sentences into training examples, and examples into the steps of an epoch.

The steps depend only on the seed and the epoch.
"""

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
from gridner.text.alignment import Mention, Sentence


@dataclass(frozen=True, slots=True)
class Example:
    """A window of a sentence: its words as pieces, and the mentions inside it."""

    words: EncodedSentence
    mentions: tuple[Mention, ...]
    group: int = 0  # index of the group of types that its corpus annotates
    answer: SparseGrid | None = None  # tag probabilities of teachers, instead of gold mentions

    @property
    def cells(self) -> int:
        """The number of cells of its grid."""
        return len(self.words.words) ** 2


def is_discontinuous(mention: Mention) -> bool:
    """Return whether the mention has a gap between its words."""
    return mention.tail - mention.head + 1 > len(mention.words)


def gold_words(examples: Sequence[Example]) -> NDArray[np.bool_]:
    """Return a mask [B, n] of the words that are part of a mention or, by teachers' answers, may be."""
    words = np.zeros((len(examples), max(len(example.words.words) for example in examples)), dtype=np.bool_)
    for row, example in zip(words, examples, strict=True):
        if example.answer is not None:
            row[example.answer.tagged_words] = True
        else:
            row[[word for mention in example.mentions for word in mention.words]] = True
    return words


class CorpusExamples:
    """The examples of a corpus. Its weight says how often an epoch uses them."""

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
        repetitions = config.train.discontinuous_times - 1
        self.examples = [
            *self.distinct,
            *[example for example in self.distinct if any(map(is_discontinuous, example.mentions))] * repetitions,
        ]
        self.coordinations = Coordinations(sentences) if config.train.coordinations else None
        with_entities = sum(bool(sentence.mentions) for sentence in sentences)
        self.generated = round(config.train.coordinations * with_entities) if self.coordinations else 0
        if self.coordinations is not None and not len(self.coordinations):
            notes.add("no coordinations could be made from flat mentions", f"train.coordinations{of}")
            self.generated = 0

    @property
    def count(self) -> int:
        """The number of examples per epoch."""
        return max(1, round(self.weight * (len(self.examples) + self.generated)))

    def draw(self, random: Random) -> list[Example]:
        """Return the examples of an epoch. With weight 2.5, each comes twice, and a random half once more."""
        examples = list(self.examples)
        if self.coordinations is not None and self.generated:
            sentences = self.coordinations.sample(self.generated, random)
            settings = self.config.decoding
            generated = examples_of(sentences, pieces=self.pieces, settings=settings, notes=Notes(), group=self.group)
            examples += generated[: self.generated]
        times, remainder = divmod(self.count, len(examples))
        return examples * times + (random.sample(examples, remainder) if remainder else [])


class TrainingSet:
    """The examples of all corpora, and the steps of each epoch. The i-th corpus has the i-th group of types."""

    def __init__(self, corpora: Sequence[Corpus], *, pieces: PieceTokenizer, config: Config, notes: Notes) -> None:
        self.size = config.train.batch_size
        self.corpora = [
            CorpusExamples(corpus, group=number, pieces=pieces, config=config, notes=notes)
            for number, corpus in enumerate(corpora)
        ]

    @property
    def examples(self) -> list[Example]:
        """The examples of all corpora, without generated coordinations."""
        return [example for corpus in self.corpora for example in corpus.examples]

    @property
    def distinct(self) -> list[Example]:
        """The examples of all corpora, each once."""
        return [example for corpus in self.corpora for example in corpus.distinct]

    @property
    def count(self) -> int:
        """The number of examples per epoch."""
        return sum(corpus.count for corpus in self.corpora)

    @property
    def steps(self) -> int:
        """The number of steps per epoch."""
        return -(-self.count // self.size)

    def epoch(self, seed: int, epoch: int) -> list[list[Example]]:
        """Return the examples of each step of an epoch, in random order.

        Steps of similar lengths would be faster, but short sentences would weigh more.
        """
        random = Random(f"{seed}/{epoch}")
        examples = [example for corpus in self.corpora for example in corpus.draw(random)]
        random.shuffle(examples)
        return [examples[start : start + self.size] for start in range(0, len(examples), self.size)]


def examples_of(
    sentences: Sequence[Sentence], *, pieces: PieceTokenizer, settings: DecodingConfig, notes: Notes, group: int = 0
) -> list[Example]:
    """Return the windows of sentences as examples. Count mentions that fit into no window in `notes`."""
    examples: list[Example] = []
    texts = [[word.text for word in sentence.words] for sentence in sentences]
    encoded = pieces.encode(texts, notes=[notes] * len(sentences))
    for sentence, whole in zip(sentences, encoded, strict=True):
        seen: set[Mention] = set()
        for words in pieces.encoder_windows(whole, max_words=settings.max_words, overlap=settings.overlap):
            inside = [mention for mention in sentence.mentions if mention.head in words and mention.tail in words]
            seen.update(inside)
            moved = (Mention(mention.type, tuple(word - words.start for word in mention.words)) for mention in inside)
            examples.append(Example(whole.window(words), tuple(moved), group))
        for mention in sentence.mentions:
            if mention not in seen:
                place = f"{sentence.document_id}: {mention.type} of {mention.tail - mention.head + 1} words"
                notes.add("mention longer than what two windows share, left out of training", place)
    return examples


def _thinned(sentences: Iterable[Sentence], share: float) -> list[Sentence]:
    """Return all sentences with mentions, and a share of the others, evenly spaced: with 0.2 every fifth."""
    chosen = []
    empty = 0
    for sentence in sentences:
        if not sentence.mentions:
            empty += 1
            if int(empty * share + 1e-9) == int((empty - 1) * share + 1e-9):
                continue
        chosen.append(sentence)
    return chosen
