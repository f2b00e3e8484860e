"""From examples to the loss: batches, gold grids, and the loss of every grid and of the candidate words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gridner.config import Config
from gridner.inference.batches import plan_encoder_batches
from gridner.inference.word_pieces import PieceTokenizer
from gridner.model.loss import cell_loss, one_label_loss, word_loss
from gridner.model.toe import Batch, Output, Scored
from gridner.tagging.tags import TagScheme
from gridner.text.sentences import renumber
from gridner.training.data import Example, gold_words

FEWER_CELLS = 4  # times, about, with candidates
MOST_PIECES = 4096  # of a batch for the encoder, padding included


@dataclass(frozen=True, slots=True)
class Objective:
    """What a network is trained for."""

    config: Config
    scheme: TagScheme
    pieces: PieceTokenizer

    def __call__(self, model: nn.Module, examples: Sequence[Example], device: torch.device) -> Tensor:
        """Return the sum of the loss over the real cells; a word's own loss, of the candidate head, is like a cell's.

        Cells of words that are no candidates have no loss, nor have labels of groups that an example is not of.
        """
        plan = plan_encoder_batches([example.words.piece_count for example in examples], most=MOST_PIECES)
        ordered = [[examples[place] for place in places] for places in plan]
        batches = [self._batch(some, device) for some in ordered]
        golds = [torch.from_numpy(gold_words(some)).to(device) for some in ordered]
        settings = self.config.train
        output: Output = model(batches, golds, cells=settings.cells, every_round=settings.every_round)
        flat = [example for some in ordered for example in some]
        loss = one_label_loss if self.config.model.architecture == "w2ner" else cell_loss
        total = torch.zeros((), device=device)
        known = self.scheme.group_labels if len(self.scheme.groups) > 1 else None
        for grid in output.grids:
            some = [flat[number] for number in grid.sentences]
            gold = torch.from_numpy(self._gold(some, grid)).to(device)
            own = None if known is None else torch.from_numpy(known[[one.group for one in some]]).to(device)
            total = total + torch.stack([loss(scores.float(), gold, grid.counts, own) for scores in grid.scores]).mean()
        if self.config.model.candidates:
            for some, batch, words, log_odds in zip(ordered, batches, golds, output.log_odds, strict=True):
                groups = torch.tensor([one.group for one in some], device=device)
                own_odds = log_odds[torch.arange(len(some), device=device), :, groups]  # [B, n]
                total = total + word_loss(own_odds.float(), words, batch.lengths)
        return total

    def parts(self, examples: Sequence[Example]) -> list[list[Example]]:
        """Split a step so that the memory holds it: the grids of a part have at most `train.cells` cells."""
        cells = self.config.train.cells * (FEWER_CELLS if self.config.model.candidates else 1)
        parts: list[list[Example]] = [[]]
        for example in sorted(examples, key=lambda example: example.cells):
            if parts[-1] and (len(parts[-1]) + 1) * example.cells > cells:
                parts.append([])
            parts[-1].append(example)
        return parts

    def _batch(self, examples: Sequence[Example], device: torch.device) -> Batch:
        arrays = self.pieces.collate([example.words for example in examples])
        return Batch(*(torch.from_numpy(array).to(device) for array in arrays))

    def _gold(self, examples: Sequence[Example], grid: Scored) -> NDArray[np.bool_]:
        """Return the gold tags of the words that the network has built its grids over."""
        size = grid.positions.shape[1]
        gold = np.zeros((len(examples), size, size, len(self.scheme.labels)), dtype=np.bool_)
        positions, counts = grid.positions.tolist(), grid.counts.tolist()
        for row, example in enumerate(examples):
            place = {word: number for number, word in enumerate(positions[row][: counts[row]])}
            mentions = [renumber(mention, place) for mention in example.mentions]
            gold[row, : counts[row], : counts[row]] = self.scheme.encode(mentions, counts[row])
        return gold
