"""gridner train"""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from gridner.cli.common import (
    ExceptIdsOption,
    FormatOption,
    IdsOption,
    LenientOption,
    Reading,
    SentencesOption,
    TypesOption,
    new_table,
    print_notes,
    print_table,
)
from gridner.cli.evaluate import slice_label
from gridner.errors import Notes, UsageError

if TYPE_CHECKING:
    from gridner.config import TrainConfig
    from gridner.training.data import Part
    from gridner.training.snapshot import State

DEV_SHARE = 0.1
EVERY = 60  # seconds between two lines where there is no terminal


def train(
    config: Annotated[
        str, typer.Argument(metavar="CONFIG", help="A TOML file, or tiny, craft, w2ner, cadec, share13, share14.")
    ],
    train: Annotated[Path, typer.Option("--train", help="The training corpus.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="A new folder for the model.")],
    dev: Annotated[
        str, typer.Option("--dev", help="The corpus to choose on, or the share of the training documents to hold out.")
    ] = str(DEV_SHARE),
    test: Annotated[Path | None, typer.Option("--test", help="A corpus to score once, in the end.")] = None,
    format: FormatOption = "auto",
    ids: IdsOption = None,
    except_ids: ExceptIdsOption = None,
    types: TypesOption = None,
    sentences: SentencesOption = "auto",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Change a setting; can be given again."),
    ] = None,
    seeds: Annotated[str | None, typer.Option("--seeds", help="Train once with each, such as 1,2,3.")] = None,
    folds: Annotated[
        int | None, typer.Option("--folds", min=2, help="Cross-validate: each fold of the documents is the test once.")
    ] = None,
    init: Annotated[
        Path | None, typer.Option("--init", help="A gridner model to go on from, also with new types.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped or killed.")] = False,
    lenient: LenientOption = False,
) -> None:
    """Train a model on a corpus.

    The folder gets the model of the best epoch on dev with its card, a log, a picture of the curves and the
    predictions. --ids and --except-ids choose among the training documents.

    Examples:

        gridner train tiny --train examples --output model

        gridner train craft --train corpus/train --dev corpus/dev --format brat --output model --seeds 1,2,3

        gridner train craft --train corpus --folds 5 --output folds --set train.epochs=5

        gridner train craft --train corpus/train --dev corpus/dev --output model --resume

    """
    from gridner.config import read_config

    changes = list(settings or [])
    if seeds is not None:
        changes.append(f"train.seeds=[{seeds}]")
    chosen = read_config(config, changes)
    _check_extra()
    from gridner.training.data import part_of
    from gridner.training.run import Task
    from gridner.training.runs import folds_of, hold_out, summary, train_all
    from gridner.training.stopping import Stopped

    notes = Notes()
    reading = Reading(format, None, ids, except_ids, types, sentences, lenient)
    others = Reading(format, None, None, None, types, sentences, lenient)

    def part(path: Path, name: str, how: Reading) -> Part:
        return part_of(how.documents(path, notes, what="read"), notes=notes, name=name)

    whole = part(train, "train", reading)
    held: Part | None
    share = _share(dev)
    command = shlex.join(["gridner", *sys.argv[1:]])
    tested = part(test, "test", others) if test is not None else None
    if folds is None:
        rest, held = hold_out(whole, share) if share is not None else (whole, part(Path(dev), "dev", others))
        tasks = {"": Task(config=chosen, train=rest, dev=held, test=tested, output=output, init=init, command=command)}
    else:
        if share is None or tested is not None:
            raise UsageError("--folds with a --dev or --test corpus, expected the folds to come from --train alone")
        tasks = {}
        for number, (some, fold) in enumerate(folds_of(whole, folds), start=1):
            rest, held = hold_out(some, share)
            tasks[f"fold-{number}"] = Task(
                config=chosen, train=rest, dev=held, test=fold, output=output, init=init, command=command
            )
    main = int(os.environ.get("RANK", "0")) == 0
    try:
        with Live(chosen.train, quiet=not main) as live:
            found = train_all(
                tasks, seeds=chosen.train.seeds, output=output, resume=resume, watcher=live.watch, notes=notes
            )
    except Stopped:
        again = command if resume else f"{command} --resume"
        typer.echo(f"gridner: stopped, the state is saved; go on with: {again}", err=True)
        raise typer.Exit(130) from None
    if not main:
        return
    _print_scores(found, {name: summary(found, name) for name in ("dev", "test")})
    print_notes(notes)
    typer.echo(f"the model is in {output}" if len(found) == 1 else f"the models are in {output}", err=True)


def _check_extra() -> None:
    """A missing library is the user's business, said in a line."""
    try:
        import accelerate  # noqa: F401
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        raise UsageError(
            f"{error.name} is missing, expected the extra for training: pip install 'gridner[train]'"
        ) from None


def _share(dev: str) -> float | None:
    """The share of the documents, or None if it is a path."""
    if Path(dev).exists():
        return None
    try:
        share = float(dev)
    except ValueError:
        return None
    if not 0 < share < 1:
        raise UsageError(f"--dev {dev}, expected a corpus or a share of the documents such as 0.1")
    return share


class Live:
    """A line that shows how a training goes; one line for each epoch where there is no terminal."""

    def __init__(self, config: TrainConfig, *, quiet: bool) -> None:
        self.config = config
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

    def watch(self, name: str) -> Line | None:
        """Who watches a run."""
        return None if self.quiet else Line(self, name)


class Line:
    """The watcher of one run."""

    def __init__(self, live: Live, name: str) -> None:
        self.live = live
        self.name = f"{name} " if name else ""
        self.task: TaskID | None = None
        self.loss = 0.0
        self.began: tuple[float, int] | None = None
        self.spoke = time.monotonic()

    def step(self, state: State, steps: int, loss: float) -> None:
        """Move the line."""
        self.loss = loss if not self.loss else 0.95 * self.loss + 0.05 * loss
        bar = self.live.bar
        if self.task is None:
            self.task = bar.add_task("", total=steps, said="")
        if self.began is None:
            self.began = (time.monotonic(), state.step)
        seconds, done = time.monotonic() - self.began[0], state.step - self.began[1]
        config = self.live.config
        speed = f"{done * config.batch_size / seconds:.1f} sentences/s, " if done else ""
        behind = state.epoch * steps + state.step
        left = state.seconds / behind * (config.epochs * steps - behind)
        best = f"dev F1 {100 * state.best:.2f} (epoch {state.best_epoch}), " if state.best_epoch else ""
        name, said = f"{self.name}epoch {state.epoch + 1}/{config.epochs}", f"loss {self.loss:.5f}, {best}{speed}"
        bar.update(self.task, completed=state.step, description=name, said=f"{said}{_duration(left)} left")
        if not self.live.console.is_terminal and time.monotonic() - self.spoke > EVERY:
            self.spoke = time.monotonic()
            done_share = f"{100 * state.step / steps:.0f} %"
            self.live.console.print(f"{name}: {done_share}, {said}{_duration(left)} left", markup=False, soft_wrap=True)

    def epoch(self, state: State) -> None:
        """Say how it went."""
        row = state.history[-1]
        self.began = None
        scores = ""
        if "all F1" in row:
            scores = f", dev P {100 * row['all P']:.2f} R {100 * row['all R']:.2f} F1 {100 * row['all F1']:.2f}"
            scores += f", discontinuous F1 {100 * row.get('discontinuous F1', 0.0):.2f}"
        mark = " *" if state.best_epoch == state.epoch else ""
        said = f"{self.name}epoch {state.epoch}: loss {row['loss']:.5f}{scores}, {_duration(state.seconds)}{mark}"
        self.live.console.print(said, markup=False, soft_wrap=True)


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return (
        f"{minutes // 60} h {minutes % 60} min"
        if minutes >= 60
        else f"{minutes} min"
        if minutes
        else f"{seconds:.0f} s"
    )


def _print_scores(runs: Mapping[str, Mapping[str, Any]], parts: Mapping[str, Any]) -> None:
    several = len(runs) > 1
    for name, slices in parts.items():
        if not slices:
            continue
        table = new_table(f"{name}, exact match", "P", "R", "F1")
        for label, row in slices.items():
            table.add_row(
                slice_label(label),
                *(
                    f"{100 * at.mean:.2f}" + (f" ± {100 * at.deviation:.2f}" if several else "")
                    for at in (row["precision"], row["recall"], row["f1"])
                ),
            )
        print_table(table, f"mean ± standard deviation of {len(runs)} runs" if several else "one run, one seed")
