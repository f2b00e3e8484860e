"""One training from documents to a model folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator

from gridner.config import TrainConfig
from gridner.distillation.answer_file import AnswerInfo
from gridner.errors import Notes, UsageError
from gridner.inference.model_card import versions
from gridner.inference.word_pieces import PieceTokenizer
from gridner.model.toe import Toe
from gridner.model.trained_model import TrainedModel
from gridner.tagging.tags import TagScheme
from gridner.training.cpu import flush_denormals
from gridner.training.device import device_of, precision_of
from gridner.training.diagnostics import feedback_health, tune_candidate_offset
from gridner.training.examples import Example, TrainingSet, examples_of
from gridner.training.interruption import Stop
from gridner.training.loop import Loop, Watcher
from gridner.training.objective import Objective
from gridner.training.processes import accelerator_of, is_first_process
from gridner.training.results import dev_scores, finish, log_of, write_file
from gridner.training.run_folder import EPOCHS, SNAPSHOT, SPARE, finished_run, lock_folder, prepare_folder
from gridner.training.snapshot import State, load_best
from gridner.training.starting_model import start_of, starting_model
from gridner.training.task import TrainingTask, check_parts, identity_of
from gridner.training.unlabelled import Unlabelled


@dataclass(frozen=True, slots=True)
class Log:
    """Writes the CSV log after each epoch, and forwards every event to another watcher."""

    path: Path | None = None
    forward_to: Watcher | None = None

    def begin(self, state: State, steps: int) -> None:
        """Forward the start of the run."""
        if self.forward_to is not None:
            self.forward_to.begin(state, steps)

    def step(self, state: State, steps: int, loss: float) -> None:
        """Forward a finished step."""
        if self.forward_to is not None:
            self.forward_to.step(state, steps, loss)

    def epoch(self, state: State) -> None:
        """Write the log, and forward a finished epoch."""
        if self.path is not None:
            write_file(self.path, log_of(state.history))
        if self.forward_to is not None:
            self.forward_to.epoch(state)


def train_once(
    task: TrainingTask,
    *,
    seed: int = 1,
    resume: bool = False,
    watcher: Watcher | None = None,
    notes: Notes | None = None,
) -> Mapping[str, Any]:
    """Train a model and write it to `task.output`. Return the facts that its manifest keeps, scores included."""
    notes = Notes() if notes is None else notes
    check_parts(task, notes)
    if task.dev is None:
        _note_without_dev(task.config.train, notes)
    about = {name: part.about() for name, part in task.parts.items()}
    identity = identity_of(task, seed, about)
    if (done := finished_run(task.output, identity, resume=resume)) is not None:
        shutil.rmtree(task.output / SNAPSHOT, ignore_errors=True)  # left if it was killed at the very end
        return done
    device = device_of(task.config.train.device)
    try:
        with lock_folder(task.output) if is_first_process() else nullcontext(), flush_denormals(device):
            return _train(task, seed, device, about, identity, resume=resume, watcher=watcher, notes=notes)
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, MemoryError | torch.OutOfMemoryError) or "can't allocate memory" in str(error):
            raise UsageError(
                f"out of memory: expected a train.cells below {task.config.train.cells:,} or a smaller batch; "
                "--resume continues the run with another train.cells"
            ) from error
        raise


def _train(
    task: TrainingTask,
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
    accelerator = accelerator_of(device, precision_of(config.train.precision, device))
    scheme = task.scheme
    start = start_of(task, seed=seed, notes=notes)
    data = TrainingSet(task.corpora, pieces=start.pieces, config=config, notes=notes)
    if config.model.architecture == "w2ner":
        _note_lost_tags(data, scheme, notes)
    unlabelled = None
    if task.answers is not None:
        unlabelled = Unlabelled(
            AnswerInfo.read(task.answers), scheme=scheme, pieces=start.pieces, config=config, seed=seed, notes=notes
        )
    folder = task.output / SNAPSHOT
    if accelerator.is_main_process:
        parameters = sum(parameter.numel() for parameter in start.model.parameters())
        models = (1 + task.later) * (1 + config.train.epochs * config.train.keep_epochs)
        prepare_folder(task.output, needed=4 * parameters * (8 + models) + SPARE)
    accelerator.wait_for_everyone()
    trained = starting_model(task, start, notes)
    stop = Stop()
    loop = Loop(
        model=start.model,
        objective=Objective(config, scheme, start.pieces),
        data=data,
        unlabelled=unlabelled,
        config=config.train,
        seed=seed,
        identity=identity,
        folder=folder,
        accelerator=accelerator,
        diagnose=_diagnosis(task, start.pieces, data),
        evaluate=lambda model: dev_scores(task, model, trained),
        save_epoch=_epoch_saver(task, trained) if config.train.keep_epochs else None,
        watcher=Log(task.output / "log.csv", watcher) if accelerator.is_main_process else Log(),
        stop=stop,
    )
    with stop.on_signals():
        state = loop.run(resume=resume)
    if not accelerator.is_main_process:
        accelerator.wait_for_everyone()
        return {}
    load_best(folder, start.model, state.best_epoch)
    facts = _facts(task, seed, accelerator, state, data, unlabelled, about, identity, trained)
    done = finish(task, trained, state, facts, notes)
    accelerator.wait_for_everyone()
    return done


def _facts(
    task: TrainingTask,
    seed: int,
    accelerator: Accelerator,
    state: State,
    data: TrainingSet,
    unlabelled: Unlabelled | None,
    about: dict[str, Any],
    identity: dict[str, Any],
    trained: TrainedModel,
) -> dict[str, Any]:
    """Return what the manifest says about the run, except scores and notes."""
    return {
        "identity": identity,
        "command": task.command,
        "seed": seed,
        "device": str(accelerator.device),
        "processes": accelerator.num_processes,
        "epochs": state.epoch,
        "best_epoch": state.best_epoch,
        "seconds": round(state.seconds, 1),
        "examples": data.count,
        "versions": versions(),
        "data": about,
        **({"weights": {corpus.name: corpus.weight for corpus in task.corpora}} if task.more else {}),
        "lexicon": trained.checkpoint.lexicon.about() if trained.checkpoint.lexicon else None,
        **({"distillation": unlabelled.about()} if unlabelled is not None else {}),
    }


def _diagnosis(task: TrainingTask, pieces: PieceTokenizer, data: TrainingSet) -> Callable[[Toe], dict[str, float]]:
    """Return a function that tunes the candidates on dev and measures the feedback, for the log of an epoch."""
    dev = _dev_examples(task, pieces)

    def diagnose(model: Toe) -> dict[str, float]:
        columns: dict[str, float] = {}
        if model.candidates is not None and dev:
            recall = task.config.train.candidate_recall
            columns |= tune_candidate_offset(model, model.candidates, dev, pieces, recall)
        return columns | feedback_health(model, dev or data.examples, pieces)

    return diagnose


def _epoch_saver(task: TrainingTask, trained: TrainedModel) -> Callable[[Toe, int], None]:
    def save_epoch(model: Toe, epoch: int) -> None:
        TrainedModel(model, trained.checkpoint, trained.pieces).save_pretrained(task.output / EPOCHS / str(epoch))

    return save_epoch


def _dev_examples(task: TrainingTask, pieces: PieceTokenizer) -> list[Example]:
    """Return the dev sentences with mentions as examples, each in the group of its corpus."""
    examples: list[Example] = []
    for group, corpus in enumerate(task.corpora):
        annotated = [] if corpus.dev is None else [sentence for sentence in corpus.dev.sentences if sentence.mentions]
        examples += examples_of(annotated, pieces=pieces, settings=task.config.decoding, notes=Notes(), group=group)
    return examples


def _note_without_dev(config: TrainConfig, notes: Notes) -> None:
    """Count the settings that have no effect without dev documents."""
    wanted = {"tune_thresholds": config.tune_thresholds, "calibrate": config.calibrate, "patience": config.patience}
    for name in (name for name, asked in wanted.items() if asked):
        notes.add("setting that needs dev, without effect", f"train.{name}")


def _note_lost_tags(data: TrainingSet, scheme: TagScheme, notes: Notes) -> None:
    """Count the cells with several tags: W2NER learns one label per cell."""
    known = scheme.group_labels
    for example in data.distinct:
        words = len(example.words.words)
        tags = scheme.encode(example.mentions, words)[:, :, known[example.group]]
        for _ in range(int((tags.sum(axis=-1) > 1).sum())):
            notes.add("cell with several tags, of which W2NER learns one", f"a sentence of {words} words")
