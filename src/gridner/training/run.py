"""One training from documents to a model directory."""

from __future__ import annotations

import atexit
import csv
import gc
import io
import os
import shutil
import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator, InitProcessGroupKwargs

from gridner.config import TrainConfig
from gridner.corpus.gazetteer import names_of
from gridner.errors import Notes, UsageError
from gridner.files import write_text, write_whole
from gridner.inference.checkpoint import Checkpoint
from gridner.inference.model_card import card_of, versions
from gridner.inference.recognizer import Recognizer
from gridner.inference.tuning import Replayed, answers, evaluation_of, predictions, settled, tuned
from gridner.model.toe import Toe
from gridner.model.trained import TrainedModel, recognizer_of
from gridner.scoring.evaluation import Evaluation
from gridner.scoring.serialization import evaluation_json
from gridner.tagging.tags import TagScheme
from gridner.training.cpu import flush_denormals
from gridner.training.curves import draw_curves
from gridner.training.data import TrainingSet, examples_of
from gridner.training.examine import feedback_health, settle_candidates
from gridner.training.initialization import Start, continued, device_of, fresh, precision_of
from gridner.training.interruption import Stop
from gridner.training.loop import Loop, Watcher
from gridner.training.objective import Objective
from gridner.training.snapshot import State, load_best
from gridner.training.task import EPOCHS, SNAPSHOT, SPARE, Task, alone, check_parts, finished, identity_of, prepare

PATIENCE = timedelta(hours=12)  # of processes that wait while the first scores dev


@dataclass(frozen=True, slots=True)
class Log:
    """Keeps the CSV log up to date and passes on what happens; with neither it is silent."""

    path: Path | None = None
    then: Watcher | None = None

    def begin(self, state: State, steps: int) -> None:
        """Before the first step."""
        if self.then is not None:
            self.then.begin(state, steps)

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


def train(
    task: Task, *, seed: int = 1, resume: bool = False, watcher: Watcher | None = None, notes: Notes | None = None
) -> Mapping[str, Any]:
    """Train a model and write it to `task.output`. What the model's `training` has is returned, scores included."""
    notes = Notes() if notes is None else notes
    check_parts(task, notes)
    if task.dev is None:
        _note_without_dev(task.config.train, notes)
    about = {name: part.about() for name, part in task.parts.items()}
    identity = identity_of(task, seed, about)
    if (done := finished(task.output, identity, resume=resume)) is not None:
        shutil.rmtree(task.output / SNAPSHOT, ignore_errors=True)  # of one that was killed when all was written
        return done
    device = device_of(task.config.train.device)
    first = os.environ.get("RANK", "0") == "0"  # of several processes of one training
    try:
        with alone(task.output) if first else nullcontext(), flush_denormals(device):
            return _train(task, seed, device, about, identity, resume=resume, watcher=watcher, notes=notes)
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, MemoryError | torch.OutOfMemoryError) or "can't allocate memory" in str(error):
            raise UsageError(
                f"out of memory: expected a train.cells below {task.config.train.cells:,} or a smaller batch; "
                "--resume goes on with another train.cells"
            ) from error
        raise


def _train(
    task: Task,
    seed: int,
    device: torch.device,
    about: dict[str, Any],
    identity: dict[str, Any],
    *,
    resume: bool,
    watcher: Watcher | None,
    notes: Notes,
) -> Mapping[str, Any]:
    config = task.config
    if os.environ.get("WORLD_SIZE", "1") != "1":
        import torch.distributed.nn.functional  # noqa: F401  # imported later, its defaults would keep the group (_leave)
    accelerator = Accelerator(
        cpu=device.type == "cpu",
        mixed_precision=precision_of(config.train.precision, device),
        kwargs_handlers=[InitProcessGroupKwargs(timeout=PATIENCE)],
    )
    if accelerator.num_processes > 1:
        atexit.register(_leave)
        warnings.filterwarnings("ignore", message="Grad strides do not match bucket view strides")  # costs a copy
    scheme = TagScheme(task.train.types, config.model.tags)
    if task.init is None:
        start = fresh(config, scheme, task.train.sentences, seed=seed, notes=notes)
    else:
        start = continued(config, scheme, task.init, seed=seed, notes=notes)
    data = TrainingSet(task.train, pieces=start.pieces, config=config, notes=notes)
    if config.model.architecture == "w2ner":
        _note_lost_tags(data, scheme, notes)
    folder = task.output / SNAPSHOT
    if accelerator.is_main_process:
        parameters = sum(parameter.numel() for parameter in start.model.parameters())
        models = (1 + task.later) * (1 + config.train.epochs * config.train.keep_epochs)
        prepare(task.output, needed=4 * parameters * (8 + models) + SPARE)
    accelerator.wait_for_everyone()
    trained = _model_of(task, start, notes)
    stop = Stop()
    marked = [] if task.dev is None else [sentence for sentence in task.dev.sentences if sentence.mentions]
    dev = examples_of(marked, pieces=start.pieces, settings=config.decoding, notes=Notes())

    def examine(model: Toe) -> dict[str, float]:
        found: dict[str, float] = {}
        if model.candidates is not None and dev:
            recall = config.train.candidate_recall
            found |= settle_candidates(model, model.candidates, dev, start.pieces, recall)
        return found | feedback_health(model, dev or data.examples, start.pieces)

    def keep(model: Toe, epoch: int) -> None:
        kept = TrainedModel(model, trained.checkpoint, trained.pieces)
        kept.save_pretrained(task.output / EPOCHS / str(epoch))

    loop = Loop(
        model=start.model,
        objective=Objective(config, scheme, start.pieces),
        data=data,
        config=config.train,
        seed=seed,
        identity=identity,
        folder=folder,
        accelerator=accelerator,
        examine=examine,
        evaluate=lambda model: _dev_score(task, model, trained),
        keep=keep if config.train.keep_epochs else None,
        watcher=Log(task.output / "log.csv", watcher) if accelerator.is_main_process else Log(),
        stop=stop,
    )
    with stop.on_signals():
        state = loop.run(resume=resume)
    if not accelerator.is_main_process:
        accelerator.wait_for_everyone()
        return {}
    load_best(folder, start.model, state.best_epoch)
    facts = {
        "identity": identity,
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
        "lexicon": trained.checkpoint.lexicon.about() if trained.checkpoint.lexicon else None,
    }
    done = _finish(task, trained, state, facts, notes)
    accelerator.wait_for_everyone()
    return done


def _leave() -> None:
    """At the end of the program: a process that just goes makes the others abort.

    The group ends its threads with its last reference. One that is left and frees a tensor while Python itself ends
    takes the process with it.
    """
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
        gc.collect()  # the network in its wrapper refers to itself, and to the group


def _note_without_dev(config: TrainConfig, notes: Notes) -> None:
    wanted = {"tune_thresholds": config.tune_thresholds, "calibrate": config.calibrate, "patience": config.patience}
    for name in (name for name, asked in wanted.items() if asked):
        notes.add("setting that needs dev, without effect", f"train.{name}")


def _note_lost_tags(data: TrainingSet, scheme: TagScheme, notes: Notes) -> None:
    """W2NER has one label a cell."""
    for example in data.examples[: data.distinct]:
        words = len(example.words.words)
        for _ in range(int((scheme.encode(example.mentions, words).sum(axis=-1) > 1).sum())):
            notes.add("cell with several tags, of which W2NER learns one", f"a sentence of {words} words")


def _finish(task: Task, trained: TrainedModel, state: State, facts: dict[str, Any], notes: Notes) -> Mapping[str, Any]:
    """Choose the decoding settings, score, and write the model with all that goes with it."""
    replayed = Replayed(trained.recognizer().engine)
    if task.dev is not None:
        recognizer = replace(trained.recognizer(), engine=replayed)
        trained.checkpoint, meaning = settled(trained.checkpoint, recognizer, task.dev, notes=notes)
        facts["reliability"] = meaning
    facts["scores"] = {}
    for name, part in task.parts.items():
        if name != "train":
            recognizer = trained.recognizer()
            if name == "dev":
                recognizer = replace(recognizer, engine=replayed)
            found = predictions(recognizer, part, notes=notes)
            facts["scores"][name] = evaluation_json(evaluation_of(part, found))
            _write(task.output / f"{name}.jsonl", answers(found))
            if name in task.split:
                _write(task.output / f"{name}.ids", "".join(f"{document.id}\n" for document in part.documents))
    facts["notes"] = {what: count for what, count, _ in notes}
    _write(task.output / "log.csv", _csv(state.history))
    title = f"{task.config.model.architecture}, seed {facts['seed']}"
    draw_curves(state.history, task.output / "curves.png", title=title)
    trained.checkpoint = replace(trained.checkpoint, training=facts)
    trained.card = card_of(trained.checkpoint)
    trained.save_pretrained(task.output)
    shutil.rmtree(task.output / SNAPSHOT)
    return facts


def _model_of(task: Task, start: Start, notes: Notes) -> TrainedModel:
    lexicon = start.lexicon | task.lexicon
    if task.own_names:
        lexicon |= names_of(task.train.sentences)
    config = replace(task.config, model=replace(task.config.model, encoder=start.encoder))
    checkpoint = Checkpoint(
        config=config,
        types=task.train.types,
        language_model=start.language_model,
        max_pieces=start.pieces.max_pieces,
        version=versions()["gridner"],
        lexicon=lexicon.suited(task.train.sentences, notes=notes),
    )
    return TrainedModel(start.model, checkpoint, start.pieces)


def _dev_score(task: Task, model: Toe, trained: TrainedModel) -> Evaluation | None:
    if task.dev is None:
        return None
    recognizer: Recognizer = recognizer_of(model, trained.checkpoint, trained.pieces, task.config.decoding)
    if task.config.train.tune_thresholds:
        recognizer = replace(recognizer, engine=Replayed(recognizer.engine))
        recognizer = replace(recognizer, decoding=tuned(recognizer, task.dev).decoding)
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
