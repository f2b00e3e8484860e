"""The whole network: encoder, then rounds of convolution and TREM, then the co-predictor."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from gridner.model.convolution import Convolution
from gridner.model.copredictor import CoPredictor
from gridner.model.encoder import Encoder
from gridner.model.trem import Trem, Words


class Batch(NamedTuple):
    """B sentences of at most n words and p pieces."""

    pieces: Tensor  # [B, p], numbers of the vocabulary
    piece_mask: Tensor  # [B, p], true where there is a piece
    word_pieces: Tensor  # [B, n, m], places of each word's pieces
    lengths: Tensor  # [B], in words


class Toe(nn.Module):
    """TOE. Without `trem` the grid goes straight to the predictor, in one round."""

    def __init__(
        self,
        *,
        encoder: Encoder,
        convolution: Convolution,
        trem: Trem | None,
        predictor: CoPredictor,
        width: int,
        rounds: int,
        project: bool = True,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.to_subjects = nn.Linear(width, width) if project else None
        self.to_objects = nn.Linear(width, width) if project else None
        self.convolution = convolution
        self.trem = trem
        self.predictor = predictor
        self.rounds = rounds

    def forward(self, batch: Batch) -> Tensor:
        """Scores [B, n, n, labels]; those of cells past a sentence's length mean nothing."""
        return self.tag(self.encoder(*batch), batch.lengths)

    def tag(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Scores from word vectors [B, n, width]."""
        mask = torch.arange(words.shape[1], device=words.device) < lengths.unsqueeze(1)  # [B, n]
        grid_mask = mask.unsqueeze(1) & mask.unsqueeze(2)
        first = Words(
            words if self.to_subjects is None else self.to_subjects(words),  # Eq. 2
            words if self.to_objects is None else self.to_objects(words),
        )
        grid = self.convolution(first.subjects, first.objects, grid_mask)
        if self.trem is not None:
            grid = self.trem(grid)
            for _ in range(self.rounds - 1):
                roles = self.trem.feedback(grid, first, mask)
                grid = self.trem(self.convolution(roles.subjects, roles.objects, grid_mask))
        scores: Tensor = self.predictor(grid, first.subjects, first.objects)
        return scores
