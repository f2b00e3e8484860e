"""From examples to the loss: batches, gold grids, the losses of grids and of candidate words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gridner.config import Config
from gridner.inference.batches import plan_encoder_batches
from gridner.inference.word_pieces import PieceTokenizer
from gridner.model.loss import cell_loss, one_label_loss, soft_cell_loss, soft_one_label_loss, word_loss
from gridner.model.toe import Batch, ScoredGrids, TrainingOutput
from gridner.tagging.tags import TagScheme
from gridner.text.alignment import renumber
from gridner.training.examples import Example, gold_words

FEWER_CELLS = 4  # about how many times fewer cells a grid has with candidates
MOST_PIECES = 4096  # of a batch for the encoder, padding included

Loss = Callable[[ScoredGrids, Sequence[Example], torch.device], Tensor]


@dataclass(frozen=True, slots=True)
class Objective:
    """The loss that training minimizes."""

    config: Config
    scheme: TagScheme
    pieces: PieceTokenizer

    def __call__(self, model: nn.Module, examples: Sequence[Example], device: torch.device) -> Tensor:
        """Return the loss summed over the real cells, plus the loss of the candidate head summed over the words.

        Examples with teachers' answers have the soft loss, times `distill.weight`. Cells of words that are no
        candidates have no loss, and neither have labels of other groups than the example's.
        """
        plan = plan_encoder_batches([example.words.piece_count for example in examples], most=MOST_PIECES)
        grouped = [[examples[index] for index in indices] for indices in plan]
        batches = [self._batch(group, device) for group in grouped]
        golds = [torch.from_numpy(gold_words(group)).to(device) for group in grouped]
        settings = self.config.train
        output: TrainingOutput = model(batches, golds, cells=settings.cells, every_round=settings.every_round)
        in_order = [example for group in grouped for example in group]
        total = torch.zeros((), device=device)
        for grid in output.grids:
            own = [in_order[index] for index in grid.sentences]
            for rows, loss in self._by_kind(own):
                total = total + loss(_select(grid, rows), [own[row] for row in rows], device)
        if self.config.model.candidates:
            for group, batch, gold, log_odds in zip(grouped, batches, golds, output.log_odds, strict=True):
                total = total + self._word_loss(group, batch, gold, log_odds)
        return total

    def weighted_cells(self, examples: Sequence[Example]) -> float:
        """Return the divisor of the loss: the number of cells, where those of unlabelled sentences have their weight.

        The loss of a step is (Σ gold losses + weight · Σ unlabelled losses) / (gold cells + weight · unlabelled cells).
        """
        return sum(
            example.cells * (1 if example.answer is None else self.config.distill.weight) for example in examples
        )

    def _by_kind(self, examples: Sequence[Example]) -> Iterator[tuple[list[int], Loss]]:
        """Yield the rows of the examples with gold mentions, then of those with teachers' answers, and their loss."""
        for with_answer, loss in ((False, self._gold_loss), (True, self._soft_loss)):
            rows = [row for row, example in enumerate(examples) if (example.answer is not None) == with_answer]
            if rows:
                yield rows, loss

    def _gold_loss(self, grid: ScoredGrids, examples: Sequence[Example], device: torch.device) -> Tensor:
        loss = one_label_loss if self._one_label else cell_loss
        gold = torch.from_numpy(self._gold(examples, grid)).to(device)
        known = None
        if len(self.scheme.groups) > 1:
            known = torch.from_numpy(self.scheme.group_labels[[example.group for example in examples]]).to(device)
        return torch.stack([loss(scores.float(), gold, grid.counts, known) for scores in grid.scores]).mean()

    def _soft_loss(self, grid: ScoredGrids, examples: Sequence[Example], device: torch.device) -> Tensor:
        settings = self.config.distill
        log_odds = torch.from_numpy(self._log_odds(examples, grid)).to(device)
        loss = partial(soft_cell_loss, temperature=settings.temperature)
        if self._one_label:
            known = torch.from_numpy(self.scheme.group_labels).to(device)
            loss = partial(soft_one_label_loss, temperature=settings.temperature, known=known)
        rounds = [loss(scores.float(), log_odds, grid.counts) for scores in grid.scores]
        return settings.weight * torch.stack(rounds).mean()

    def _word_loss(self, examples: Sequence[Example], batch: Batch, gold: Tensor, log_odds: Tensor) -> Tensor:
        """Return the loss of the candidate head: of each example's own group; with teachers' answers, of all groups.

        `gold` is [B, n], `log_odds` [B, n, groups].
        """
        total = log_odds.new_zeros(())
        for rows, _ in self._by_kind(examples):
            odds, lengths = log_odds[rows].float(), batch.lengths[rows]
            if examples[rows[0]].answer is None:
                groups = torch.tensor([examples[row].group for row in rows], device=odds.device)
                own = odds[torch.arange(len(rows), device=odds.device), :, groups]  # [B, n]
                total = total + word_loss(own, gold[rows], lengths)
                continue
            targets = np.zeros(odds.shape, dtype=np.float32)
            for row, target in zip(rows, targets, strict=True):
                answer = examples[row].answer
                if answer is not None:
                    target[: answer.words] = answer.word_probabilities(self.scheme.group_labels)
            for group, target in enumerate(torch.from_numpy(targets).to(odds.device).unbind(dim=-1)):
                total = total + self.config.distill.weight * word_loss(odds[..., group], target, lengths)
        return total

    @property
    def _one_label(self) -> bool:
        return self.config.model.architecture == "w2ner"

    def parts(self, examples: Sequence[Example]) -> list[list[Example]]:
        """Return the examples of a step in parts that fit into memory: their grids have at most `train.cells` cells."""
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

    def _gold(self, examples: Sequence[Example], grid: ScoredGrids) -> NDArray[np.bool_]:
        """Return the gold tags [B, m, m, labels] of grids over m candidate words."""
        size = grid.positions.shape[1]
        gold = np.zeros((len(examples), size, size, len(self.scheme.labels)), dtype=np.bool_)
        positions, counts = grid.positions.tolist(), grid.counts.tolist()
        for row, example in enumerate(examples):
            index_of = {word: index for index, word in enumerate(positions[row][: counts[row]])}
            mentions = [renumber(mention, index_of) for mention in example.mentions]
            gold[row, : counts[row], : counts[row]] = self.scheme.encode(mentions, counts[row])
        return gold

    def _log_odds(self, examples: Sequence[Example], grid: ScoredGrids) -> NDArray[np.float32]:
        """Return the log-odds [B, m, m, labels] of the teachers' probabilities; −∞ where the answers have none."""
        size = grid.positions.shape[1]
        log_odds = np.full((len(examples), size, size, len(self.scheme.labels)), -np.inf, dtype=np.float32)
        positions, counts = grid.positions.cpu().numpy(), grid.counts.tolist()
        for row, example in enumerate(examples):
            answer = example.answer
            if answer is None:
                continue
            index_of = np.full(answer.words, -1)  # −1 for words that are no candidates
            index_of[positions[row][: counts[row]]] = np.arange(counts[row])
            subjects, objects, labels = index_of[answer.cells[:, 0]], index_of[answer.cells[:, 1]], answer.cells[:, 2]
            in_grid = (subjects >= 0) & (objects >= 0)
            odds = np.log(answer.probabilities / (1 - answer.probabilities))
            log_odds[row, subjects[in_grid], objects[in_grid], labels[in_grid]] = odds[in_grid]
        return log_odds


def _select(grid: ScoredGrids, rows: Sequence[int]) -> ScoredGrids:
    """Return the grids in these rows of the batch."""
    if len(rows) == len(grid.sentences):
        return grid
    sentences = [grid.sentences[row] for row in rows]
    return ScoredGrids(sentences, grid.scores[:, rows], grid.positions[rows], grid.counts[rows])
