"""What candidate words cost: how many words and cells they leave, and which entities they put out of reach."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from gridner.documents import Document
from gridner.inference.engine import encode_sentences
from gridner.inference.recognizer import Recognizer
from gridner.scoring.evaluation import Evaluation
from gridner.tagging.oracle import oracle
from gridner.text.sentences import Sentence, align


@dataclass(slots=True)
class CandidateOracle:
    """Counts over documents, and the score that a perfect grid over the candidate words would have."""

    words: int = 0
    candidates: int = 0
    cells: int = 0
    candidate_cells: int = 0
    entity_words: int = 0
    entity_candidates: int = 0
    oracle: Evaluation = field(default_factory=Evaluation)

    def to_dict(self) -> dict[str, Any]:
        """Return shares and scores as plain data."""
        score = self.oracle.score()
        return {
            "words": self.candidates / max(1, self.words),
            "cells": self.candidate_cells / max(1, self.cells),
            "entity words": self.entity_candidates / max(1, self.entity_words),
            "oracle": {"precision": score.precision, "recall": score.recall, "f1": score.f1},
        }


def candidate_oracle(recognizer: Recognizer, documents: Iterable[Document]) -> CandidateOracle:
    """Return what the candidate words of a model leave of the entities in documents."""
    result = CandidateOracle()
    for document in documents:
        alignment = align(document)
        kept = [
            replace(sentence, mentions=tuple(one for one in sentence.mentions if places.issuperset(one.words)))
            for sentence, places in zip(
                alignment.sentences, _candidates(recognizer, alignment.sentences, result), strict=True
            )
        ]
        reached = oracle(document, alignment=replace(alignment, sentences=tuple(kept)))
        result.oracle.add(document, reached, sentences=alignment.sentences)
    return result


def _candidates(recognizer: Recognizer, sentences: Iterable[Sentence], result: CandidateOracle) -> list[set[int]]:
    """Return the candidate words of each sentence, in any of its windows, and count them."""
    sentences = list(sentences)
    found: list[set[int]] = [set() for _ in sentences]
    parts = recognizer.parts(sentences)
    for batch in encode_sentences(
        recognizer.engine, recognizer.pieces, [part.encoded for part in parts], always=[part.named for part in parts]
    ):
        for one in batch:
            part = parts[one.sentence]
            found[part.sentence].update(part.words.start + place for place in one.places.tolist())
            result.cells += len(part.words) ** 2
            result.candidate_cells += len(one.places) ** 2
    for sentence, places in zip(sentences, found, strict=True):
        entity_words = {word for mention in sentence.mentions for word in mention.words}
        result.words += len(sentence.words)
        result.candidates += len(places)
        result.entity_words += len(entity_words)
        result.entity_candidates += len(entity_words & places)
    return found
