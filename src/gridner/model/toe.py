"""The whole network: encoder, candidate words, rounds of convolution and TREM, then the co-predictor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from gridner.inference.batches import plan_grid_batches
from gridner.model.candidates import CandidateHead, Candidates, choose_for_training, each_sentence, group
from gridner.model.convolution import Convolution
from gridner.model.copredictor import CoPredictor
from gridner.model.encoder import Encoder
from gridner.model.trem import Trem, Words

TRAIN_COST = 1500  # cells that cost as much as a call of the grid's network and its gradients


class Batch(NamedTuple):
    """B sentences of at most n words and p pieces."""

    pieces: Tensor  # [B, p], numbers of the vocabulary
    piece_mask: Tensor  # [B, p], true where there is a piece
    word_pieces: Tensor  # [B, n, m], places of each word's pieces
    lengths: Tensor  # [B], in words


class Scored(NamedTuple):
    """The grids of B sentences, over m of their words, as training compares them with gold."""

    sentences: list[int]  # which ones these are
    scores: Tensor  # [rounds that are scored, B, m, m, labels]; those of cells past `counts` mean nothing
    positions: Tensor  # of the words that the grid is over [B, m]
    counts: Tensor  # how many they are [B]


class Output(NamedTuple):
    """What the network says of sentences in training."""

    grids: list[Scored]
    log_odds: list[Tensor]  # for each batch, that a word is part of an entity [B, n, groups]; none without candidates


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
    ) -> Output:
        """Score grids for training, all sentences of all batches together.

        `gold_words` [B, n] say which words are part of an entity. A grid has at most `cells` cells, padding included.
        """
        log_odds: list[Tensor] = []
        sentences: list[Candidates] = []
        for batch, gold in zip(batches, gold_words, strict=True):
            words = self.encoder(*batch)
            chosen = real_words(words, batch.lengths)
            if self.candidates is not None:
                log_odds.append(self.candidates(words))
                chosen = choose_for_training(self.candidates.excess(log_odds[-1]), gold, chosen)
            sentences += each_sentence(words, chosen)
        grids = []
        for numbers in plan_grid_batches([len(one.words) for one in sentences], cells=cells, batch_cost=TRAIN_COST):
            some = group([sentences[number] for number in numbers])
            scores = self.tag(*some, every_round=every_round)
            grids.append(Scored(numbers, scores, some.positions, some.counts))
        return Output(grids, log_odds)

    def read(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the words H [B, n, width], and how far each exceeds what makes it a candidate [B, n]."""
        words = self.encoder(*batch)
        if self.candidates is None:
            return words, torch.ones_like(words[..., 0])
        return words, self.candidates.excess(self.candidates(words))

    def tag(self, words: Tensor, positions: Tensor, lengths: Tensor, *, every_round: bool = False) -> Tensor:
        """Return scores [rounds, B, n, n, labels] of the last round, or of every round.

        Words are [B, n, width], positions [B, n] say where in the sentence they stand, lengths [B] how many are real.
        """
        mask = real_words(words, lengths)
        first = Words(
            words if self.to_subjects is None else self.to_subjects(words),  # Eq. 2
            words if self.to_objects is None else self.to_objects(words),
        )
        grids = [grid for _, grid in self.each_round(first, positions, mask)]
        by_words = self.predictor.by_words(first.subjects, first.objects)
        scored = grids if every_round else grids[-1:]
        return torch.stack([self.predictor.by_grid(grid) + by_words for grid in scored])

    def each_round(self, first: Words, positions: Tensor, mask: Tensor) -> Iterator[tuple[Words, Tensor]]:
        """Yield the words that enter each round and the grid that it gives."""
        grid_mask = mask.unsqueeze(1) & mask.unsqueeze(2)
        words, grid = first, self.convolution(first.subjects, first.objects, positions, grid_mask)
        if self.trem is None:
            yield words, grid
            return
        tags = self.trem(grid)
        yield words, tags
        for _ in range(self.rounds - 1):
            words = self.trem.feedback(tags, words, first, mask)
            tags = self.trem(self.convolution(words.subjects, words.objects, positions, grid_mask))
            yield words, tags


def real_words(words: Tensor, lengths: Tensor) -> Tensor:
    """Return the mask [B, n] of the words [B, n, width] that are not padding."""
    return torch.arange(words.shape[1], device=words.device) < lengths.unsqueeze(1)
