"""What is to be trained, whether that makes sense, and whether its folder can take it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gridner.config import Config
from gridner.corpus.gazetteer import Lexicon
from gridner.corpus.splits import Part
from gridner.errors import Notes, OutputError, UsageError, plural
from gridner.inference.checkpoint import ABOUT, read_checkpoint
from gridner.locking import only_process
from gridner.training.snapshot import differences

SNAPSHOT, EPOCHS = "snapshot", "epochs"
SPARE = 50 * 2**20  # bytes that must stay free


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is to be trained: settings, documents, and where the model goes."""

    config: Config
    train: Part
    output: Path
    dev: Part | None = None  # what the epoch and the thresholds are chosen on
    test: Part | None = None  # scored once, in the end
    init: Path | None = None
    lexicon: Lexicon = field(default_factory=Lexicon)  # names that are known
    own_names: bool = False  # those of train too
    split: frozenset[str] = frozenset()  # parts that gridner itself took from the training documents
    later: int = 0  # models that are to come after this one, for which there must be room
    command: str = ""

    @property
    def parts(self) -> dict[str, Part]:
        """The parts by name."""
        named = {"train": self.train, "dev": self.dev, "test": self.test}
        return {name: part for name, part in named.items() if part is not None}


def check_parts(task: Task, notes: Notes) -> None:
    """The types of train are those that the model knows; dev must have something to choose by."""
    known = task.train.types
    if not known:
        raise UsageError(
            f"train: no entities in {plural(len(task.train.documents), 'document')}, expected some to learn from"
        )
    if task.dev is not None and not task.dev.types:
        raise UsageError(
            f"dev: no entities in {plural(len(task.dev.documents), 'document')}, expected some to choose by"
        )
    if task.lexicon and not set(task.lexicon.types) & set(known):
        raise UsageError(f"lexicon: names of {', '.join(task.lexicon.types)}, expected some of {', '.join(known)}")
    texts = {document.text for document in task.train.documents}
    for name, part in task.parts.items():
        for document in part.documents if name != "train" else ():
            if document.text in texts:
                notes.add(f"{name}: document that is also in train", document.id)
            for entity in document.entities:
                if entity.type in known:
                    continue
                if name not in task.split:
                    raise UsageError(
                        f"{name}: type {entity.type} in document {document.id}, expected those of train: "
                        f"{', '.join(known)} (--types chooses)"
                    )
                notes.add(f"{name}: entity of a type that train does not have, counts as missed", entity.type)


def identity_of(task: Task, seed: int, about: Mapping[str, Any]) -> dict[str, Any]:
    """What must be the same for a run to go on. (Where memory is short, it may go on with other `cells`.)"""
    settings = task.config.to_dict()
    for name in ("seeds", "snapshot_minutes", "keep_epochs", "cells"):
        del settings["train"][name]
    data = {name: part["sha256"] for name, part in about.items()}
    init = None
    if task.init is not None and (task.init / ABOUT).is_file():
        init = hashlib.sha256((task.init / ABOUT).read_bytes()).hexdigest()
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
    if not (output / ABOUT).is_file():
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
