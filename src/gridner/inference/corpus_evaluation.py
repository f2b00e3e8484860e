"""Predict and evaluate a part of a corpus, such as dev, whose sentences are already split."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from gridner.corpus.splits import Part
from gridner.documents import Document, Entity
from gridner.errors import Notes
from gridner.formats.jsonl import to_json
from gridner.inference.recognizer import Recognizer
from gridner.scoring.evaluation import DISCONTINUOUS, Evaluation
from gridner.text.alignment import Sentence, entity_of


class AnnotatedPart(NamedTuple):
    """Documents and the types that they annotate. Predictions of other types do not count."""

    part: Part
    types: Collection[str] | None = None  # None: all

    def counts(self, type: str) -> bool:
        """Return whether entities of this type count."""
        return self.types is None or type in self.types

    def only(self, documents: Iterable[Document]) -> list[Document]:
        """Return documents with the entities that count."""
        return [
            replace(document, entities=tuple(entity for entity in document.entities if self.counts(entity.type)))
            for document in documents
        ]


def predict_part(recognizer: Recognizer, part: Part, *, notes: Notes | None = None) -> list[Document]:
    """Return the documents with the entities that are found. `notes` counts what had to be cut or capped."""
    entities: dict[str, list[Entity]] = defaultdict(list)
    for sentence, mentions in zip(part.sentences, recognizer.mentions(part.sentences, notes=notes), strict=True):
        entities[sentence.document_id] += [entity_of(sentence, mention) for mention in mentions]
    return [replace(document, entities=tuple(entities[document.id])) for document in part.documents]


def evaluate_part(part: Part, predicted: Sequence[Document]) -> Evaluation:
    """Return all scores of predictions for the documents of a part."""
    sentences: dict[str, list[Sentence]] = defaultdict(list)
    for sentence in part.sentences:
        sentences[sentence.document_id].append(sentence)
    evaluation = Evaluation()
    for gold, prediction in zip(part.documents, predicted, strict=True):
        evaluation.add(gold, prediction, sentences=sentences[gold.id])
    return evaluation


def selection_score(evaluation: Evaluation, best_by: str) -> float:
    """Return the score by which the best epoch or setting is chosen.

    With `best_by` "mean" it is the mean F1 of all and of discontinuous entities, if gold has discontinuous entities.
    """
    everything, discontinuous = evaluation.score(), evaluation.score(DISCONTINUOUS)
    if best_by == "mean" and discontinuous.tp + discontinuous.fn:
        return (everything.f1 + discontinuous.f1) / 2
    return everything.f1


def predictions_jsonl(documents: Sequence[Document]) -> str:
    """Return predictions as JSON lines without the texts: ids, types, offsets and scores."""
    lines = []
    for document in documents:
        item = to_json(replace(document, sentences=None, meta={}))
        del item["text"]
        for entity in item["entities"]:
            entity["score"] = round(entity["score"], 4)
        lines.append(json.dumps(item, ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines)
