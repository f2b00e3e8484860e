"""What to train: settings, corpora and output; checks that they fit together; the identity of a run."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gridner.config import Config
from gridner.corpus.gazetteer import Lexicon
from gridner.corpus.splits import Corpus, Part
from gridner.distillation.answer_file import AnswerInfo
from gridner.distillation.sparse_grid import check_same_types
from gridner.errors import Notes, UsageError, plural
from gridner.inference.checkpoint import MANIFEST
from gridner.inference.model_description import ModelAbout
from gridner.tagging.tags import TagScheme, TagSet, TypeGroup

NAME = re.compile(r"\w[\w.-]*")  # of a corpus
MOST_WEIGHT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingTask:
    """What is to be trained: settings, documents, and where the model goes."""

    config: Config
    train: Part
    output: Path
    dev: Part | None = None  # chooses the best epoch and the thresholds
    test: Part | None = None  # scored once, at the end
    name: str = ""  # of the corpus, if there are several
    weight: float = 1.0  # how often an epoch sees its sentences
    more: tuple[Corpus, ...] = ()  # further corpora, each with its own types
    init: Path | None = None  # model to start from
    lexicon: Lexicon = field(default_factory=Lexicon)  # gazetteer to save with the model
    own_names: bool = False  # add the names of the training entities
    about: ModelAbout = field(default_factory=ModelAbout)  # what the model is for, in words
    split: frozenset[str] = frozenset()  # parts that gridner split off the training documents
    later: int = 0  # runs after this one, whose models need room too
    answers: Path | None = None  # of teachers about unlabelled text, which the model learns from as well
    command: str = ""

    @property
    def corpora(self) -> tuple[Corpus, ...]:
        """All corpora. Their order is that of the type groups."""
        return (Corpus(self.name, self.train, self.dev, self.test, self.weight), *self.more)

    def part_name(self, kind: str, corpus: Corpus) -> str:
        """Return train, dev or test, followed by the name of the corpus if there are several."""
        return f"{kind}-{corpus.name}" if self.more else kind

    @property
    def parts(self) -> dict[str, Part]:
        """All parts by name."""
        return {name: part for name, _, part in self.each_part("train", "dev", "test")}

    def each_part(self, *kinds: str) -> Iterator[tuple[str, Corpus, Part]]:
        """Yield the name, corpus and documents of each existing part of these kinds."""
        for kind in kinds:
            for corpus in self.corpora:
                part: Part | None = getattr(corpus, kind)
                if part is not None:
                    yield self.part_name(kind, corpus), corpus, part

    @property
    def scheme(self) -> TagScheme:
        """The tags of all types. If there are several corpora, the types of each form a group."""
        return scheme_of(self.corpora, self.config.model.tags)


def scheme_of(corpora: Sequence[Corpus], tags: TagSet) -> TagScheme:
    """Return the tags of the types of corpora; those of each of several corpora are a group."""
    types = sorted({name for corpus in corpora for name in corpus.train.types})
    groups = tuple(TypeGroup(corpus.name, corpus.train.types) for corpus in corpora) if len(corpora) > 1 else ()
    return TagScheme(tuple(types), tags, groups)


def check_parts(task: TrainingTask, notes: Notes) -> None:
    """Raise UsageError if a part has no entities to learn from or to choose by, or types that train does not have."""
    _check_corpora(task)
    for name, _, part in task.each_part("train", "dev"):
        if not part.types:
            why = "learn from" if name.startswith("train") else "choose by"
            documents = plural(len(part.documents), "document")
            raise UsageError(f"{name}: no entities in {documents}, expected some to {why}")
    known = task.scheme.types
    if task.lexicon and not set(task.lexicon.types) & set(known):
        raise UsageError(f"lexicon: names of {', '.join(task.lexicon.types)}, expected some of {', '.join(known)}")
    if task.answers is not None:
        scheme = AnswerInfo.read(task.answers).scheme
        if wrong := check_same_types(scheme, task.scheme, where=str(task.answers), owner="the training corpus"):
            raise UsageError(wrong)
    texts = {document.text for corpus in task.corpora for document in corpus.train.documents}
    for name, corpus, part in task.each_part("dev", "test"):
        known_types, kind = corpus.train.types, name.partition("-")[0]
        for document in part.documents:
            if document.text in texts:
                notes.add(f"{name}: document that is also in train", document.id)
            for entity in document.entities:
                if entity.type in known_types:
                    continue
                if kind not in task.split:
                    raise UsageError(
                        f"{name}: type {entity.type} in document {document.id}, expected those of "
                        f"{task.part_name('train', corpus)}: {', '.join(known_types)} (use --types to select)"
                    )
                notes.add(f"{name}: entity of a type that train does not have, counts as missed", entity.type)


def _check_corpora(task: TrainingTask) -> None:
    """Raise UsageError if names, weights or dev parts of the corpora do not fit together.

    Names become part of labels and file names. Dev must be given for all corpora or for none.
    """
    names = [corpus.name for corpus in task.corpora]
    for corpus in task.corpora:
        if task.more and not NAME.fullmatch(corpus.name):
            raise UsageError(f"corpus {corpus.name!r}: expected a name of letters, digits, '-', '_' and '.'")
        if task.more and names.count(corpus.name) > 1:
            raise UsageError(f"corpus {corpus.name}: two of this name, expected different names (NAME=PATH)")
        if not 0 < corpus.weight <= MOST_WEIGHT:
            of = f" of {corpus.name}" if corpus.name else ""
            raise UsageError(f"weight {corpus.weight:g}{of}, expected more than 0 and at most {MOST_WEIGHT}")
    with_dev = [corpus.name for corpus in task.corpora if corpus.dev is not None]
    if with_dev and len(with_dev) < len(names):
        without = ", ".join(name for name in names if name not in with_dev)
        raise UsageError(f"dev: none for {without}, expected dev documents for every corpus or for none")


def identity_of(task: TrainingTask, seed: int, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return what must be equal for a run to resume. `cells` may change, so that a run can resume with less memory."""
    settings = task.config.to_dict()
    for name in ("seeds", "snapshot_minutes", "keep_epochs", "cells"):
        del settings["train"][name]
    data = {name: part["sha256"] for name, part in about.items()}
    if task.answers is not None:
        data["answers"] = AnswerInfo.read(task.answers).sha256
    else:
        del settings["distill"]
    init = None
    if task.init is not None and (task.init / MANIFEST).is_file():
        init = hashlib.sha256((task.init / MANIFEST).read_bytes()).hexdigest()
    if task.more:
        data["corpora"] = ", ".join(corpus.name for corpus in task.corpora)  # in the order of the labels
    if any(corpus.weight != 1 for corpus in task.corpora):
        data["weights"] = ", ".join(f"{corpus.weight:g}" for corpus in task.corpora)
    if task.lexicon or task.own_names:
        data["lexicon"] = f"{task.lexicon.about()['sha256']}{', own names' * task.own_names}"
    identity: dict[str, Any] = json.loads(json.dumps({**settings, "data": data, "seed": seed, "init": init}))
    return identity  # as JSON gives it back
