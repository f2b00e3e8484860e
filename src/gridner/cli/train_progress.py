"""The line that shows how a training goes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from gridner.view.duration import duration

if TYPE_CHECKING:
    from gridner.config import TrainConfig
    from gridner.training.snapshot import State

EVERY = 60  # seconds between two lines where there is no terminal


class Live:
    """A line that shows how a training goes; one line for each epoch where there is no terminal."""

    def __init__(self, *, resume: bool, quiet: bool) -> None:
        self.resume = resume
        self.quiet = quiet
        self.console = Console(stderr=True, highlight=False)
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[said]}"),
            console=self.console,
            transient=True,
            disable=quiet or not self.console.is_terminal,
        )

    def __enter__(self) -> Live:
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def watch(self, name: str, config: TrainConfig, later: int) -> Line | None:
        """Who watches a run; `later` are to come after it. The line of the run before goes."""
        for task in self.bar.task_ids:
            self.bar.remove_task(task)
        return None if self.quiet else Line(self, name, config, later)

    def say(self, text: str) -> None:
        """A line above it."""
        if not self.quiet:
            self.console.print(text, markup=False, soft_wrap=True)


class Line:
    """The watcher of one run."""

    def __init__(self, live: Live, name: str, config: TrainConfig, later: int) -> None:
        self.live = live
        self.config = config
        self.later = later
        self.name = f"{name} " if name else ""
        self.task: TaskID | None = None
        self.loss = 0.0
        self.began: tuple[float, int] | None = None
        self.spoke = time.monotonic()

    def begin(self, state: State, steps: int) -> None:
        """Say where a run goes on."""
        behind = state.epoch * steps + state.step
        if behind or self.live.resume:
            where = f"going on after step {behind:,} of {steps * self.config.epochs:,}" if behind else "starting anew"
            self.live.say(f"{self.name}{where}")

    def step(self, state: State, steps: int, loss: float) -> None:
        """Move the line."""
        self.loss = loss if not self.loss else 0.95 * self.loss + 0.05 * loss
        bar = self.live.bar
        if self.task is None:
            self.task = bar.add_task("", total=steps, said="")
        if self.began is None:
            self.began = (time.monotonic(), state.step)
        seconds, done = time.monotonic() - self.began[0], state.step - self.began[1]
        config = self.config
        speed = f"{done * config.batch_size / seconds:.1f} sentences/s, " if done else ""
        behind = state.epoch * steps + state.step
        left = state.seconds / behind * (config.epochs * steps - behind)
        time_left = f"{duration(left)} left"
        if self.later:  # which are taken to need as long as this one
            time_left += f", of all {duration(left + self.later * (state.seconds + left))}"
        f1 = state.history[state.best_epoch - 1].get("all F1") if state.best_epoch else None
        best = "" if f1 is None else f"dev F1 {100 * f1:.2f} (epoch {state.best_epoch}), "
        name, said = f"{self.name}epoch {state.epoch + 1}/{config.epochs}", f"loss {self.loss:.5f}, {best}{speed}"
        bar.update(self.task, completed=state.step, description=name, said=f"{said}{time_left}")
        if not self.live.console.is_terminal and time.monotonic() - self.spoke > EVERY:
            self.spoke = time.monotonic()
            done_share = f"{100 * state.step / steps:.0f} %"
            self.live.say(f"{name}: {done_share}, {said}{time_left}")

    def epoch(self, state: State) -> None:
        """Say how it went."""
        row = state.history[-1]
        self.began = None
        scores = ""
        if "all F1" in row:
            scores = f", dev P {100 * row['all P']:.2f} R {100 * row['all R']:.2f} F1 {100 * row['all F1']:.2f}"
            scores += f", discontinuous F1 {100 * row.get('discontinuous F1', 0.0):.2f}"
        mark = " *" if state.best_epoch == state.epoch else ""
        said = f"{self.name}epoch {state.epoch}: loss {row['loss']:.5f}{scores}, {duration(state.seconds)}{mark}"
        self.live.say(said)
