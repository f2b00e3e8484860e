"""A corpus and its parts (train, dev, test): documents with their sentences and mentions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gridner.documents import Document, extent
from gridner.errors import Notes, UsageError
from gridner.formats.jsonl import to_json
from gridner.text.alignment import Sentence, align

PART_NAMES = {
    "train": ("train", "training"),
    "dev": ("dev", "devel", "development", "valid", "validation"),
    "test": ("test",),
}


@dataclass(frozen=True, slots=True)
class Part:
    """Documents with their sentences and mentions."""

    documents: tuple[Document, ...]
    sentences: tuple[Sentence, ...]
    also_annotated: tuple[str, ...] = ()  # types that were looked for, though there may be no entity of them

    @property
    def types(self) -> tuple[str, ...]:
        """The entity types, sorted."""
        found = {entity.type for document in self.documents for entity in document.entities}
        return tuple(sorted(found | set(self.also_annotated)))

    def about(self) -> dict[str, object]:
        """Return counts and a hash, without any text, for the model card."""
        digest = hashlib.sha256()
        for document in sorted(self.documents, key=lambda document: document.id):
            digest.update(json.dumps(to_json(document), sort_keys=True).encode())
        entities = [entity for document in self.documents for entity in document.entities]
        return {
            "documents": len(self.documents),
            "sentences": len(self.sentences),
            "entities": len(entities),
            "discontinuous": sum(
                len(extent(document.text, entity)) > 1 for document in self.documents for entity in document.entities
            ),
            "types": {name: sum(entity.type == name for entity in entities) for name in self.types},
            "sha256": digest.hexdigest(),
        }


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus to train and score on. The types in train are those that the corpus annotates."""

    name: str
    train: Part
    dev: Part | None = None
    test: Part | None = None
    weight: float = 1.0  # how often an epoch sees its sentences


def part_of(documents: Iterable[Document], *, notes: Notes, name: str) -> Part:
    """Split documents into sentences and mentions. Entities that cannot become mentions are counted.

    Training documents (`name` is "train" or begins with "train-") are sorted by id, so that training does not depend
    on the order of the files.
    """
    train = name.partition("-")[0] == "train"
    documents = sorted(documents, key=lambda document: document.id) if train else documents
    read: list[Document] = []
    sentences: list[Sentence] = []
    for document in documents:
        aligned = align(document)
        for entity, why in aligned.cut:
            what = "left out of training" if train else "counts as missed"
            notes.add(f"{name}: entity that {why.value}, {what}", f"{document.id}: {entity.type}")
        read.append(document)
        sentences += aligned.sentences
    return Part(tuple(read), tuple(sentences))


def find_parts(folder: Path) -> dict[str, Path]:
    """Return the folders or files of train and dev in a folder, and of test if there is one."""
    if not folder.is_dir():
        problem = "a file" if folder.exists() else "not found"
        raise UsageError(f"{folder}: {problem}, expected a folder with train and dev")
    parts: dict[str, Path] = {}
    for name, accepted in PART_NAMES.items():
        paths = [path for path in sorted(folder.iterdir()) if (path.name if path.is_dir() else path.stem) in accepted]
        if len(paths) > 1:
            raise UsageError(f"{folder}: {' and '.join(path.name for path in paths)}, expected one {name}")
        if paths:
            parts[name] = paths[0]
        elif name != "test":
            raise UsageError(f"{folder}: no {name}, expected a folder or a file of that name, such as {name}.jsonl")
    return parts
