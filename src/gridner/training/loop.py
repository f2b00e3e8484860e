"""The training loop: optimizer steps, dev scores after each epoch, snapshots to resume from."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list

from gridner.config import TrainConfig
from gridner.errors import UsageError
from gridner.model.toe import Toe
from gridner.training.examples import Example, TrainingSet
from gridner.training.interruption import Stop, Stopped
from gridner.training.objective import Objective
from gridner.training.results import DevScores
from gridner.training.snapshot import State, Training, load_state, save_best, save_state
from gridner.training.step import train_step
from gridner.training.unlabelled import Unlabelled

WORTH_SAVING = 60.0  # seconds of training after which a snapshot is saved before scoring dev


class Watcher(Protocol):
    """Receives the progress of a training."""

    def begin(self, state: State, steps: int) -> None:
        """Called before the first step. A resumed run starts at `state.step`."""
        ...

    def step(self, state: State, steps: int, loss: float) -> None:
        """Called after each step. `steps` is the number of steps per epoch."""
        ...

    def epoch(self, state: State) -> None:
        """Called after each epoch, when its scores are the last row of `state.history`."""
        ...


@dataclass(slots=True, kw_only=True)
class Loop:
    """A network, its training data and settings."""

    model: Toe
    objective: Objective
    data: TrainingSet
    unlabelled: Unlabelled | None  # sentences with teachers' answers
    config: TrainConfig
    seed: int
    identity: Mapping[str, Any]  # of the run; the loop refuses a snapshot with another identity
    folder: Path  # for the snapshots
    accelerator: Accelerator
    diagnose: Callable[[Toe], dict[str, float]]  # tunes the candidates on dev; returns columns of the log
    evaluate: Callable[[Toe], DevScores | None]  # dev scores; None without dev documents
    save_epoch: Callable[[Toe, int], None] | None  # called with the network after each epoch, and the epoch
    watcher: Watcher
    stop: Stop

    def run(self, *, resume: bool) -> State:
        """Train to the end and return the state. The best weights are in the folder.

        If `stop` is requested, save a snapshot and raise Stopped.
        """
        optimizer = _optimizer(self.model, self.config, self.accelerator.device)
        self.model.to(self.accelerator.device)
        processes = self.accelerator.num_processes
        training = Training(self.model, optimizer)
        state = load_state(self.folder, self.identity, processes, training) if resume else None
        if state is None:
            state = State(dict(self.identity), processes)
        model, prepared = self.accelerator.prepare(self.model, optimizer)
        if self.accelerator.scaler is not None and state.scaler:
            self.accelerator.scaler.load_state_dict(state.scaler)
        steps = self.data.steps
        self._check_same_step(state.epoch * steps + state.step)
        self.watcher.begin(state, steps)
        saved = began = time.monotonic()
        before = state.seconds
        while state.epoch < self.config.epochs and not self._finished(state):
            batches = self.data.epoch(self.seed, state.epoch)
            while state.step < steps:
                number = state.epoch * steps + state.step
                _set_rates(prepared, self.config, number, steps * self.config.epochs)
                examples = batches[state.step]
                if self.unlabelled is not None:
                    examples = [*examples, *self.unlabelled.step(number)]
                loss, cells = self._step(model, prepared, examples, number)
                state.step, state.loss, state.cells = state.step + 1, state.loss + loss, state.cells + cells
                state.seconds = before + time.monotonic() - began
                self.watcher.step(state, steps, loss / cells)
                if self._stops or time.monotonic() - saved > 60 * self.config.snapshot_minutes:
                    self._save(state, training)
                    saved = time.monotonic()
                    self._stop_if_requested()
            if time.monotonic() - saved > WORTH_SAVING:
                self._save(state, training)
            self._score(state, self.model)
            state.seconds = before + time.monotonic() - began
            state.epoch, state.step, state.loss, state.cells = state.epoch + 1, 0, 0.0, 0
            self._save(state, training)
            saved = time.monotonic()
            self.watcher.epoch(state)
            self._agree(torch.zeros(()))
            self._stop_if_requested()
        return state

    def _finished(self, state: State) -> bool:
        patience = self.config.patience
        return bool(patience and state.best_epoch and state.epoch - state.best_epoch >= patience)

    def _step(
        self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, examples: Sequence[Example], number: int
    ) -> tuple[float, float]:
        """Take one optimizer step. Return the loss summed over all real cells, and their number."""
        torch.manual_seed(_dropout_seed(self.seed, number, self.accelerator.process_index))
        total, cells = train_step(
            model, optimizer, self.objective, examples, accelerator=self.accelerator, clip=self.config.clip
        )
        value = self._agree(total)
        if not math.isfinite(value):
            raise UsageError(f"the loss is {value} at step {number + 1}; try a lower train.rate or train.encoder_rate")
        return value, cells

    def _agree(self, value: torch.Tensor) -> float:
        """Return the sum of a value over all processes, and agree whether to stop: all must stop together."""
        if self.accelerator.num_processes == 1:
            return float(value)
        wanted = value.new_tensor(float(self.stop.wanted))
        total, stops = self.accelerator.reduce(torch.stack((value, wanted)).to(self.accelerator.device))
        self.stop.agreed = bool(stops)
        return float(total)

    @property
    def _stops(self) -> bool:
        return self.stop.wanted if self.accelerator.num_processes == 1 else self.stop.agreed

    def _stop_if_requested(self) -> None:
        if self._stops:
            self.accelerator.wait_for_everyone()  # a launcher ends all when one ends, and the first may be saving
            raise Stopped

    def _check_same_step(self, steps: int) -> None:
        """Raise UsageError unless all processes start at the same step."""
        if self.accelerator.num_processes > 1:
            mine = torch.tensor([steps], device=self.accelerator.device)
            step_of_each = self.accelerator.gather(mine).tolist()
            if len(set(step_of_each)) > 1:
                raise UsageError(
                    f"{self.folder}: the processes find snapshots of steps {step_of_each}, "
                    "expected a folder that all share"
                )

    def _score(self, state: State, model: Toe) -> None:
        """Score the epoch on dev in the first process, extend the history, and save the weights if they are best."""
        if self.accelerator.is_main_process:
            row: dict[str, float] = {
                "epoch": state.epoch + 1,
                "loss": state.loss / state.cells,
                "seconds": round(state.seconds, 1),
            }
            diagnosis = self.diagnose(model)
            if self.save_epoch is not None:
                self.save_epoch(model, state.epoch + 1)
            scores = self.evaluate(model)
            score = float(state.epoch + 1)  # without dev, the last epoch is the best
            if scores is not None:
                score = scores.selection_score(self.config.best_by)
                row |= scores.row()
            state.history.append(row | diagnosis)
            if score > state.best or score == state.best == 0:  # if no epoch finds anything, the last is the best
                state.best, state.best_epoch = score, state.epoch + 1
                save_best(self.folder, model, state.best_epoch)
        if self.accelerator.num_processes > 1:
            shared = broadcast_object_list([state.best, state.best_epoch])
            state.best, state.best_epoch = shared

    def _save(self, state: State, training: Training) -> None:
        if self.accelerator.is_main_process:
            scaler = self.accelerator.scaler
            state.scaler = scaler.state_dict() if scaler is not None else {}
            save_state(self.folder, state, training)


def _optimizer(model: Toe, config: TrainConfig, device: torch.device) -> torch.optim.Optimizer:
    """Return AdamW with one rate for the encoder and one for the rest."""
    pretrained = model.encoder.language_model
    if config.frozen_embeddings:
        pretrained.get_input_embeddings().weight.requires_grad_(False)  # type: ignore[operator]
    pretrained_parameters = set(pretrained.parameters())
    encoder = [parameter for parameter in pretrained.parameters() if parameter.requires_grad]
    rest = [parameter for parameter in model.parameters() if parameter not in pretrained_parameters]
    groups = [{"params": encoder, "lr": config.encoder_rate}, {"params": rest, "lr": config.rate}]
    return torch.optim.AdamW(groups, weight_decay=config.weight_decay, fused=device.type in ("cpu", "cuda"))


def _set_rates(optimizer: torch.optim.Optimizer, config: TrainConfig, number: int, total: int) -> None:
    """Set the learning rates: warm-up, then linear decay to zero."""
    warm = config.warmup * total
    share = (number + 1) / warm if number < warm else (total - number) / max(1.0, total - warm)
    for group, rate in zip(optimizer.param_groups, (config.encoder_rate, config.rate), strict=True):
        group["lr"] = rate * min(1.0, share)


def _dropout_seed(seed: int, number: int, process: int) -> int:
    """Return the seed of a step's dropout. It depends on nothing else, so a resumed run draws the same."""
    return ((seed * 1_000_003 + number) * 1_009 + process) % 2**63
