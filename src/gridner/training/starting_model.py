"""The model of a run before its first step: network, tokenizer, settings and gazetteer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gridner.corpus.gazetteer import Lexicon, names_of
from gridner.corpus.splits import Corpus
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
        lexicon=_fitting_names(lexicon, task.corpora, notes),
        about=task.about.only(task.scheme.types),
    )
    return TrainedModel(start.model, checkpoint, start.pieces)


def _fitting_names(lexicon: Lexicon, corpora: Sequence[Corpus], notes: Notes) -> Lexicon:
    """Return the names that fit the training sentences of the corpora that mark their type."""
    if len(corpora) == 1:
        return lexicon.suited(corpora[0].train.sentences, notes=notes)
    fitting = Lexicon()
    for corpus in corpora:
        own = Lexicon((type, name) for type, name in lexicon if type in corpus.train.types)
        fitting |= own.suited(corpus.train.sentences, notes=notes)
    known = {type for corpus in corpora for type in corpus.train.types}
    return fitting | Lexicon((type, name) for type, name in lexicon if type not in known).suited((), notes=notes)
