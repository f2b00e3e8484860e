"""The progress of training: a bar on a terminal, lines in a log file."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from gridner.view.duration import duration

if TYPE_CHECKING:
    from gridner.config import TrainConfig
    from gridner.training.snapshot import State

SECONDS_BETWEEN_LINES = 60  # without a terminal


class TrainingProgress:
    """Show a bar for the current run on a terminal. Without a terminal, print a line now and then."""

    def __init__(self, *, resume: bool, quiet: bool) -> None:
        self.resume = resume
        self.quiet = quiet
        self.console = Console(stderr=True, highlight=False)
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[status]}"),
            console=self.console,
            transient=True,
            disable=quiet or not self.console.is_terminal,
        )

    def __enter__(self) -> TrainingProgress:
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def watch(self, name: str, config: TrainConfig, later: int) -> RunProgress | None:
        """Return the watcher of a run that `later` runs follow, and remove the bar of the run before."""
        for task in self.bar.task_ids:
            self.bar.remove_task(task)
        return None if self.quiet else RunProgress(self, name, config, later)

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        if not self.quiet:
            self.console.print(text, markup=False, soft_wrap=True)


class RunProgress:
    """Show the progress of one run."""

    def __init__(self, progress: TrainingProgress, name: str, config: TrainConfig, later: int) -> None:
        self.progress = progress
        self.config = config
        self.later = later
        self.name = f"{name} " if name else ""
        self.task: TaskID | None = None
        self.loss = 0.0  # moving average
        self.epoch_start: tuple[float, int] | None = None  # time and step
        self.last_line = time.monotonic()

    def begin(self, state: State, steps: int) -> None:
        """Print where a run resumes."""
        done = state.epoch * steps + state.step
        if done or self.progress.resume:
            where = f"resuming after step {done:,} of {steps * self.config.epochs:,}" if done else "starting over"
            self.progress.say(f"{self.name}{where}")

    def step(self, state: State, steps: int, loss: float) -> None:
        """Move the bar."""
        self.loss = loss if not self.loss else 0.95 * self.loss + 0.05 * loss
        bar = self.progress.bar
        if self.task is None:
            self.task = bar.add_task("", total=steps, status="")
        if self.epoch_start is None:
            self.epoch_start = (time.monotonic(), state.step)
        seconds, done = time.monotonic() - self.epoch_start[0], state.step - self.epoch_start[1]
        config = self.config
        speed = f"{done * config.batch_size / seconds:.1f} sentences/s, " if done else ""
        all_done = state.epoch * steps + state.step
        seconds_left = state.seconds / all_done * (config.epochs * steps - all_done)
        time_left = f"{duration(seconds_left)} left"
        if self.later:  # assume that each takes as long as this one
            time_left += f", {duration(seconds_left + self.later * (state.seconds + seconds_left))} for all runs"
        f1 = state.history[state.best_epoch - 1].get("all F1") if state.best_epoch else None
        best = "" if f1 is None else f"dev F1 {100 * f1:.2f} (epoch {state.best_epoch}), "
        name, status = f"{self.name}epoch {state.epoch + 1}/{config.epochs}", f"loss {self.loss:.5f}, {best}{speed}"
        bar.update(self.task, completed=state.step, description=name, status=f"{status}{time_left}")
        if not self.progress.console.is_terminal and time.monotonic() - self.last_line > SECONDS_BETWEEN_LINES:
            self.last_line = time.monotonic()
            self.progress.say(f"{name}: {100 * state.step / steps:.0f} %, {status}{time_left}")

    def epoch(self, state: State) -> None:
        """Print the loss and the dev scores of an epoch; * marks the best so far."""
        row = state.history[-1]
        self.epoch_start = None
        scores = ""
        if "all F1" in row:
            scores = f", dev P {100 * row['all P']:.2f} R {100 * row['all R']:.2f} F1 {100 * row['all F1']:.2f}"
            scores += f", discontinuous F1 {100 * row.get('discontinuous F1', 0.0):.2f}"
        mark = " *" if state.best_epoch == state.epoch else ""
        self.progress.say(
            f"{self.name}epoch {state.epoch}: loss {row['loss']:.5f}{scores}, {duration(state.seconds)}{mark}"
        )
