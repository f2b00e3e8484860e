"""The model of a run before its first step: network, tokenizer, settings and gazetteer."""

from __future__ import annotations

from dataclasses import replace

from gridner.corpus.gazetteer import fitting_names, names_of
from gridner.errors import Notes
from gridner.inference.checkpoint import Checkpoint
from gridner.inference.model_card import versions
from gridner.model.trained_model import TrainedModel
from gridner.training.initialization import Start, continued, fresh
from gridner.training.task import TrainingTask


def start_of(task: TrainingTask, *, seed: int, notes: Notes) -> Start:
    """Return the network that the task starts from: a new one, or that of the model `task.init`."""
    if task.init is not None:
        return continued(task.config, task.scheme, task.init, seed=seed, notes=notes)
    sentences = [sentence for corpus in task.corpora for sentence in corpus.train.sentences]
    return fresh(task.config, task.scheme, sentences, seed=seed, notes=notes)


def starting_model(task: TrainingTask, start: Start, notes: Notes) -> TrainedModel:
    """Return the network with the task's settings, types and gazetteer. It is trained in place."""
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
        lexicon=fitting_names(lexicon, [corpus.train.sentences for corpus in task.corpora], notes=notes),
        about=task.about.only(task.scheme.types),
    )
    return TrainedModel(start.model, checkpoint, start.pieces)
