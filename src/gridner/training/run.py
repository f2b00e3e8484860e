"""One training from documents to a model directory."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator

from gridner.checkpoint import ABOUT, Checkpoint, read_checkpoint
from gridner.config import Config
from gridner.documents import Document
from gridner.errors import Notes, OutputError, UsageError
from gridner.evaluate import Evaluation
from gridner.formats.files import write_text, write_whole
from gridner.formats.jsonl import to_json
from gridner.recognizer import Recognizer
from gridner.report import evaluation_json
from gridner.tags import TagScheme
from gridner.trained import TrainedModel, recognizer_of
from gridner.training.card import card_of, versions
from gridner.training.curves import draw_curves
from gridner.training.data import Part, TrainingSet
from gridner.training.loop import Loop, Watcher
from gridner.training.memory import quick
from gridner.training.scoring import best_thresholds, evaluation_of, predictions
from gridner.training.snapshot import State, load_best
from gridner.training.start import Start, continued, device_of, fresh, precision_of
from gridner.training.stopping import Stop

SNAPSHOT = "snapshot"
SPARE = 50 * 2**20  # bytes that must stay free


@dataclass(frozen=True, slots=True)
class Log:
    """Keeps the CSV log up to date and passes on what happens; with neither it is silent."""

    path: Path | None = None
    then: Watcher | None = None

    def step(self, state: State, steps: int, loss: float) -> None:
        """After each step."""
        if self.then is not None:
            self.then.step(state, steps, loss)

    def epoch(self, state: State) -> None:
        """After each epoch."""
        if self.path is not None:
            _write(self.path, _csv(state.history))
        if self.then is not None:
            self.then.epoch(state)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is to be trained: settings, documents, and where the model goes."""

    config: Config
    train: Part
    output: Path
    dev: Part | None = None  # what the epoch and the thresholds are chosen on
    test: Part | None = None  # scored once, in the end
    init: Path | None = None
    command: str = ""

    @property
    def parts(self) -> dict[str, Part]:
        """The parts by name."""
        named = {"train": self.train, "dev": self.dev, "test": self.test}
        return {name: part for name, part in named.items() if part is not None}


def train(
    task: Task, *, seed: int = 1, resume: bool = False, watcher: Watcher | None = None, notes: Notes | None = None
) -> Mapping[str, Any]:
    """Train a model and write it to `task.output`. What the model's `training` has is returned, scores included."""
    notes = Notes() if notes is None else notes
    config = task.config
    check_types(task)
    about = {name: part.about() for name, part in task.parts.items()}
    fingerprint = _fingerprint(task, seed, about)
    if (done := _finished(task.output, fingerprint, resume=resume)) is not None:
        return done
    device = device_of(config.train.device)
    with quick(device):
        return _train(task, seed, device, about, fingerprint, resume=resume, watcher=watcher, notes=notes)


def _train(
    task: Task,
    seed: int,
    device: torch.device,
    about: dict[str, Any],
    fingerprint: str,
    *,
    resume: bool,
    watcher: Watcher | None,
    notes: Notes,
) -> Mapping[str, Any]:
    config = task.config
    accelerator = Accelerator(cpu=device.type == "cpu", mixed_precision=precision_of(config.train.precision, device))
    scheme = TagScheme(task.train.types, config.model.tags)
    if task.init is None:
        start = fresh(config, scheme, task.train.sentences, seed=seed, notes=notes)
    else:
        start = continued(config, scheme, task.init, seed=seed, notes=notes)
    data = TrainingSet(task.train, pieces=start.pieces, config=config, notes=notes)
    folder = task.output / SNAPSHOT
    if accelerator.is_main_process:
        _prepare(task.output, parameters=sum(parameter.numel() for parameter in start.model.parameters()))
    accelerator.wait_for_everyone()
    trained = _model_of(task, start)
    stop = Stop()
    loop = Loop(
        model=start.model,
        scheme=scheme,
        pieces=start.pieces,
        data=data,
        config=config.train,
        seed=seed,
        fingerprint=fingerprint,
        folder=folder,
        accelerator=accelerator,
        evaluate=lambda: _dev_score(task, trained),
        watcher=Log(task.output / "log.csv", watcher) if accelerator.is_main_process else Log(),
        stop=stop,
    )
    with stop.on_signals():
        state = loop.run(resume=resume)
    if not accelerator.is_main_process:
        return {}
    load_best(folder, start.model)
    facts = {
        "fingerprint": fingerprint,
        "command": task.command,
        "seed": seed,
        "device": str(accelerator.device),
        "processes": accelerator.num_processes,
        "epochs": state.epoch,
        "best_epoch": state.best_epoch,
        "seconds": round(state.seconds, 1),
        "examples": len(data.examples) + data.made,
        "versions": versions(),
        "data": about,
        "notes": {what: count for what, count, _ in notes},
    }
    return _finish(task, trained, state, facts)


def check_types(task: Task) -> None:
    """The types of train are those that the model knows."""
    if not task.train.types:
        raise UsageError(f"train: no entities in {len(task.train.documents)} documents, expected some to learn from")
    for name, part in task.parts.items():
        for document in part.documents:
            for entity in document.entities:
                if entity.type not in task.train.types:
                    known = ", ".join(task.train.types)
                    raise UsageError(
                        f"{name}: type {entity.type} in document {document.id}, expected those of train: {known} "
                        "(--types chooses)"
                    )


def _finish(task: Task, trained: TrainedModel, state: State, facts: dict[str, Any]) -> Mapping[str, Any]:
    """Choose the thresholds, score, and write the model with all that goes with it."""
    config = task.config
    if config.train.tune_thresholds and task.dev is not None:
        chosen = best_thresholds(trained.recognizer(), task.dev)
        decoding = replace(config.decoding, link_threshold=chosen.link, end_threshold=chosen.end)
        config = replace(config, decoding=decoding)
    trained.checkpoint = replace(trained.checkpoint, config=config)
    facts["scores"] = {}
    for name, part in task.parts.items():
        if name != "train":
            found = predictions(trained.recognizer(), part)
            facts["scores"][name] = evaluation_json(evaluation_of(part, found))
            _write(task.output / f"{name}.jsonl", answers(found))
    _write(task.output / "log.csv", _csv(state.history))
    draw_curves(state.history, task.output / "curves.png", title=f"{config.model.architecture}, seed {facts['seed']}")
    trained.checkpoint = replace(trained.checkpoint, training=facts)
    trained.card = card_of(trained.checkpoint)
    trained.save_pretrained(task.output)
    shutil.rmtree(task.output / SNAPSHOT)
    return facts


def answers(documents: Sequence[Document]) -> str:
    """Predictions as JSON lines without the texts: ids, types, offsets and scores."""
    lines = []
    for document in documents:
        item = to_json(replace(document, sentences=None, meta={}))
        del item["text"]
        for entity in item["entities"]:
            entity["score"] = round(entity["score"], 4)
        lines.append(json.dumps(item, ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines)


def _model_of(task: Task, start: Start) -> TrainedModel:
    checkpoint = Checkpoint(
        config=task.config,
        types=task.train.types,
        language_model=start.language_model,
        max_pieces=start.pieces.max_pieces,
        version=versions()["gridner"],
    )
    return TrainedModel(start.model, checkpoint, start.pieces)


def _dev_score(task: Task, trained: TrainedModel) -> Evaluation | None:
    if task.dev is None:
        return None
    recognizer: Recognizer = recognizer_of(trained.model, trained.checkpoint, trained.pieces, task.config.decoding)
    return evaluation_of(task.dev, predictions(recognizer, task.dev))


def _write(path: Path, text: str) -> None:
    write_whole(path, lambda part: write_text(part, text), folder=False, force=True)


def _csv(history: Sequence[Mapping[str, float]]) -> str:
    names = list(dict.fromkeys(name for row in history for name in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    for row in history:
        writer.writerow({name: f"{value:.6g}" for name, value in row.items()})
    return out.getvalue()


def _fingerprint(task: Task, seed: int, about: Mapping[str, Any]) -> str:
    """What must be the same for a run to go on."""
    settings = task.config.to_dict()
    for name in ("seeds", "snapshot_minutes"):
        del settings["train"][name]
    data = {name: part["sha256"] for name, part in about.items()}
    init = (task.init / ABOUT).read_text(encoding="utf-8") if task.init and (task.init / ABOUT).is_file() else None
    whole = json.dumps([settings, data, seed, init], sort_keys=True)
    return hashlib.sha256(whole.encode()).hexdigest()


def _finished(output: Path, fingerprint: str, *, resume: bool) -> Mapping[str, Any] | None:
    """What a finished run of the same kind has, if the output is one; anything else there is not overwritten."""
    if output.exists() and not output.is_dir():
        raise OutputError(f"{output}: is a file, expected a new folder")
    if not output.exists() or not any(output.iterdir()):
        return None
    if not resume:
        raise OutputError(f"{output}: exists and is not empty, expected a new folder; --resume goes on with a run")
    if not (output / ABOUT).is_file():
        if (output / SNAPSHOT).is_dir():
            return None
        raise OutputError(f"{output}: is not empty and no run of gridner train, expected one to go on with")
    checkpoint, _ = read_checkpoint(output)
    if checkpoint.training.get("fingerprint") != fingerprint:
        raise OutputError(f"{output}: a finished run with other settings or data, expected a new folder")
    return checkpoint.training


def _prepare(output: Path, *, parameters: int) -> None:
    """Find now, not after the last epoch, that the place cannot be written or is too small."""
    folder = output / SNAPSHOT
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for place in (output, folder):
            probe = place / f".probe-{os.getpid()}"
            probe.write_bytes(b"x")
            probe.unlink()
        free = shutil.disk_usage(output).free + sum(file.stat().st_size for file in folder.iterdir())
    except OSError as error:
        raise OutputError(f"{error.filename or output}: cannot be written ({error.strerror})") from None
    needed = 4 * parameters * 9 + SPARE  # two snapshots of weights and moments, two best, the model
    if free < needed:
        raise OutputError(
            f"{output}: {free / 2**20:,.0f} MB are free, expected at least {needed / 2**20:,.0f} MB for snapshots"
        )
