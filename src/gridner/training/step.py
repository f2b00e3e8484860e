"""One optimizer step, split into micro-batches and among processes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Protocol

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from gridner.training.examples import Example


class StepObjective(Protocol):
    """The loss that a step minimizes, and how its examples are split."""

    def __call__(self, model: nn.Module, examples: Sequence[Example], device: torch.device) -> Tensor:
        """Return the sum of the loss over the real cells."""
        ...

    def weighted_cells(self, examples: Sequence[Example]) -> float:
        """Return what the summed loss of a step is divided by."""
        ...

    def parts(self, examples: Sequence[Example]) -> list[list[Example]]:
        """Split examples into micro-batches."""
        ...


def train_step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    objective: StepObjective,
    examples: Sequence[Example],
    *,
    accelerator: Accelerator,
    clip: float,
) -> tuple[Tensor, float]:
    """Take one optimizer step. Return the summed loss of this process, and the cells of all processes.

    The gradient is that of the mean over the real cells of all `examples`, however they are split among micro-batches
    and processes. Processes average their gradients, hence the factor in `weight`.
    """
    device = next(model.parameters()).device
    cells = objective.weighted_cells(examples)
    mine = share_among(examples, accelerator.num_processes)[accelerator.process_index]
    weight = accelerator.num_processes / cells if mine else 0.0
    mine = mine or [examples[0]]  # every process must take part in the gradient exchange
    total = torch.zeros((), device=device)
    model.train()
    *first_parts, last_part = objective.parts(mine)
    for part in (*first_parts, last_part):
        with nullcontext() if part is last_part else accelerator.no_sync(model):
            loss = objective(model, part, device)
            accelerator.backward(loss * weight)
        total += loss.detach() * bool(weight)
    accelerator.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    optimizer.zero_grad()
    return total, cells


def share_among(examples: Sequence[Example], processes: int) -> list[list[Example]]:
    """Return the examples of each process, so that all have about as many words: a step is as slow as the slowest."""
    shares: list[list[Example]] = [[] for _ in range(processes)]
    words = [0] * processes
    for example in sorted(examples, key=lambda example: -len(example.words.words)):
        least = words.index(min(words))
        shares[least].append(example)
        words[least] += len(example.words.words)
    return shares
