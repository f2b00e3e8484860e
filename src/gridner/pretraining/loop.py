"""The pretraining loop: mask words, predict them, and measure perplexity on held-out text."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from accelerate import Accelerator
from numpy.typing import NDArray

from gridner.errors import UsageError
from gridner.pretraining.masking import Masked, Masking
from gridner.pretraining.network import MaskedModel
from gridner.pretraining.rows import Frame, Rows
from gridner.pretraining.settings import Settings
from gridner.pretraining.shuffling import Order
from gridner.training.interruption import Stop, Stopped
from gridner.training.snapshot import State, Training, load_state, save_state

BETAS, EPSILON, DECAY, CLIP = (0.9, 0.98), 1e-6, 0.01, 1.0
TIMED_STEPS = 3  # steps, after a warm-up step, that are timed to find how many fit into --minutes


class Watcher(Protocol):
    """Receives the progress of a pretraining."""

    def begin(self, state: State, steps: int) -> None:
        """Called before the first step. A resumed run starts at `state.step`."""
        ...

    def step(self, state: State, steps: int, loss: float) -> None:
        """Called after each step."""
        ...

    def look(self, state: State, steps: int) -> None:
        """Called after each evaluation on held-out text, the last row of `state.history`."""
        ...


@dataclass(slots=True, kw_only=True)
class Loop:
    """A network, its text and its settings."""

    network: MaskedModel
    rows: Rows
    order: Order
    frame: Frame
    masking: Masking
    settings: Settings
    fresh_head: bool
    identity: Mapping[str, Any]
    folder: Path  # of the snapshots
    accelerator: Accelerator
    watcher: Watcher
    stop: Stop

    def run(self, *, resume: bool) -> State:
        """Train to the end and return the state. If `stop` is requested, save a snapshot and raise Stopped."""
        optimizer = self._optimizer()
        self.network.to(self.accelerator.device)
        training = Training(self.network, optimizer)
        processes = self.accelerator.num_processes
        state = load_state(self.folder, self.identity, processes, training) if resume else None
        network, prepared = self.accelerator.prepare(self.network, optimizer)
        if state is None:
            state = State(dict(self.identity), processes)
            state.steps = self._planned(network)
        if self.accelerator.scaler is not None and state.scaler:
            self.accelerator.scaler.load_state_dict(state.scaler)
        steps = state.steps
        looks = {round(steps * part / self.settings.looks) for part in range(self.settings.looks + 1)}
        self.watcher.begin(state, steps)
        saved = began = time.monotonic()
        before = state.seconds
        if not state.history:
            self._look(state)
            self.watcher.look(state, steps)
        while state.step < steps:
            self._set_rates(prepared, state.step, steps)
            loss, hidden = self._step(network, prepared, state.step)
            state.step, state.loss, state.cells = state.step + 1, state.loss + loss, state.cells + hidden
            state.seconds = before + time.monotonic() - began
            self.watcher.step(state, steps, loss / hidden)
            if state.step in looks:
                self._look(state)
                state.seconds = before + time.monotonic() - began
                self.watcher.look(state, steps)
            due = time.monotonic() - saved > 60 * self.settings.snapshot_minutes
            if self._stops or due or state.step == steps:
                self._save(state, training)
                saved = time.monotonic()
                if self._stops and state.step < steps:
                    self.accelerator.wait_for_everyone()
                    raise Stopped
        return state

    def _planned(self, network: torch.nn.Module) -> int:
        """Return the number of steps: as set, from the epochs, or as many as fit into the minutes."""
        settings = self.settings
        if settings.steps is not None:
            return settings.steps
        if settings.epochs is not None:
            return max(1, math.ceil(settings.epochs * self.order.epoch / settings.batch))
        for number in range(1 + TIMED_STEPS):
            if number == 1:
                began = time.monotonic()
            self._gradients(network, number)
            network.zero_grad()
        seconds_per_step = (time.monotonic() - began) / TIMED_STEPS
        planned = max(1, int(60 * (settings.minutes or 0.0) / seconds_per_step))
        return int(self._sum(torch.tensor(float(planned))) / self.accelerator.num_processes)

    def _batch(self, step: int) -> Masked:
        """Return the batch of a step. It depends only on the seed and the number of the step."""
        size = self.settings.batch
        chosen = self.order.rows(np.arange(step * size, (step + 1) * size))
        return self._masked(chosen, (self.settings.seed, 1, step))

    def _masked(self, chosen: NDArray[np.int64], key: tuple[int, ...]) -> Masked:
        pieces, starts = self.rows.batch(chosen, self.frame)
        return self.masking(pieces, starts, np.random.default_rng(list(key)))

    def _gradients(self, network: torch.nn.Module, step: int) -> tuple[torch.Tensor, int]:
        """Accumulate the gradients of the mean loss over all hidden pieces of a step.

        Return the loss summed over the pieces of this process, and the number of hidden pieces of all processes.
        """
        accelerator, settings = self.accelerator, self.settings
        torch.manual_seed((settings.seed * 1_000_003 + step) * 1_009 + accelerator.process_index)
        batch = self._batch(step)
        hidden = len(batch.targets)
        own = np.array_split(np.arange(settings.batch), accelerator.num_processes)[accelerator.process_index]
        parts = [own[begin : begin + settings.micro_batch] for begin in range(0, len(own), settings.micro_batch)]
        total = torch.zeros((), device=accelerator.device)
        network.train()
        for number, part in enumerate(parts):
            with nullcontext() if number == len(parts) - 1 else accelerator.no_sync(network):
                loss = self._loss(network, batch, part)
                accelerator.backward(loss * (accelerator.num_processes / hidden))
            total += loss.detach()
        return total, hidden

    def _loss(self, network: torch.nn.Module, batch: Masked, part: NDArray[np.int64]) -> torch.Tensor:
        """Return the loss summed over the hidden pieces of these rows."""
        return self._losses(network, batch, part).sum()

    def _losses(self, network: torch.nn.Module, batch: Masked, part: NDArray[np.int64]) -> torch.Tensor:
        """Return the loss of each hidden piece of these rows."""
        device, length = self.accelerator.device, batch.pieces.shape[1]
        first, last = int(part[0]) * length, (int(part[-1]) + 1) * length
        own = (batch.places >= first) & (batch.places < last)
        pieces = torch.from_numpy(batch.pieces[part]).to(device)
        places = torch.from_numpy(batch.places[own] - first).to(device)
        targets = torch.from_numpy(batch.targets[own]).to(device)
        scores = network(pieces, places).float()
        return torch.nn.functional.cross_entropy(scores, targets, reduction="none")

    def _step(self, network: torch.nn.Module, optimizer: torch.optim.Optimizer, step: int) -> tuple[float, int]:
        total, hidden = self._gradients(network, step)
        self.accelerator.clip_grad_norm_(network.parameters(), CLIP)
        optimizer.step()
        optimizer.zero_grad()
        value = self._sum(total)
        if not math.isfinite(value):
            raise UsageError(f"the loss is {value} at step {step + 1}; start again with a lower --rate")
        return value, hidden

    def _look(self, state: State) -> None:
        """Append the perplexity of the held-out text to the history. The hidden words are always the same."""
        held = np.concatenate([group.held_rows() for group in self.order.groups])
        starts = [int(source["first row"]) for source in self.rows.about["sources"]]
        owners = np.searchsorted(starts, held, side="right") - 1
        sums = np.zeros((len(starts), 2))
        network = self.network.eval()  # not the distributed one: processes have different numbers of batches
        processes, size = self.accelerator.num_processes, self.settings.micro_batch
        with torch.no_grad():
            for place in range(self.accelerator.process_index * size, len(held), processes * size):
                rows = held[place : place + size]
                batch = self._masked(rows, (0, 0, place))
                losses = self._losses(network, batch, np.arange(len(rows))).double().cpu().numpy()
                of_source = owners[place : place + size][batch.places // batch.pieces.shape[1]]
                np.add.at(sums, of_source, np.stack((losses, np.ones_like(losses)), axis=1))
        if processes > 1:
            sums = self.accelerator.reduce(torch.from_numpy(sums).to(self.accelerator.device)).cpu().numpy()
        total = sums.sum(axis=0)
        row = {
            "step": float(state.step),
            "rows": float(state.step * self.settings.batch),
            "loss": state.loss / state.cells if state.cells else math.nan,
            "perplexity": math.exp(float(total[0] / total[1])),
            "seconds": round(state.seconds, 1),
        }
        for number, (loss_sum, hidden) in enumerate(sums.tolist()):
            if hidden:
                row[f"perplexity {number + 1}"] = math.exp(loss_sum / hidden)
        if not state.cells:
            del row["loss"]
        state.history.append(row)
        state.loss, state.cells = 0.0, 0

    def _sum(self, value: torch.Tensor) -> float:
        """Return the sum over all processes, and agree with them whether to stop."""
        if self.accelerator.num_processes == 1:
            return float(value)
        value = value.to(self.accelerator.device)
        wanted = value.new_tensor(float(self.stop.wanted))
        total, stops = self.accelerator.reduce(torch.stack((value, wanted)))
        self.stop.agreed = bool(stops)
        return float(total)

    @property
    def _stops(self) -> bool:
        return self.stop.wanted if self.accelerator.num_processes == 1 else self.stop.agreed

    def _optimizer(self) -> torch.optim.Optimizer:
        """Return AdamW. A fresh head has a higher rate than the encoder; only matrices have weight decay."""
        head = self.network.fresh_parameters()
        groups = []
        for of_head in (False, True):
            for matrices in (True, False):
                parameters = [
                    parameter
                    for parameter in self.network.parameters()
                    if (parameter in head) == of_head and (parameter.ndim > 1) == matrices
                ]
                rate = self.settings.rate * (self.settings.head_rate if of_head and self.fresh_head else 1.0)
                if parameters:
                    groups.append({"params": parameters, "peak": rate, "weight_decay": DECAY * matrices})
        fused = self.accelerator.device.type in ("cpu", "cuda")
        return torch.optim.AdamW(groups, lr=0.0, betas=BETAS, eps=EPSILON, fused=fused)

    def _set_rates(self, optimizer: torch.optim.Optimizer, step: int, steps: int) -> None:
        """Set the learning rates: warm-up, then linear decay to zero."""
        warm = self.settings.warmup * steps
        share = (step + 1) / warm if step < warm else (steps - step) / max(1.0, steps - warm)
        for group in optimizer.param_groups:
            group["lr"] = group["peak"] * min(1.0, share)

    def _save(self, state: State, training: Training) -> None:
        if self.accelerator.is_main_process:
            scaler = self.accelerator.scaler
            state.scaler = scaler.state_dict() if scaler is not None else {}
            save_state(self.folder, state, training)
