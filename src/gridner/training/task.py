"""What is to be trained, whether that makes sense, and whether its folder can take it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gridner.config import Config
from gridner.corpus.gazetteer import Lexicon
from gridner.corpus.splits import Corpus, Part
from gridner.distillation.answer_file import AnswerInfo
from gridner.distillation.sparse_grid import check_same_types
from gridner.errors import Notes, OutputError, UsageError, plural
from gridner.inference.about import ModelAbout
from gridner.inference.checkpoint import MANIFEST, read_checkpoint
from gridner.locking import only_process
from gridner.tagging.tags import TagScheme, TagSet, TypeGroup
from gridner.training.snapshot import differences

SNAPSHOT, EPOCHS = "snapshot", "epochs"
NAME = re.compile(r"\w[\w.-]*")  # of a corpus
MOST_WEIGHT = 100
SPARE = 50 * 2**20  # bytes that must stay free


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingTask:
    """What is to be trained: settings, documents, and where the model goes."""

    config: Config
    train: Part
    output: Path
    dev: Part | None = None  # what the epoch and the thresholds are chosen on
    test: Part | None = None  # scored once, in the end
    name: str = ""  # of the corpus, where there are more
    weight: float = 1.0  # how often an epoch sees its sentences
    more: tuple[Corpus, ...] = ()  # other corpora, which mark types of their own
    init: Path | None = None
    lexicon: Lexicon = field(default_factory=Lexicon)  # names that are known
    own_names: bool = False  # those of train too
    about: ModelAbout = field(default_factory=ModelAbout)  # what the model is for, in words
    split: frozenset[str] = frozenset()  # parts that gridner itself took from the training documents
    later: int = 0  # models that are to come after this one, for which there must be room
    answers: Path | None = None  # of teachers about unlabelled text, which the model learns from as well
    command: str = ""

    @property
    def corpora(self) -> tuple[Corpus, ...]:
        """All corpora, in the order of the groups of types."""
        return (Corpus(self.name, self.train, self.dev, self.test, self.weight), *self.more)

    def part_name(self, kind: str, corpus: Corpus) -> str:
        """Return train, dev or test, with the name of the corpus where there are several."""
        return f"{kind}-{corpus.name}" if self.more else kind

    @property
    def parts(self) -> dict[str, Part]:
        """The parts by name."""
        return {name: part for name, _, part in self.each_part("train", "dev", "test")}

    def each_part(self, *kinds: str) -> Iterator[tuple[str, Corpus, Part]]:
        """Yield the parts of these kinds that there are, by name, with their corpus."""
        for kind in kinds:
            for corpus in self.corpora:
                part: Part | None = getattr(corpus, kind)
                if part is not None:
                    yield self.part_name(kind, corpus), corpus, part

    @property
    def scheme(self) -> TagScheme:
        """The tags of all types; those of each of several corpora are a group."""
        return scheme_of(self.corpora, self.config.model.tags)


def scheme_of(corpora: Sequence[Corpus], tags: TagSet) -> TagScheme:
    """Return the tags of the types of corpora; those of each of several corpora are a group."""
    types = sorted({name for corpus in corpora for name in corpus.train.types})
    groups = tuple(TypeGroup(corpus.name, corpus.train.types) for corpus in corpora) if len(corpora) > 1 else ()
    return TagScheme(tuple(types), tags, groups)


def check_parts(task: TrainingTask, notes: Notes) -> None:
    """The types of train are those that the model knows; dev must have something to choose by."""
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
        own, kind = corpus.train.types, name.partition("-")[0]
        for document in part.documents:
            if document.text in texts:
                notes.add(f"{name}: document that is also in train", document.id)
            for entity in document.entities:
                if entity.type in own:
                    continue
                if kind not in task.split:
                    raise UsageError(
                        f"{name}: type {entity.type} in document {document.id}, expected those of "
                        f"{task.part_name('train', corpus)}: {', '.join(own)} (--types chooses)"
                    )
                notes.add(f"{name}: entity of a type that train does not have, counts as missed", entity.type)


def _check_corpora(task: TrainingTask) -> None:
    """Names go into labels and into file names, and dev chooses for all corpora or for none."""
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
    """What must be the same for a run to go on. (Where memory is short, it may go on with other `cells`.)"""
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
        data["corpora"] = ", ".join(corpus.name for corpus in task.corpora)  # their order is that of the labels
    if any(corpus.weight != 1 for corpus in task.corpora):
        data["weights"] = ", ".join(f"{corpus.weight:g}" for corpus in task.corpora)
    if task.lexicon or task.own_names:
        data["lexicon"] = f"{task.lexicon.about()['sha256']}{', own names' * task.own_names}"
    identity: dict[str, Any] = json.loads(json.dumps({**settings, "data": data, "seed": seed, "init": init}))
    return identity  # as it comes back from a file


def finished(output: Path, identity: Mapping[str, Any], *, resume: bool) -> Mapping[str, Any] | None:
    """What a finished run of the same kind has, if the output is one; anything else there is not overwritten."""
    if output.exists() and not output.is_dir():
        raise OutputError(f"{output}: is a file, expected a new folder")
    if not output.exists() or not any(output.iterdir()):
        return None
    if not resume:
        raise OutputError(f"{output}: exists and is not empty, expected a new folder; --resume goes on with a run")
    if not (output / MANIFEST).is_file():
        if (output / SNAPSHOT).is_dir():
            return None
        raise OutputError(f"{output}: is not empty and no run of gridner train, expected one to go on with")
    checkpoint, _ = read_checkpoint(output)
    if differing := differences(checkpoint.training.get("identity", {}), identity):
        raise OutputError(f"{output}: a finished run with {differing}, expected a new folder")
    return checkpoint.training


def alone(output: Path) -> AbstractContextManager[None]:
    """Hold the folder of a run, or raise InUseError if another process trains there."""
    return only_process(output, f"{output}: another process trains there, expected a folder of its own")


def prepare(output: Path, *, needed: int) -> None:
    """Find now, not after the last epoch, that the place cannot be written or is too small.

    Needed are two snapshots of weights and moments, two times the best weights, and the model.
    """
    folder = output / SNAPSHOT
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for place in (output, folder, *(output / EPOCHS).glob("*")):  # of a run that was killed while it wrote
            for left in (*place.glob(".tmp*"), *place.glob("*.part")):
                left.unlink()
        for place in (output, folder):
            probe = place / f".probe-{os.getpid()}"
            probe.write_bytes(b"x")
            probe.unlink()
        own = (file for place in (folder, output / EPOCHS) for file in place.rglob("*") if file.is_file())
        free = shutil.disk_usage(output).free + sum(file.stat().st_size for file in own)
    except OSError as error:
        raise OutputError(f"{error.filename or output}: cannot be written ({error.strerror})") from None
    if free < needed:
        raise OutputError(
            f"{output}: {free / 2**20:,.0f} MB are free, expected at least {needed / 2**20:,.0f} MB for snapshots"
        )
