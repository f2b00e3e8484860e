"""From examples to the loss: batches, gold grids, and the loss of every grid and of the candidate words."""

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
from gridner.text.sentences import renumber
from gridner.training.data import Example, gold_words

FEWER_CELLS = 4  # times, about, with candidates
MOST_PIECES = 4096  # of a batch for the encoder, padding included

Loss = Callable[[ScoredGrids, Sequence[Example], torch.device], Tensor]


@dataclass(frozen=True, slots=True)
class Objective:
    """What a network is trained for."""

    config: Config
    scheme: TagScheme
    pieces: PieceTokenizer

    def __call__(self, model: nn.Module, examples: Sequence[Example], device: torch.device) -> Tensor:
        """Return the sum of the loss over the real cells; a word's own loss, of the candidate head, is like a cell's.

        Examples with teachers' answers have the soft loss, times `distill.weight`.

        Cells of words that are no candidates have no loss, nor have labels of groups that an example is not of.
        """
        plan = plan_encoder_batches([example.words.piece_count for example in examples], most=MOST_PIECES)
        ordered = [[examples[place] for place in places] for places in plan]
        batches = [self._batch(some, device) for some in ordered]
        golds = [torch.from_numpy(gold_words(some)).to(device) for some in ordered]
        settings = self.config.train
        output: TrainingOutput = model(batches, golds, cells=settings.cells, every_round=settings.every_round)
        flat = [example for some in ordered for example in some]
        total = torch.zeros((), device=device)
        for grid in output.grids:
            for rows, loss in self._kinds([flat[number] for number in grid.sentences]):
                total = total + loss(_some(grid, rows), [flat[grid.sentences[row]] for row in rows], device)
        if self.config.model.candidates:
            for some, batch, words, log_odds in zip(ordered, batches, golds, output.log_odds, strict=True):
                total = total + self._word_loss(some, batch, words, log_odds)
        return total

    def weighted_cells(self, examples: Sequence[Example]) -> float:
        """Return what the loss of examples is divided by: their cells, those of unlabelled sentences with their weight.

        Together the loss of a step is (Σ gold cells + weight · Σ unlabelled cells) / (gold + weight · unlabelled).
        """
        return sum(
            example.cells * (1 if example.answer is None else self.config.distill.weight) for example in examples
        )

    def _kinds(self, examples: Sequence[Example]) -> Iterator[tuple[list[int], Loss]]:
        """Yield which examples have gold mentions, and which teachers' answers, with the loss of each kind."""
        for with_answer, loss in ((False, self._gold_loss), (True, self._soft_loss)):
            rows = [row for row, example in enumerate(examples) if (example.answer is not None) == with_answer]
            if rows:
                yield rows, loss

    def _gold_loss(self, grid: ScoredGrids, examples: Sequence[Example], device: torch.device) -> Tensor:
        loss = one_label_loss if self._one_label else cell_loss
        gold = torch.from_numpy(self._gold(examples, grid)).to(device)
        known = None
        if len(self.scheme.groups) > 1:
            known = torch.from_numpy(self.scheme.group_labels[[one.group for one in examples]]).to(device)
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

    def _word_loss(self, examples: Sequence[Example], batch: Batch, words: Tensor, log_odds: Tensor) -> Tensor:
        """Return the loss of the candidate head [B, n, groups]: of the group of an example; for teachers, of all."""
        total = log_odds.new_zeros(())
        for rows, _ in self._kinds(examples):
            odds, lengths = log_odds[rows].float(), batch.lengths[rows]
            if examples[rows[0]].answer is None:
                groups = torch.tensor([examples[row].group for row in rows], device=odds.device)
                own = odds[torch.arange(len(rows), device=odds.device), :, groups]  # [B, n]
                total = total + word_loss(own, words[rows], lengths)
                continue
            wanted = np.zeros(odds.shape, dtype=np.float32)
            for row, target in zip(rows, wanted, strict=True):
                answer = examples[row].answer
                if answer is not None:
                    target[: answer.words] = answer.word_probabilities(self.scheme.group_labels)
            for group, target in enumerate(torch.from_numpy(wanted).to(odds.device).unbind(dim=-1)):
                total = total + self.config.distill.weight * word_loss(odds[..., group], target, lengths)
        return total

    @property
    def _one_label(self) -> bool:
        return self.config.model.architecture == "w2ner"

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

    def _gold(self, examples: Sequence[Example], grid: ScoredGrids) -> NDArray[np.bool_]:
        """Return the gold tags of the words that the network has built its grids over."""
        size = grid.positions.shape[1]
        gold = np.zeros((len(examples), size, size, len(self.scheme.labels)), dtype=np.bool_)
        positions, counts = grid.positions.tolist(), grid.counts.tolist()
        for row, example in enumerate(examples):
            place = {word: number for number, word in enumerate(positions[row][: counts[row]])}
            mentions = [renumber(mention, place) for mention in example.mentions]
            gold[row, : counts[row], : counts[row]] = self.scheme.encode(mentions, counts[row])
        return gold

    def _log_odds(self, examples: Sequence[Example], grid: ScoredGrids) -> NDArray[np.float32]:
        """Return the log-odds of the teachers' probabilities, likewise; −∞ where they say nothing."""
        size = grid.positions.shape[1]
        found = np.full((len(examples), size, size, len(self.scheme.labels)), -np.inf, dtype=np.float32)
        positions, counts = grid.positions.cpu().numpy(), grid.counts.tolist()
        for row, example in enumerate(examples):
            answer = example.answer
            if answer is None:
                continue
            place = np.full(answer.words, -1)
            place[positions[row][: counts[row]]] = np.arange(counts[row])
            subjects, objects, labels = place[answer.cells[:, 0]], place[answer.cells[:, 1]], answer.cells[:, 2]
            there = (subjects >= 0) & (objects >= 0)
            odds = np.log(answer.probabilities / (1 - answer.probabilities))
            found[row, subjects[there], objects[there], labels[there]] = odds[there]
        return found


def _some(grid: ScoredGrids, rows: Sequence[int]) -> ScoredGrids:
    """Return the grids of some of the sentences."""
    if len(rows) == len(grid.sentences):
        return grid
    numbers = [grid.sentences[row] for row in rows]
    return ScoredGrids(numbers, grid.scores[:, rows], grid.positions[rows], grid.counts[rows])
