"""What the experiments work on: settings, documents, and a folder where every run is kept.

    OUTPUT/runs/NAME/seed-N      a training, as `gridner train` leaves it
    OUTPUT/decoded/NAME/seed-N   predictions of such a model with other decoding settings
    OUTPUT/given/NAME            predictions of a model that was given

A run that is there and finished is not made again; one that was stopped is gone on with.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridner.config import Config
from gridner.corpus.gazetteer import Lexicon
from gridner.corpus.splits import Part
from gridner.errors import GridnerError, InUseError, Notes, OutputError, UsageError
from gridner.experiment.kept_predictions import Again, kept, recall
from gridner.experiment.paper_results import Corpus
from gridner.experiment.systems import SCORED, System, runs_below, system_of
from gridner.inference.checkpoint import MANIFEST, read_checkpoint
from gridner.inference.loading import load
from gridner.inference.recognizer import Recognizer

if TYPE_CHECKING:
    from gridner.training.loop import Watcher
    from gridner.training.task import TrainingTask

BASE = "toe"  # the name of the runs with the settings as they are


@dataclass(slots=True, kw_only=True)
class Study:
    """A corpus, settings, and where the runs are kept."""

    config: Config
    parts: Mapping[str, Part]
    output: Path
    seeds: Sequence[int] = (1,)
    lexicon: Lexicon = field(default_factory=Lexicon)
    own_names: bool = False
    given: Mapping[str, Path] = field(default_factory=dict)  # systems of others: predictions or models
    given_format: str = "auto"
    rows: Sequence[str] | None = None  # a part of the table
    paper: Corpus | None = None
    command: str = ""
    watch: Callable[[str, Config, int], Watcher | None] = lambda name, config, later: None  # noqa: ARG005
    say: Callable[[str], None] = lambda text: None  # noqa: ARG005
    notes: Notes = field(default_factory=Notes)
    failures: dict[str, str] = field(default_factory=dict)  # run → what went wrong
    asked: dict[str, bool] = field(default_factory=dict)  # run or system → whether there is something to show of it
    scored_given: dict[str, System] = field(default_factory=dict)
    planned: dict[str, Config] = field(default_factory=dict)  # trainings by name
    unnamed: int = 0  # more of them, whose names follow from how the others go
    begun: set[str] = field(default_factory=set)  # runs that had their turn
    there: set[str] = field(default_factory=set)  # runs that are finished

    @property
    def scored(self) -> list[str]:
        """The parts that systems are scored on."""
        return [name for name in SCORED if name in self.parts]

    def plan(self, wanted: Mapping[str, Config], *, unnamed: int = 0) -> None:
        """Say what is to be trained: what would stop one of these is found now, and progress is that of all."""
        self._check(wanted)
        self.planned |= wanted
        self.unnamed += unnamed

    def train(self, wanted: Mapping[str, Config]) -> dict[str, list[Path]]:
        """The folders of all finished runs, by name: each of the settings with every seed. Failures are kept aside."""
        from gridner.training.interruption import Stopped
        from gridner.training.run import train_once

        new = {name: config for name, config in wanted.items() if name not in self.planned}
        self.plan(new, unnamed=-min(self.unnamed, len(new)))
        found: dict[str, list[Path]] = {name: [] for name in wanted}
        for name, seed in ((name, seed) for name in wanted for seed in self.seeds):
            label = f"{name}/seed-{seed}"
            self.begun.add(label)
            if label not in self.failures:
                task = self._task(label, wanted[name], self._later())
                total = len(self.seeds) * (len(self.planned) + self.unnamed)
                watcher = self.watch(f"[{len(self.begun)}/{total}] {label}", task.config, task.later)
                notes = Notes()
                try:
                    facts = train_once(task, seed=seed, resume=True, watcher=watcher, notes=notes)
                except InUseError as error:  # two commands may share the work
                    self._fail(label, error)
                except (Stopped, OutputError):  # the folder is not ours to write to
                    raise
                except Exception as error:  # one that fails must not take the others with it
                    self._fail(label, error)
                else:
                    found[name].append(task.output)
                    self.there.add(label)
                    recall(notes, facts.get("notes", {}))
                self._note(notes)
            self.asked[label] = label not in self.failures
        return found

    def _fail(self, label: str, error: Exception) -> None:
        self.failures[label] = _one_line(error)
        self.say(f"{label} failed: {_one_line(error)}")

    def _later(self) -> int:
        """How many trainings are still to come."""
        runs = {f"{name}/seed-{seed}" for name in self.planned for seed in self.seeds}
        return len(runs - self.begun - self.there) + len(self.seeds) * self.unnamed

    def _task(self, label: str, config: Config, later: int) -> TrainingTask:
        from gridner.training.task import TrainingTask

        return TrainingTask(
            config=config,
            train=self.parts["train"],
            dev=self.parts["dev"],
            test=self.parts.get("test"),
            output=self.output / "runs" / label,
            lexicon=self.lexicon,
            own_names=self.own_names,
            later=later,
            command=self.command,
        )

    def check_parts(self) -> None:
        """Documents that make no sense to train on are found before that."""
        from gridner.training.task import check_parts

        check_parts(self._task("", self.config, 0), Notes())

    def _check(self, wanted: Mapping[str, Config]) -> None:
        """Documents that make no sense, folders of other runs and encoders that are not to be had are found now."""
        from gridner.model.encoder_files import encoder_path
        from gridner.training.run_folder import SNAPSHOT, finished_run
        from gridner.training.snapshot import read_state
        from gridner.training.task import identity_of

        if wanted:
            self.check_parts()
        about = {name: part.about() for name, part in self.parts.items()}
        encoders = set()
        for name, config in wanted.items():
            for seed in self.seeds:
                task = self._task(f"{name}/seed-{seed}", config, 0)
                identity = identity_of(task, seed, about)
                if finished_run(task.output, identity, resume=True) is not None:
                    self.there.add(f"{name}/seed-{seed}")
                else:
                    read_state(task.output / SNAPSHOT, identity)
                    encoders.add(config.model.encoder)
        for encoder in sorted(encoders - {"tiny"}):
            encoder_path(encoder)

    def _note(self, notes: Notes) -> None:
        """What a run says of its documents, which others said too, is counted once."""
        for what, count, places in notes:
            if (more := count - self.notes[what]) > 0:
                self.notes.take(what, more, places[-more:])

    def decode(self, wanted: Mapping[str, Config], models: Sequence[Path]) -> dict[str, list[Path]]:
        """Predictions of trained models with other decoding settings, by the name of these."""
        found: dict[str, list[Path]] = {name: [] for name in wanted}
        for model in models:
            again = Again(model, self.parts["dev"], self.say)
            for name, config in wanted.items():
                label = f"{name}/{model.name}"
                settings = {"decoding": config.to_dict()["decoding"], "tune": config.train.tune_thresholds}
                try:
                    recognizer = partial(again.recognizer, config)
                    found[name].append(self._kept(f"decoded/{label}", model, recognizer, settings))
                except OutputError:
                    raise
                except Exception as error:  # like a training that fails
                    self._fail(label, error)
                self.asked[label] = label not in self.failures
        return found

    def _kept(
        self,
        place: str,
        model: Path,
        recognizer: Callable[[Notes], Recognizer],
        settings: Mapping[str, Any] | None = None,
    ) -> Path:
        folder = self.output / place
        self._note(kept(folder, model, {name: self.parts[name] for name in self.scored}, recognizer, settings))
        return folder

    def system(self, name: str, runs: Sequence[Path]) -> System:
        """A system from the runs of it that there are. A model whose predictions are gone predicts again."""
        folders = [
            run
            if not (run / MANIFEST).is_file() or self._answered(run)
            else self._predicted(f"{run.parent.name}/{run.name}", run)
            for run in runs
        ]
        return system_of(name, folders, self.parts)

    def models_given(self, name: str) -> list[Path]:
        """The models of a system that was given."""
        folders = runs_below(self.given[name])
        for folder in folders:
            if not (folder / MANIFEST).is_file():
                raise UsageError(
                    f"--system {name}: {folder} has no model, expected one to decode again; --rows leaves such rows out"
                )
        return folders

    def systems_given(self, names: Collection[str]) -> list[System]:
        """Those of the systems of others that are wanted, scored; models predict once."""
        for name, path in self.given.items():
            if name not in names or name in self.scored_given:
                continue
            runs, folders = [], runs_below(path)
            for run in folders:
                if (run / MANIFEST).is_file() and not self._answered(run):
                    runs.append(self._predicted(name if len(folders) == 1 else f"{name}/{run.name}", run))
                else:
                    runs.append(run)
            self.scored_given[name] = system_of(name, runs, self.parts, format=self.given_format)
        self.asked |= {name: True for name in self.given if name in names}
        return [self.scored_given[name] for name in self.given if name in names]

    def _answered(self, model: Path) -> bool:
        """Whether the predictions that a training left beside its model are for these documents."""
        checkpoint, _ = read_checkpoint(model)
        data = checkpoint.training.get("data") or {}
        return all(
            (model / f"{name}.jsonl").is_file()
            and data.get(name, {}).get("sha256") == self.parts[name].about()["sha256"]
            for name in self.scored
        )

    def _predicted(self, name: str, model: Path) -> Path:
        def recognizer(_: Notes) -> Recognizer:
            self.say(f"predicting with {model}")
            return load(model)

        try:
            return self._kept(f"given/{name}", model, recognizer)
        except (RuntimeError, MemoryError) as error:
            raise UsageError(
                f"{model}: cannot predict ({_one_line(error)}), expected a model for this machine"
            ) from error


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split()) or "no message"
    return text[:300] if isinstance(error, GridnerError) else f"{type(error).__name__}: {text[:300]}"
