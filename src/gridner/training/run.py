"""One training from documents to a model directory."""

from __future__ import annotations

import atexit
import gc
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
from gridner.corpus.gazetteer import Lexicon, names_of
from gridner.corpus.splits import Corpus
from gridner.distillation.answer_file import AnswerInfo
from gridner.errors import Notes, UsageError
from gridner.inference.checkpoint import Checkpoint
from gridner.inference.model_card import versions
from gridner.inference.word_pieces import PieceTokenizer
from gridner.model.toe import Toe
from gridner.model.trained import TrainedModel
from gridner.tagging.tags import TagScheme
from gridner.training.cpu import flush_denormals
from gridner.training.data import Example, TrainingSet, examples_of
from gridner.training.device import device_of, precision_of
from gridner.training.examine import feedback_health, settle_candidates
from gridner.training.initialization import Start, continued, fresh
from gridner.training.interruption import Stop
from gridner.training.loop import Loop, Watcher
from gridner.training.objective import Objective
from gridner.training.results import dev_scores, finish, log_of, write_file
from gridner.training.snapshot import State, load_best
from gridner.training.task import (
    EPOCHS,
    SNAPSHOT,
    SPARE,
    TrainingTask,
    alone,
    check_parts,
    finished,
    identity_of,
    prepare,
)
from gridner.training.unlabelled import Unlabelled

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
            write_file(self.path, log_of(state.history))
        if self.then is not None:
            self.then.epoch(state)


def train_once(
    task: TrainingTask,
    *,
    seed: int = 1,
    resume: bool = False,
    watcher: Watcher | None = None,
    notes: Notes | None = None,
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
    scheme = task.scheme
    if task.init is None:
        sentences = [sentence for corpus in task.corpora for sentence in corpus.train.sentences]
        start = fresh(config, scheme, sentences, seed=seed, notes=notes)
    else:
        start = continued(config, scheme, task.init, seed=seed, notes=notes)
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
        prepare(task.output, needed=4 * parameters * (8 + models) + SPARE)
    accelerator.wait_for_everyone()
    trained = _model_of(task, start, notes)
    stop = Stop()
    dev = _dev_examples(task, start.pieces)

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
        unlabelled=unlabelled,
        config=config.train,
        seed=seed,
        identity=identity,
        folder=folder,
        accelerator=accelerator,
        examine=examine,
        evaluate=lambda model: dev_scores(task, model, trained),
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
        "examples": data.count,
        "versions": versions(),
        "data": about,
        **({"weights": {corpus.name: corpus.weight for corpus in task.corpora}} if task.more else {}),
        "lexicon": trained.checkpoint.lexicon.about() if trained.checkpoint.lexicon else None,
        **({"distillation": unlabelled.about()} if unlabelled is not None else {}),
    }
    done = finish(task, trained, state, facts, notes)
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


def _dev_examples(task: TrainingTask, pieces: PieceTokenizer) -> list[Example]:
    """The dev sentences with mentions, of the group that their corpus is."""
    found: list[Example] = []
    for group, corpus in enumerate(task.corpora):
        marked = [] if corpus.dev is None else [sentence for sentence in corpus.dev.sentences if sentence.mentions]
        found += examples_of(marked, pieces=pieces, settings=task.config.decoding, notes=Notes(), group=group)
    return found


def _note_lost_tags(data: TrainingSet, scheme: TagScheme, notes: Notes) -> None:
    """W2NER has one label a cell."""
    known = scheme.group_labels
    for example in data.distinct:
        words = len(example.words.words)
        tags = scheme.encode(example.mentions, words)[:, :, known[example.group]]
        for _ in range(int((tags.sum(axis=-1) > 1).sum())):
            notes.add("cell with several tags, of which W2NER learns one", f"a sentence of {words} words")


def _model_of(task: TrainingTask, start: Start, notes: Notes) -> TrainedModel:
    lexicon = start.lexicon | task.lexicon
    if task.own_names:
        for corpus in task.corpora:
            lexicon |= names_of(corpus.train.sentences)
    config = replace(task.config, model=replace(task.config.model, encoder=start.encoder))
    checkpoint = Checkpoint(
        config=config,
        types=task.scheme.types,
        groups=task.scheme.groups if task.more else (),
        language_model=start.language_model,
        max_pieces=start.pieces.max_pieces,
        version=versions()["gridner"],
        lexicon=_suited(lexicon, task.corpora, notes),
        about=task.about.only(task.scheme.types),
    )
    return TrainedModel(start.model, checkpoint, start.pieces)


def _suited(lexicon: Lexicon, corpora: Sequence[Corpus], notes: Notes) -> Lexicon:
    """The names that suit the corpora: those of a type suit one that marks it."""
    if len(corpora) == 1:
        return lexicon.suited(corpora[0].train.sentences, notes=notes)
    found = Lexicon()
    for corpus in corpora:
        own = Lexicon((type, name) for type, name in lexicon if type in corpus.train.types)
        found |= own.suited(corpus.train.sentences, notes=notes)
    known = {type for corpus in corpora for type in corpus.train.types}
    return found | Lexicon((type, name) for type, name in lexicon if type not in known).suited((), notes=notes)
