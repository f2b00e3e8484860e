"""What a network does in two steps: words of sentences as vectors, then scores of a grid over the words that matter."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gridner.inference.batches import Arrays, Encoded, Pieces, plan_reading, plan_tagging

READ_AT_ONCE = 1024  # pieces of a batch for the encoder


class WordVectors(NamedTuple):
    """Words of B sentences of at most n words."""

    words: NDArray[np.floating]  # H [B, n, width]
    excess: NDArray[np.floating]  # [B, n], above 0 where a word can be part of an entity


class GridArrays(NamedTuple):
    """The words of B sentences that their grids are over, at most m each."""

    words: NDArray[np.floating]  # H [B, m, width]
    positions: NDArray[np.int64]  # [B, m], places in the sentence
    lengths: NDArray[np.int64]  # [B], how many words there are


class Engine(Protocol):
    """A network, on torch or on ONNX Runtime."""

    def read(self, batch: Arrays) -> WordVectors:
        """Return the words of a batch as vectors; those past a sentence's length mean nothing."""
        ...

    def tag(self, grid: GridArrays) -> NDArray[np.floating]:
        """Return scores [B, m, m, labels]; those past a sentence's words mean nothing."""
        ...


@dataclass(frozen=True, slots=True)
class ScoredGrid:
    """The scores of a sentence's grid, over its candidate words only."""

    candidates: tuple[int, ...]  # places in the sentence, ascending
    scores: NDArray[np.floating]  # [m, m, labels]


def score_sentences(
    engine: Engine, pieces: Pieces, sentences: Sequence[Encoded], *, always: Sequence[Collection[int]], cells: int
) -> Iterator[tuple[int, ScoredGrid]]:
    """Yield the number of each sentence and its grid, in batches of similar size, each of at most `cells` cells.

    `always` has for each sentence the words that are candidates whatever the network says. A sentence without
    candidates has an empty grid, and no second step.
    """
    words: dict[int, NDArray[np.floating]] = {}
    places: dict[int, NDArray[np.int64]] = {}
    for batch in plan_reading([sentence.pieces for sentence in sentences], most=READ_AT_ONCE):
        vectors, excess = engine.read(pieces.collate([sentences[number] for number in batch]))
        for row, number in enumerate(batch):
            candidates = excess[row, : len(sentences[number].words)] > 0
            candidates[list(always[number])] = True
            places[number] = np.flatnonzero(candidates)
            words[number] = vectors[row, places[number]]
    filled = [number for number in range(len(sentences)) if len(places[number])]
    for number in set(range(len(sentences))).difference(filled):
        yield number, ScoredGrid((), np.zeros((0, 0, 0), dtype=np.float32))
    for batch in plan_tagging([len(places[number]) for number in filled], cells=cells):
        numbers = [filled[place] for place in batch]
        scores = engine.tag(_stacked([words[number] for number in numbers], [places[number] for number in numbers]))
        for row, number in enumerate(numbers):
            size = len(places[number])
            yield number, ScoredGrid(tuple(places[number].tolist()), scores[row, :size, :size])


def _stacked(words: Sequence[NDArray[np.floating]], places: Sequence[NDArray[np.int64]]) -> GridArrays:
    """Return one batch, padded with zeros."""
    lengths = np.array([len(some) for some in words], dtype=np.int64)
    vectors = np.zeros((len(words), int(lengths.max()), words[0].shape[1]), dtype=words[0].dtype)
    positions = np.zeros(vectors.shape[:2], dtype=np.int64)
    for row, (some, where) in enumerate(zip(words, places, strict=True)):
        vectors[row, : len(some)], positions[row, : len(some)] = some, where
    return GridArrays(vectors, positions, lengths)
