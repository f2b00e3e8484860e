"""A corpus and its parts (train, dev, test): documents with their sentences and mentions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass

from gridner.documents import Document, extent
from gridner.errors import Notes
from gridner.formats.jsonl import to_json
from gridner.text.sentences import Sentence, align


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
    kept: list[Document] = []
    sentences: list[Sentence] = []
    for document in documents:
        aligned = align(document)
        for entity, why in aligned.cut:
            what = "left out of training" if train else "counts as missed"
            notes.add(f"{name}: entity that {why.value}, {what}", f"{document.id}: {entity.type}")
        kept.append(document)
        sentences += aligned.sentences
    return Part(tuple(kept), tuple(sentences))
