"""What a network does in two steps: words of sentences as vectors, then scores of a grid over the words that matter."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gridner.inference.batches import (
    EncodedSentence,
    PieceBatch,
    PieceTokenizer,
    plan_encoder_batches,
    plan_grid_batches,
)

ENCODER_BATCH_PIECES = 1024  # pieces of a batch for the encoder


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

    def read(self, batch: PieceBatch) -> WordVectors:
        """Return the words of a batch as vectors; those past a sentence's length mean nothing."""
        ...

    def tag(self, grid: GridBatch) -> NDArray[np.floating]:
        """Return scores [B, m, m, labels]; those past a sentence's words mean nothing."""
        ...


@dataclass(frozen=True, slots=True)
class ScoredGrid:
    """The scores of a sentence's grid, over its candidate words only."""

    candidates: tuple[int, ...]  # places in the sentence, ascending
    scores: NDArray[np.floating]  # [m, m, labels]


class CandidateWords(NamedTuple):
    """The candidate words of a sentence as vectors."""

    sentence: int  # its number
    words: NDArray[np.floating]  # [m, width]
    places: NDArray[np.int64]  # in the sentence [m], ascending


def encode_sentences(
    engine: Engine, pieces: PieceTokenizer, sentences: Sequence[EncodedSentence], *, always: Sequence[Collection[int]]
) -> Iterator[list[CandidateWords]]:
    """Yield the candidate words of sentences, a batch at a time.

    `always` has for each sentence the words that are candidates whatever the network says.
    """
    for batch in plan_encoder_batches([sentence.pieces for sentence in sentences], most=ENCODER_BATCH_PIECES):
        vectors, excess = engine.read(pieces.collate([sentences[number] for number in batch]))
        found = []
        for row, number in enumerate(batch):
            candidates = excess[row, : len(sentences[number].words)] > 0
            candidates[list(always[number])] = True
            places = np.flatnonzero(candidates)
            found.append(CandidateWords(number, vectors[row, places], places))
        yield found


def score_sentences(
    engine: Engine,
    pieces: PieceTokenizer,
    sentences: Sequence[EncodedSentence],
    *,
    always: Sequence[Collection[int]],
    cells: int,
) -> Iterator[tuple[int, ScoredGrid]]:
    """Yield the number of each sentence and its grid, in batches of similar size, each of at most `cells` cells.

    `always` is as for `encode_sentences`. A sentence without candidates has an empty grid, and no second step.
    """
    for batch in encode_sentences(engine, pieces, sentences, always=always):
        filled = [one for one in batch if len(one.places)]
        for one in batch:
            if not len(one.places):
                yield one.sentence, ScoredGrid((), np.zeros((0, 0, 0), dtype=np.float32))
        for group in plan_grid_batches([len(one.places) for one in filled], cells=cells):
            some = [filled[place] for place in group]
            scores = engine.tag(_stacked(some))
            for row, one in enumerate(some):
                size = len(one.places)
                yield one.sentence, ScoredGrid(tuple(one.places.tolist()), scores[row, :size, :size])


def _stacked(sentences: Sequence[CandidateWords]) -> GridBatch:
    """Return one batch, padded with zeros."""
    lengths = np.array([len(one.places) for one in sentences], dtype=np.int64)
    first = sentences[0].words
    vectors = np.zeros((len(sentences), int(lengths.max()), first.shape[1]), dtype=first.dtype)
    positions = np.zeros(vectors.shape[:2], dtype=np.int64)
    for row, one in enumerate(sentences):
        vectors[row, : len(one.places)], positions[row, : len(one.places)] = one.words, one.places
    return GridBatch(vectors, positions, lengths)
