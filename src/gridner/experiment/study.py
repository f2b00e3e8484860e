"""What the experiments work on: settings, documents, and a folder where every run is kept.

    OUTPUT/runs/NAME/seed-N      a training, as `gridner train` leaves it
    OUTPUT/decoded/NAME/seed-N   predictions of such a model with other decoding settings
    OUTPUT/given/NAME            predictions of a model that was given

A run that is there and finished is not made again; one that was stopped is gone on with.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridner.calibration import Calibration
from gridner.checkpoint import ABOUT, read_checkpoint
from gridner.config import Config
from gridner.errors import GridnerError, Notes, OutputError, UsageError
from gridner.experiment.paper import Corpus
from gridner.experiment.systems import SCORED, System, runs_below, system_of
from gridner.formats.files import write_text, write_whole
from gridner.lexicon import Lexicon
from gridner.loading import load
from gridner.parts import Part
from gridner.recognizer import Recognizer
from gridner.tuning import Replayed, answers, predictions, settled

if TYPE_CHECKING:
    from gridner.training.loop import Watcher
    from gridner.training.task import Task

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
    failures: dict[str, str] = field(default_factory=dict)  # run → what went wrong
    done: set[Path] = field(default_factory=set)  # runs that there are
    notes: Notes = field(default_factory=Notes)
    scored_given: dict[str, System] = field(default_factory=dict)

    @property
    def scored(self) -> list[str]:
        """The parts that systems are scored on."""
        return [name for name in SCORED if name in self.parts]

    def train(self, wanted: Mapping[str, Config]) -> dict[str, list[Path]]:
        """The folders of all finished runs, by name: each of the settings with every seed. Failures are kept aside."""
        from gridner.training.run import train
        from gridner.training.stopping import Stopped

        found: dict[str, list[Path]] = {name: [] for name in wanted}
        runs = [(name, seed) for name in wanted for seed in self.seeds]
        tasks = [
            self._task(f"{name}/seed-{seed}", wanted[name], len(runs) - n - 1) for n, (name, seed) in enumerate(runs)
        ]
        self._check(tasks, [seed for _, seed in runs])
        for number, (task, (name, seed)) in enumerate(zip(tasks, runs, strict=True)):
            label = f"{name}/seed-{seed}"
            if label in self.failures:
                continue
            notes = Notes()
            watcher = self.watch(f"[{number + 1}/{len(runs)}] {label}", task.config, task.later)
            try:
                train(task, seed=seed, resume=True, watcher=watcher, notes=notes)
            except (Stopped, OutputError):  # the folder is not ours to write to
                raise
            except Exception as error:  # one that fails must not take the others with it
                self.failures[label] = _one_line(error)
                self.say(f"{label} failed: {_one_line(error)}")
            else:
                found[name].append(task.output)
                self.done.add(task.output)
            self._note(notes)
        return found

    def _task(self, label: str, config: Config, later: int) -> Task:
        from gridner.training.task import Task

        return Task(
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

    def _check(self, tasks: Sequence[Task], seeds: Sequence[int]) -> None:
        """Documents that make no sense and folders of other runs are found before the first training."""
        from gridner.training.snapshot import read_state
        from gridner.training.task import SNAPSHOT, check_parts, finished, identity_of

        about = {name: part.about() for name, part in self.parts.items()}
        for task, seed in zip(tasks, seeds, strict=True):
            check_parts(task, Notes())
            identity = identity_of(task, seed, about)
            if finished(task.output, identity, resume=True) is None:
                read_state(task.output / SNAPSHOT, identity)

    def _note(self, notes: Notes) -> None:
        """What a run says of its documents, which others said too, is counted once."""
        for what, count, places in notes:
            if (more := count - self.notes[what]) > 0:
                self.notes.take(what, more, places[-more:])

    def decode(self, wanted: Mapping[str, Config], models: Sequence[Path]) -> dict[str, list[Path]]:
        """Predictions of trained models with other decoding settings, by the name of these."""
        found: dict[str, list[Path]] = {name: [] for name in wanted}
        for model in models:
            recognizer: Recognizer | None = None
            for name, config in wanted.items():
                folder = self.output / "decoded" / name / model.name
                about = self._about(
                    model, {"decoding": config.to_dict()["decoding"], "tune": config.train.tune_thresholds}
                )
                if not _kept(folder, about):
                    if recognizer is None:
                        self.say(f"decoding {model} with other settings")
                        recognizer = load(model)
                        recognizer = replace(recognizer, engine=Replayed(recognizer.engine), calibration=Calibration())
                    self._keep(folder, about, self._with(model, config, recognizer))
                found[name].append(folder)
        return found

    def system(self, name: str, runs: Sequence[Path]) -> System:
        """A system from the runs of it that there are."""
        return system_of(name, runs, self.parts)

    def models_given(self, name: str) -> list[Path]:
        """The models of a system that was given."""
        folders = runs_below(self.given[name])
        for folder in folders:
            if not (folder / ABOUT).is_file():
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
                if (run / ABOUT).is_file() and not self._answered(run):
                    runs.append(self._predicted(name if len(folders) == 1 else f"{name}/{run.name}", run))
                else:
                    runs.append(run)
            self.scored_given[name] = system_of(name, runs, self.parts, format=self.given_format)
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
        folder = self.output / "given" / name
        about = self._about(model, {})
        if not _kept(folder, about):
            self.say(f"predicting with {model}")
            self._keep(folder, about, load(model))
        return folder

    def _with(self, model: Path, config: Config, recognizer: Recognizer) -> Recognizer:
        """A recognizer with other decoding settings; thresholds are chosen anew where that is asked for."""
        checkpoint, _ = read_checkpoint(model)
        kept = replace(checkpoint.config, decoding=config.decoding, train=replace(config.train, calibrate=False))
        checkpoint, _ = settled(
            replace(checkpoint, config=kept),
            replace(recognizer, decoding=config.decoding),
            self.parts["dev"],
            notes=self.notes,
        )
        return replace(recognizer, decoding=checkpoint.config.decoding)

    def _about(self, model: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
        """What predictions rest on: those of other things are made anew."""
        data = {name: self.parts[name].about()["sha256"] for name in self.scored}
        return {"model": hashlib.sha256((model / ABOUT).read_bytes()).hexdigest(), "data": data, **settings}

    def _keep(self, folder: Path, about: Mapping[str, Any], recognizer: Recognizer) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        texts = {
            f"{name}.jsonl": answers(predictions(recognizer, self.parts[name], notes=self.notes))
            for name in self.scored
        }
        for name, text in {**texts, "about.json": json.dumps(about, indent=1)}.items():
            write_whole(folder / name, partial(write_text, text=text), folder=False, force=True)


def _kept(folder: Path, about: Mapping[str, Any]) -> bool:
    path = folder / "about.json"
    return path.is_file() and json.loads(path.read_text(encoding="utf-8")) == json.loads(json.dumps(about))


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split()) or "no message"
    return text[:300] if isinstance(error, GridnerError) else f"{type(error).__name__}: {text[:300]}"
