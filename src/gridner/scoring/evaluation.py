"""Exact scores, the paper's slices, and its error table.

An entity is right if its type and extent are exactly those of a gold entity. Every gold entity of a document counts
once. Sentences come from the gold document; a prediction belongs to the sentence of its head.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from gridner.documents import Document
from gridner.errors import MismatchError
from gridner.scoring.matching import (
    OVERLAPS,
    ComparedEntity,
    by_sentence,
    compared_entities,
    count_duplicates,
    overlap_of,
    shares_words,
    word_counts,
)
from gridner.text.alignment import Sentence, sentences_of

ALL, DISCONTINUOUS, CONTINUOUS = "all", "discontinuous", "continuous"
IN_DISCONTINUOUS = "in_discontinuous_sentences"
ERRORS = ("fp_ends_right", "fp_ends_wrong", "fn_ends_right", "fn_ends_wrong")
BLOCKS = ("all", "discontinuous", "flat", "overlapped")


@dataclass(frozen=True, slots=True)
class Score:
    """True positives, false positives and false negatives. Measures that are undefined are 0."""

    tp: int = 0
    fp: int = 0
    fn: int = 0

    @property
    def precision(self) -> float:
        """Share of the predictions that are right."""
        return self.tp / (self.tp + self.fp) if self.tp else 0.0

    @property
    def recall(self) -> float:
        """Share of the gold entities that were found."""
        return self.tp / (self.tp + self.fn) if self.tp else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2 * self.tp / (2 * self.tp + self.fp + self.fn) if self.tp else 0.0

    def __add__(self, other: Score) -> Score:
        return Score(self.tp + other.tp, self.fp + other.fp, self.fn + other.fn)


@dataclass(frozen=True, slots=True)
class RelaxedScore:
    """Matches of type and at least one common word. They cannot be compared with exact scores."""

    predicted: int = 0
    predicted_right: int = 0
    gold: int = 0
    gold_found: int = 0

    @property
    def precision(self) -> float:
        """Share of the predictions that touch a gold entity of their type."""
        return self.predicted_right / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Share of the gold entities that a prediction of their type touches."""
        return self.gold_found / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


@dataclass(slots=True)
class Evaluation:
    """The counts of `evaluate`, for each sentence, so that intervals and tests can resample them."""

    documents: int = 0
    sentences: int = 0
    duplicates: int = 0  # gold and predicted entities that repeat another one
    units: list[tuple[str, int]] = field(default_factory=list)  # document, sentence
    counts: dict[str, dict[int, Score]] = field(default_factory=lambda: defaultdict(dict))  # slice → unit → counts
    errors: dict[str, dict[str, int]] = field(
        default_factory=lambda: {block: dict.fromkeys(ERRORS, 0) for block in BLOCKS}
    )
    relaxed: RelaxedScore = RelaxedScore()

    def add(self, gold: Document, predicted: Document, *, sentences: Sequence[Sentence] | None = None) -> None:
        """Count one document. Pass the `sentences` of gold if you have them already."""
        sentences = sentences_of(gold) if sentences is None else sentences
        gold_by_sentence = by_sentence(compared_entities(gold.text, sentences, gold.entities))
        predicted_by_sentence = by_sentence(compared_entities(gold.text, sentences, predicted.entities))
        self.documents += 1
        self.sentences += len(sentences)
        self.duplicates += count_duplicates(gold) + count_duplicates(predicted)
        for number in range(max(1, len(sentences))):
            unit = len(self.units)
            self.units.append((gold.id, number))
            in_gold, in_predicted = gold_by_sentence.get(number, []), predicted_by_sentence.get(number, [])
            if in_gold or in_predicted:
                for name, score in _slices(in_gold, in_predicted).items():
                    self.counts[name][unit] = score
                _count_errors(self.errors, in_gold, in_predicted)
        self.relaxed = _add_relaxed(self.relaxed, gold_by_sentence, predicted_by_sentence)

    def score(self, name: str = ALL) -> Score:
        """Return the score of a slice."""
        return sum(self.counts.get(name, {}).values(), Score())

    @property
    def types(self) -> list[str]:
        """The types in gold or predictions."""
        return sorted(name.removeprefix("type:") for name in self.counts if name.startswith("type:"))

    @property
    def slices(self) -> list[str]:
        """The names that `score` accepts, in the order of a report."""
        overlaps = [f"overlap:{name}" for name in OVERLAPS]
        return [ALL, *(f"type:{name}" for name in self.types), IN_DISCONTINUOUS, DISCONTINUOUS, CONTINUOUS, *overlaps]

    @property
    def macro_f1(self) -> float:
        """The mean F1 of the types."""
        return sum(self.score(f"type:{name}").f1 for name in self.types) / len(self.types) if self.types else 0.0


def evaluate(gold: Iterable[Document], predicted: Iterable[Document]) -> Evaluation:
    """Score predictions against gold. They must be about the same documents, in any order."""
    evaluation = Evaluation()
    for gold_document, prediction in pair(gold, predicted):
        evaluation.add(gold_document, prediction)
    return evaluation


def pair(gold: Iterable[Document], predicted: Iterable[Document]) -> Iterator[tuple[Document, Document]]:
    """Yield gold and predicted documents with the same id. Their texts must be equal."""
    predictions: dict[str, Document] = {}
    for document in predicted:
        if document.id in predictions:
            raise MismatchError(f"predictions: document {document.id} appears twice; ids must be unique")
        predictions[document.id] = document
    seen: set[str] = set()
    missing: list[str] = []
    for document in gold:
        if document.id in seen:
            raise MismatchError(f"gold: document {document.id} appears twice; ids must be unique")
        seen.add(document.id)
        prediction = predictions.pop(document.id, None)
        if prediction is None:
            missing.append(document.id)
            continue
        if prediction.text != document.text:
            raise MismatchError(
                f"document {document.id}: gold and predicted texts differ, {_difference(document, prediction)}"
            )
        if not missing:
            yield document, prediction
    if missing or predictions:
        only_in_one = [
            f"{len(ids)} only in {side} ({_first_ids(ids)})"
            for side, ids in (("gold", missing), ("predictions", list(predictions)))
            if ids
        ]
        raise MismatchError(f"gold and predictions are over different documents: {'; '.join(only_in_one)}")


def _slices(gold: list[ComparedEntity], predicted: list[ComparedEntity]) -> dict[str, Score]:
    """Return the counts of a sentence in every slice that it belongs to."""
    classes: dict[ComparedEntity, str] = {}
    for entities in (predicted, gold):  # gold last, so that a right prediction has the class of its gold entity
        counts_of_words = word_counts(entities)
        classes |= {entity: overlap_of(entity, counts_of_words) for entity in entities if entity.discontinuous}
    in_discontinuous = any(entity.discontinuous for entity in gold)

    def names(entity: ComparedEntity) -> Iterator[str]:
        yield ALL
        yield f"type:{entity.type}"
        if in_discontinuous:
            yield IN_DISCONTINUOUS
        if entity.discontinuous:
            yield DISCONTINUOUS
            yield f"overlap:{classes[entity]}"
        else:
            yield CONTINUOUS

    counts: dict[str, Score] = defaultdict(Score)
    gold_set, predicted_set = set(gold), set(predicted)
    for outcome, score in (
        (gold_set & predicted_set, Score(tp=1)),
        (predicted_set - gold_set, Score(fp=1)),
        (gold_set - predicted_set, Score(fn=1)),
    ):
        for entity in outcome:
            for name in names(entity):
                counts[name] += score
    return counts


def _count_errors(
    errors: dict[str, dict[str, int]], gold: list[ComparedEntity], predicted: list[ComparedEntity]
) -> None:
    """Count the errors of a sentence for Table 6, in the blocks for which it has a gold entity and in that of all."""
    counts_of_words = word_counts(gold)
    overlapped = {entity: shares_words(entity, counts_of_words) for entity in gold}
    blocks = ["all"]
    if any(entity.discontinuous for entity in gold):
        blocks.append("discontinuous")
    if any(not entity.discontinuous and not overlapped[entity] for entity in gold):
        blocks.append("flat")
    if any(overlapped.values()):
        blocks.append("overlapped")
    for kind, wrong, others in (
        ("fp", set(predicted) - set(gold), gold),
        ("fn", set(gold) - set(predicted), predicted),
    ):
        ends = {entity.ends for entity in others}
        for entity in wrong:
            name = f"{kind}_ends_{'right' if entity.ends in ends else 'wrong'}"
            for block in blocks:
                errors[block][name] += 1


def _add_relaxed(
    relaxed: RelaxedScore, gold: dict[int, list[ComparedEntity]], predicted: dict[int, list[ComparedEntity]]
) -> RelaxedScore:
    """Return a relaxed score with the entities of a document, given by sentence, added."""
    all_gold = [entity for entities in gold.values() for entity in entities]
    all_predicted = [entity for entities in predicted.values() for entity in entities]
    return RelaxedScore(
        predicted=relaxed.predicted + len(all_predicted),
        predicted_right=relaxed.predicted_right + _count_touching(all_predicted, all_gold),
        gold=relaxed.gold + len(all_gold),
        gold_found=relaxed.gold_found + _count_touching(all_gold, all_predicted),
    )


def _count_touching(entities: list[ComparedEntity], others: list[ComparedEntity]) -> int:
    """Return how many entities have a word in common with one of the others that has their type."""
    words: dict[str, set[int]] = defaultdict(set)
    for other in others:
        words[other.type] |= other.all_words
    return sum(not entity.all_words.isdisjoint(words.get(entity.type, ())) for entity in entities)


def _difference(gold: Document, predicted: Document) -> str:
    length = min(len(gold.text), len(predicted.text))
    start = next((n for n in range(length) if gold.text[n] != predicted.text[n]), length)
    return (
        f"first at character {start} ({gold.text[start : start + 10]!r} in gold, "
        f"{predicted.text[start : start + 10]!r} in predictions)"
    )


def _first_ids(ids: list[str]) -> str:
    return ", ".join(ids[:5]) + (", …" if len(ids) > 5 else "")
