"""The whole network, in the order of the data: encoder, candidates, rounds of convolution and TREM, co-predictor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from gridner.inference.batches import plan_grid_batches
from gridner.model.candidates import (
    CandidateHead,
    Candidates,
    candidates_by_sentence,
    choose_for_training,
    pad_candidates,
)
from gridner.model.convolution import Convolution
from gridner.model.copredictor import CoPredictor
from gridner.model.encoder import Encoder
from gridner.model.masks import make_grid_mask, make_word_mask
from gridner.model.trem import Trem, Words

BATCH_COST = 1500  # cost of one more batch of grids, forward and backward, in cells


class Batch(NamedTuple):
    """B sentences of at most n words and p pieces."""

    pieces: Tensor  # [B, p], indices into the vocabulary
    piece_mask: Tensor  # [B, p], true for pieces, false for padding
    word_pieces: Tensor  # [B, n, m], positions of each word's pieces
    lengths: Tensor  # [B], in words


class ScoredGrids(NamedTuple):
    """The grids of B sentences over at most m candidate words each, to be compared with gold."""

    sentences: list[int]  # indices of the B sentences among those of all batches
    scores: Tensor  # [scored rounds, B, m, m, labels]; undefined for words past `counts`
    positions: Tensor  # [B, m], positions of the candidates in their sentences
    counts: Tensor  # [B], numbers of candidates


class TrainingOutput(NamedTuple):
    """Scores of all sentences of a training step."""

    grids: list[ScoredGrids]
    log_odds: list[Tensor]  # per batch [B, n, groups], that a word is part of an entity; empty without candidates


class Toe(nn.Module):
    """TOE. Without `trem` the grid goes straight to the predictor, in one round."""

    def __init__(
        self,
        *,
        encoder: Encoder,
        candidates: CandidateHead | None,
        convolution: Convolution,
        trem: Trem | None,
        predictor: CoPredictor,
        width: int,
        rounds: int,
        project: bool = True,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.candidates = candidates
        self.to_subjects = nn.Linear(width, width) if project else None
        self.to_objects = nn.Linear(width, width) if project else None
        self.convolution = convolution
        self.trem = trem
        self.predictor = predictor
        self.rounds = rounds if trem is not None else 1

    def forward(
        self, batches: Sequence[Batch], gold_words: Sequence[Tensor], *, cells: int, every_round: bool = False
    ) -> TrainingOutput:
        """Return the scores of all sentences of all batches, for training.

        `gold_words` has a tensor [B, n] per batch that is true for words inside entities. The grids of a batch have at
        most `cells` cells, padding included. `every_round` scores all rounds instead of the last.
        """
        log_odds: list[Tensor] = []
        sentences: list[Candidates] = []
        for batch, gold in zip(batches, gold_words, strict=True):
            words = self.encoder(*batch)
            chosen = make_word_mask(words, batch.lengths)
            if self.candidates is not None:
                log_odds.append(self.candidates(words))
                chosen = choose_for_training(self.candidates.excess(log_odds[-1]), gold, chosen)
            sentences += candidates_by_sentence(words, chosen)
        grids = []
        sizes = [len(sentence.words) for sentence in sentences]
        for indices in plan_grid_batches(sizes, cells=cells, batch_cost=BATCH_COST):
            padded = pad_candidates([sentences[index] for index in indices])
            scores = self.tag(*padded, every_round=every_round)
            grids.append(ScoredGrids(indices, scores, padded.positions, padded.counts))
        return TrainingOutput(grids, log_odds)

    def read(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the words H [B, n, width] and their excess [B, n], which is positive for candidates."""
        words = self.encoder(*batch)
        if self.candidates is None:
            return words, torch.ones_like(words[..., 0])
        return words, self.candidates.excess(self.candidates(words))

    def tag(self, words: Tensor, positions: Tensor, lengths: Tensor, *, every_round: bool = False) -> Tensor:
        """Return scores [scored rounds, B, n, n, labels]: of the last round, or of every round.

        `words` is [B, n, width], `positions` [B, n] their positions in the sentence, `lengths` [B] how many are real.
        """
        word_mask = make_word_mask(words, lengths)
        first = Words(
            words if self.to_subjects is None else self.to_subjects(words),  # Eq. 2
            words if self.to_objects is None else self.to_objects(words),
        )
        grids = [grid for _, grid in self.each_round(first, positions, word_mask)]
        by_words = self.predictor.by_words(first.subjects, first.objects)
        scored = grids if every_round else grids[-1:]
        return torch.stack([self.predictor.by_grid(grid) + by_words for grid in scored])

    def each_round(self, first: Words, positions: Tensor, word_mask: Tensor) -> Iterator[tuple[Words, Tensor]]:
        """Yield the words that enter each round and the grid [B, n, n, width] that it computes.

        `first` are the words of Eq. 2, `word_mask` [B, n] is true for real words. The grid is TF of TREM; without TREM
        it is Q of the convolution.
        """
        grid_mask = make_grid_mask(word_mask)
        words, grid = first, self.convolution(first.subjects, first.objects, positions, grid_mask)
        if self.trem is None:
            yield words, grid
            return
        tags = self.trem(grid)
        yield words, tags
        for _ in range(self.rounds - 1):
            words = self.trem.feedback(tags, words, first, word_mask)
            tags = self.trem(self.convolution(words.subjects, words.objects, positions, grid_mask))
            yield words, tags
