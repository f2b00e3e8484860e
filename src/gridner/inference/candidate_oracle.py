"""What candidate words save and lose: the share of words and cells that stay, and the entities out of reach."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gridner.documents import Document
from gridner.inference.engine import encode_sentences
from gridner.inference.recognizer import Recognizer
from gridner.scoring.evaluation import Evaluation
from gridner.tagging.oracle import oracle
from gridner.text.alignment import Sentence, align


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
    """Return how much of the words, and of the entities in documents, the candidate words of a model keep."""
    result = CandidateOracle()
    for document in documents:
        alignment = align(document)
        candidates = _candidates(recognizer, alignment.sentences, result)
        reachable = tuple(
            replace(
                sentence, mentions=tuple(mention for mention in sentence.mentions if words.issuperset(mention.words))
            )
            for sentence, words in zip(alignment.sentences, candidates, strict=True)
        )
        predicted = oracle(document, alignment=replace(alignment, sentences=reachable))
        result.oracle.add(document, predicted, sentences=alignment.sentences)
    return result


def _candidates(recognizer: Recognizer, sentences: Sequence[Sentence], result: CandidateOracle) -> list[set[int]]:
    """Return the candidate words of each sentence, in any of its windows, and count them."""
    candidates: list[set[int]] = [set() for _ in sentences]
    windows = recognizer.cut_windows(sentences)
    for batch in encode_sentences(
        recognizer.engine,
        recognizer.tokenizer,
        [window.encoded for window in windows],
        forced=[window.name_words for window in windows],
    ):
        for words in batch:
            window = windows[words.sentence]
            candidates[window.sentence].update(window.words.start + word for word in words.positions.tolist())
            result.cells += len(window.words) ** 2
            result.candidate_cells += len(words.positions) ** 2
    for sentence, in_sentence in zip(sentences, candidates, strict=True):
        entity_words = {word for mention in sentence.mentions for word in mention.words}
        result.words += len(sentence.words)
        result.candidates += len(in_sentence)
        result.entity_words += len(entity_words)
        result.entity_candidates += len(entity_words & in_sentence)
    return candidates
