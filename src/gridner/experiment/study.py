"""What the experiments work on: settings, documents, and a folder with every run.

    OUTPUT/runs/NAME/seed-N      a training, as `gridner train` leaves it
    OUTPUT/decoded/NAME/seed-N   predictions of such a model with other decoding settings
    OUTPUT/given/NAME            predictions of a model of --system

A finished run is reused; an interrupted one is resumed.
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
from gridner.experiment.cached_predictions import Redecoder, add_missing, cache_predictions
from gridner.experiment.paper_results import Corpus
from gridner.experiment.run_record import OtherSystems, RunRecord
from gridner.experiment.systems import SCORED, System, runs_below, system_of
from gridner.inference.checkpoint import MANIFEST, read_checkpoint
from gridner.inference.loading import load
from gridner.inference.recognizer import Recognizer

if TYPE_CHECKING:
    from gridner.training.loop import Watcher
    from gridner.training.task import TrainingTask

BASE = "toe"  # the name of the runs with unchanged settings


@dataclass(slots=True, kw_only=True)
class Study:
    """A corpus, settings, and where the runs are kept."""

    config: Config
    parts: Mapping[str, Part]
    output: Path
    seeds: Sequence[int] = (1,)
    lexicon: Lexicon = field(default_factory=Lexicon)
    own_names: bool = False
    others: OtherSystems = field(default_factory=OtherSystems)
    rows: Sequence[str] | None = None  # of the tables; None: all
    paper: Corpus | None = None  # whose published results stand beside
    command: str = ""
    watch: Callable[[str, Config, int], Watcher | None] = lambda name, config, later: None  # noqa: ARG005
    say: Callable[[str], None] = lambda text: None  # noqa: ARG005
    notes: Notes = field(default_factory=Notes)
    runs: RunRecord = field(default_factory=RunRecord)

    @property
    def scored(self) -> list[str]:
        """The parts that systems are scored on."""
        return [name for name in SCORED if name in self.parts]

    def plan(self, wanted: Mapping[str, Config], *, unnamed: int = 0) -> None:
        """Add runs to the plan, and raise now what would stop one of them later."""
        self._check(wanted)
        self.runs.planned |= wanted
        self.runs.unnamed += unnamed

    def train(self, wanted: Mapping[str, Config]) -> dict[str, list[Path]]:
        """Train each configuration with every seed. Return the folders of finished runs, and record failures."""
        from gridner.training.interruption import Stopped
        from gridner.training.run import train_once

        new = {name: config for name, config in wanted.items() if name not in self.runs.planned}
        self.plan(new, unnamed=-min(self.runs.unnamed, len(new)))
        found: dict[str, list[Path]] = {name: [] for name in wanted}
        for name, seed in ((name, seed) for name in wanted for seed in self.seeds):
            label = f"{name}/seed-{seed}"
            self.runs.started.add(label)
            if label not in self.runs.failures:
                task = self._task(label, wanted[name], self.runs.remaining(self.seeds))
                count = f"{len(self.runs.started)}/{self.runs.total(self.seeds)}"
                watcher = self.watch(f"[{count}] {label}", task.config, task.later)
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
                    self.runs.finished.add(label)
                    add_missing(notes, facts.get("notes", {}))
                self._note(notes)
            self.runs.has_result[label] = label not in self.runs.failures
        return found

    def _fail(self, label: str, error: Exception) -> None:
        self.runs.failures[label] = _one_line(error)
        self.say(f"{label} failed: {_one_line(error)}")

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
        """Raise an error if the documents cannot be trained on."""
        from gridner.training.task import check_parts

        check_parts(self._task("", self.config, 0), Notes())

    def _check(self, wanted: Mapping[str, Config]) -> None:
        """Raise an error for unusable documents, folders of other runs and missing encoders."""
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
                    self.runs.finished.add(f"{name}/seed-{seed}")
                else:
                    read_state(task.output / SNAPSHOT, identity)
                    encoders.add(config.model.encoder)
        for encoder in sorted(encoders - {"tiny"}):
            encoder_path(encoder)

    def _note(self, notes: Notes) -> None:
        """Add the notes of a run; what several runs note about the same documents counts once."""
        for what, count, places in notes:
            if (more := count - self.notes[what]) > 0:
                self.notes.take(what, more, places[-more:])

    def decode(self, wanted: Mapping[str, Config], models: Sequence[Path]) -> dict[str, list[Path]]:
        """Predict with trained models and other decoding settings. Return the folders by the name of the settings."""
        found: dict[str, list[Path]] = {name: [] for name in wanted}
        for model in models:
            redecoder = Redecoder(model, self.parts["dev"], self.say)
            for name, config in wanted.items():
                label = f"{name}/{model.name}"
                settings = {"decoding": config.to_dict()["decoding"], "tune": config.train.tune_thresholds}
                try:
                    recognizer = partial(redecoder.recognizer, config)
                    found[name].append(self._cache(f"decoded/{label}", model, recognizer, settings))
                except OutputError:
                    raise
                except Exception as error:  # like a training that fails
                    self._fail(label, error)
                self.runs.has_result[label] = label not in self.runs.failures
        return found

    def _cache(
        self,
        place: str,
        model: Path,
        recognizer: Callable[[Notes], Recognizer],
        settings: Mapping[str, Any] | None = None,
    ) -> Path:
        folder = self.output / place
        parts = {name: self.parts[name] for name in self.scored}
        self._note(cache_predictions(folder, model, parts, recognizer, settings))
        return folder

    def system(self, name: str, runs: Sequence[Path]) -> System:
        """Score a system by its finished runs. A model without its predictions predicts again."""
        folders = [
            run
            if not (run / MANIFEST).is_file() or self._has_predictions(run)
            else self._predicted(f"{run.parent.name}/{run.name}", run)
            for run in runs
        ]
        return system_of(name, folders, self.parts)

    def models_of_other(self, name: str) -> list[Path]:
        """Return the model folders of a system of --system."""
        folders = runs_below(self.others.paths[name])
        for folder in folders:
            if not (folder / MANIFEST).is_file():
                raise UsageError(
                    f"--system {name}: {folder} has no model, expected one to decode again; --rows leaves such rows out"
                )
        return folders

    def other_systems(self, names: Collection[str]) -> list[System]:
        """Score the systems of --system with these names; a model predicts once."""
        for name, path in self.others.paths.items():
            if name not in names or name in self.others.scored:
                continue
            runs, folders = [], runs_below(path)
            for run in folders:
                if (run / MANIFEST).is_file() and not self._has_predictions(run):
                    runs.append(self._predicted(name if len(folders) == 1 else f"{name}/{run.name}", run))
                else:
                    runs.append(run)
            self.others.scored[name] = system_of(name, runs, self.parts, format=self.others.format)
        self.runs.has_result |= {name: True for name in self.others.paths if name in names}
        return [self.others.scored[name] for name in self.others.paths if name in names]

    def _has_predictions(self, model: Path) -> bool:
        """Return whether the folder of a model has its predictions for these documents."""
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
            return self._cache(f"given/{name}", model, recognizer)
        except (RuntimeError, MemoryError) as error:
            raise UsageError(
                f"{model}: cannot predict ({_one_line(error)}), expected a model for this machine"
            ) from error


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split()) or "no message"
    return text[:300] if isinstance(error, GridnerError) else f"{type(error).__name__}: {text[:300]}"
