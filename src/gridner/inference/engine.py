"""What a network computes, in two steps: a vector for each word, then scores of a grid over the candidate words."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gridner.inference.batches import plan_encoder_batches, plan_grid_batches
from gridner.inference.concurrency import map_in_order
from gridner.inference.word_pieces import EncodedSentence, PieceBatch, PieceTokenizer

ENCODER_BATCH_PIECES = 1024  # at most, padding included
FULL_BATCHES = 2  # of grids that wait for each other, so that grids of the same size share a batch


class WordVectors(NamedTuple):
    """Words of B sentences of at most n words."""

    words: NDArray[np.floating]  # H [B, n, width]
    excess: NDArray[np.floating]  # [B, n], above 0 where a word can be part of an entity


class GridBatch(NamedTuple):
    """The words of B sentences that their grids are over, at most m each."""

    words: NDArray[np.floating]  # H [B, m, width]
    positions: NDArray[np.int64]  # [B, m], places in the sentence
    lengths: NDArray[np.int64]  # [B], how many words there are


class Engine(Protocol):
    """A network, on torch or on ONNX Runtime."""

    @property
    def workers(self) -> int:
        """How many batches it can take at once, each on a thread of its own."""
        ...

    def encode(self, batch: PieceBatch) -> WordVectors:
        """Return the words of a batch as vectors; those past a sentence's length mean nothing."""
        ...

    def tag(self, grid: GridBatch) -> NDArray[np.floating]:
        """Return scores [B, m, m, labels]; those past a sentence's words mean nothing."""
        ...


@dataclass(frozen=True, slots=True)
class ScoredGrid:
    """The scores of a sentence's grid, over its candidate words only."""

    candidates: tuple[int, ...]  # positions in the sentence, ascending
    scores: NDArray[np.floating]  # [m, m, labels]


class CandidateWords(NamedTuple):
    """The candidate words of a sentence as vectors."""

    sentence: int  # its number
    vectors: NDArray[np.floating]  # [m, width]
    positions: NDArray[np.int64]  # in the sentence [m], ascending


def encode_sentences(
    engine: Engine,
    tokenizer: PieceTokenizer,
    sentences: Sequence[EncodedSentence],
    *,
    forced: Sequence[Collection[int]],
) -> Iterator[list[CandidateWords]]:
    """Yield the candidate words of sentences, batch by batch.

    `forced` has for each sentence the words that are candidates whatever the network says.
    """
    plan = plan_encoder_batches([sentence.piece_count for sentence in sentences], most=ENCODER_BATCH_PIECES)

    def encode(batch: Sequence[int]) -> WordVectors:
        return engine.encode(tokenizer.collate([sentences[number] for number in batch]))

    for batch, (vectors, excess) in zip(plan, map_in_order(encode, plan, workers=engine.workers), strict=True):
        batch_words = []
        for row, number in enumerate(batch):
            is_candidate = excess[row, : len(sentences[number].words)] > 0
            is_candidate[list(forced[number])] = True
            positions = np.flatnonzero(is_candidate)
            batch_words.append(CandidateWords(number, vectors[row, positions], positions))
        yield batch_words


def score_sentences(
    engine: Engine,
    tokenizer: PieceTokenizer,
    sentences: Sequence[EncodedSentence],
    *,
    forced: Sequence[Collection[int]],
    cells: int,
) -> Iterator[tuple[int, ScoredGrid]]:
    """Yield the number of each sentence and its grid, in batches of similar size, each of at most `cells` cells.

    `forced` is as for `encode_sentences`. A sentence without candidates has an empty grid, without a second step.
    """
    waiting: list[CandidateWords] = []
    for encoded in encode_sentences(engine, tokenizer, sentences, forced=forced):
        for words in encoded:
            if len(words.positions):
                waiting.append(words)
            else:
                yield words.sentence, ScoredGrid((), np.zeros((0, 0, 0), dtype=np.float32))
        if sum(len(words.positions) ** 2 for words in waiting) >= FULL_BATCHES * cells:
            yield from _score_grids(engine, waiting, cells)
            waiting = []
    yield from _score_grids(engine, waiting, cells)


def _score_grids(engine: Engine, sentences: Sequence[CandidateWords], cells: int) -> Iterator[tuple[int, ScoredGrid]]:
    """Yield the number of each sentence and its grid, in batches of at most `cells` cells."""
    sizes = [len(words.positions) for words in sentences]
    batches = [[sentences[number] for number in numbers] for numbers in plan_grid_batches(sizes, cells=cells)]

    def tag(batch: Sequence[CandidateWords]) -> NDArray[np.floating]:
        return engine.tag(_padded(batch))

    for batch, grids in zip(batches, map_in_order(tag, batches, workers=engine.workers), strict=True):
        for words, scores in zip(batch, grids, strict=True):
            size = len(words.positions)
            yield words.sentence, ScoredGrid(tuple(words.positions.tolist()), scores[:size, :size])


def _padded(batch: Sequence[CandidateWords]) -> GridBatch:
    """Return sentences as one batch, padded with zeros."""
    lengths = np.array([len(words.positions) for words in batch], dtype=np.int64)
    first = batch[0].vectors
    vectors = np.zeros((len(batch), int(lengths.max()), first.shape[1]), dtype=first.dtype)
    positions = np.zeros(vectors.shape[:2], dtype=np.int64)
    for row, words in enumerate(batch):
        vectors[row, : lengths[row]], positions[row, : lengths[row]] = words.vectors, words.positions
    return GridBatch(vectors, positions, lengths)
