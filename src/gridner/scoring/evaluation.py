"""Exact scores, the paper's slices, and its error table.

An entity is right when its type and extent are exactly those of a gold entity. Sets per document: every gold entity
counts once, whatever cut it. Sentences come from the gold document; a prediction belongs to the sentence of its head.
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
    duplicates,
    overlap_of,
    shares_words,
    word_counts,
)
from gridner.text.sentences import Sentence, sentences_of

ALL, DISCONTINUOUS, CONTINUOUS = "all", "discontinuous", "continuous"
IN_DISCONTINUOUS = "in_discontinuous_sentences"
ERRORS = ("fp_ends_right", "fp_ends_wrong", "fn_ends_right", "fn_ends_wrong")
BLOCKS = ("all", "discontinuous", "flat", "overlapped")


@dataclass(frozen=True, slots=True)
class Score:
    """True positives, false positives, false negatives, and what follows from them; 0 where nothing can follow."""

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
    """Matches of type and at least one common word. Not comparable with exact scores."""

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
    """What `evaluate` counted. `units` has the counts of each sentence, for intervals and tests."""

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
        """Count one document. `sentences` are those of gold, if they are at hand."""
        sentences = sentences_of(gold) if sentences is None else sentences
        gold_items = by_sentence(compared_entities(gold.text, sentences, gold.entities))
        predicted_items = by_sentence(compared_entities(gold.text, sentences, predicted.entities))
        self.documents += 1
        self.sentences += len(sentences)
        self.duplicates += duplicates(gold) + duplicates(predicted)
        for number in range(max(1, len(sentences))):
            unit = len(self.units)
            self.units.append((gold.id, number))
            golds, answers = gold_items.get(number, []), predicted_items.get(number, [])
            if golds or answers:
                for name, score in _slices(golds, answers).items():
                    self.counts[name][unit] = score
                _count_errors(self.errors, golds, answers)
        _count_relaxed(self, gold_items, predicted_items)

    def score(self, name: str = ALL) -> Score:
        """The score of a slice."""
        return sum(self.counts.get(name, {}).values(), Score())

    @property
    def types(self) -> list[str]:
        """The types in gold or predictions."""
        return sorted(name.removeprefix("type:") for name in self.counts if name.startswith("type:"))

    @property
    def slices(self) -> list[str]:
        """The names that `score` takes, as a report orders them."""
        overlaps = [f"overlap:{name}" for name in OVERLAPS]
        return [ALL, *(f"type:{name}" for name in self.types), IN_DISCONTINUOUS, DISCONTINUOUS, CONTINUOUS, *overlaps]

    @property
    def macro_f1(self) -> float:
        """The mean F1 of the types."""
        return sum(self.score(f"type:{name}").f1 for name in self.types) / len(self.types) if self.types else 0.0


def evaluate(gold: Iterable[Document], predicted: Iterable[Document]) -> Evaluation:
    """Score predictions against gold. They must be about the same documents, in any order."""
    result = Evaluation()
    for reference, answer in pair(gold, predicted):
        result.add(reference, answer)
    return result


def pair(gold: Iterable[Document], predicted: Iterable[Document]) -> Iterator[tuple[Document, Document]]:
    """Gold and predicted documents by id; the texts must be the same."""
    answers: dict[str, Document] = {}
    for document in predicted:
        if document.id in answers:
            raise MismatchError(f"predictions: document {document.id} occurs twice")
        answers[document.id] = document
    seen: set[str] = set()
    missing: list[str] = []
    for document in gold:
        if document.id in seen:
            raise MismatchError(f"gold: document {document.id} occurs twice")
        seen.add(document.id)
        answer = answers.pop(document.id, None)
        if answer is None:
            missing.append(document.id)
            continue
        if answer.text != document.text:
            raise MismatchError(
                f"document {document.id}: gold and predicted texts differ, {_difference(document, answer)}"
            )
        if not missing:
            yield document, answer
    if missing or answers:
        parts = [
            f"{len(ids)} only in {side} ({_some(ids)})"
            for side, ids in (("gold", missing), ("predictions", list(answers)))
            if ids
        ]
        raise MismatchError(f"gold and predictions are over different documents: {'; '.join(parts)}")


def _slices(gold: list[ComparedEntity], predicted: list[ComparedEntity]) -> dict[str, Score]:
    """The counts of a sentence in every slice it belongs to."""
    classes: dict[ComparedEntity, str] = {}
    for items in (predicted, gold):  # so that a right prediction has the class of its gold entity
        counts_of_words = word_counts(items)
        classes |= {item: overlap_of(item, counts_of_words) for item in items if item.discontinuous}
    in_discontinuous = any(item.discontinuous for item in gold)

    def names(item: ComparedEntity) -> Iterator[str]:
        yield ALL
        yield f"type:{item.type}"
        if in_discontinuous:
            yield IN_DISCONTINUOUS
        if item.discontinuous:
            yield DISCONTINUOUS
            yield f"overlap:{classes[item]}"
        else:
            yield CONTINUOUS

    counts: dict[str, Score] = defaultdict(Score)
    golds, answers = set(gold), set(predicted)
    for group, one in (
        (golds & answers, Score(tp=1)),
        (answers - golds, Score(fp=1)),
        (golds - answers, Score(fn=1)),
    ):
        for item in group:
            for name in names(item):
                counts[name] += one
    return counts


def _count_errors(
    errors: dict[str, dict[str, int]], gold: list[ComparedEntity], predicted: list[ComparedEntity]
) -> None:
    """Table 6. A block has all errors of the sentences with such a gold entity; the first block, of all sentences."""
    counts_of_words = word_counts(gold)
    overlapped = {item: shares_words(item, counts_of_words) for item in gold}
    blocks = ["all"]
    if any(item.discontinuous for item in gold):
        blocks.append("discontinuous")
    if any(not item.discontinuous and not overlapped[item] for item in gold):
        blocks.append("flat")
    if any(overlapped.values()):
        blocks.append("overlapped")
    for kind, wrong, others in (
        ("fp", set(predicted) - set(gold), gold),
        ("fn", set(gold) - set(predicted), predicted),
    ):
        ends = {item.ends for item in others}
        for item in wrong:
            name = f"{kind}_ends_{'right' if item.ends in ends else 'wrong'}"
            for block in blocks:
                errors[block][name] += 1


def _count_relaxed(
    result: Evaluation, gold: dict[int, list[ComparedEntity]], predicted: dict[int, list[ComparedEntity]]
) -> None:
    golds = [item for items in gold.values() for item in items]
    answers = [item for items in predicted.values() for item in items]
    before = result.relaxed
    result.relaxed = RelaxedScore(
        predicted=before.predicted + len(answers),
        predicted_right=before.predicted_right + _touching(answers, golds),
        gold=before.gold + len(golds),
        gold_found=before.gold_found + _touching(golds, answers),
    )


def _touching(items: list[ComparedEntity], others: list[ComparedEntity]) -> int:
    words: dict[str, set[int]] = defaultdict(set)
    for other in others:
        words[other.type] |= other.all_words
    return sum(not item.all_words.isdisjoint(words.get(item.type, ())) for item in items)


def _difference(gold: Document, predicted: Document) -> str:
    length = min(len(gold.text), len(predicted.text))
    place = next((n for n in range(length) if gold.text[n] != predicted.text[n]), length)
    return (
        f"first at character {place} ({gold.text[place : place + 10]!r} in gold, "
        f"{predicted.text[place : place + 10]!r} in predictions)"
    )


def _some(ids: list[str]) -> str:
    return ", ".join(ids[:5]) + (", …" if len(ids) > 5 else "")
