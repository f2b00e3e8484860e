"""Statistics of a corpus: Table 1 of the paper and more, with the oracle score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from gridner.documents import Document, covered_text, show_fragments
from gridner.errors import Notes
from gridner.scoring.evaluation import Evaluation
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
from gridner.tagging.oracle import oracle
from gridner.text.alignment import CutReason, align

# Table 1 of Liu et al., TOE: sentences, entities, discontinuous
PAPER = {
    "cadec": {"all": (7597, 6318, 679), "train": (5340, 4430, 491), "dev": (1097, 898, 94), "test": (1160, 990, 94)},
    "share13": {
        "all": (18767, 11148, 1088),
        "train": (8508, 5146, 581),
        "dev": (1250, 669, 71),
        "test": (9009, 5333, 436),
    },
    "share14": {
        "all": (34614, 19047, 1650),
        "train": (17407, 10354, 1004),
        "dev": (1361, 771, 80),
        "test": (15850, 7922, 566),
    },
}


@dataclass(slots=True)
class Statistics:
    """Counts over a corpus. An entity counts once per document, even if it is annotated several times."""

    documents: int = 0
    characters: int = 0
    words: int = 0
    entities: int = 0
    repeated: int = 0
    discontinuous: int = 0
    overlapped: int = 0  # entities that share a word with another one, continuous ones included
    types: Counter[str] = field(default_factory=Counter)
    discontinuous_types: Counter[str] = field(default_factory=Counter)
    overlaps: Counter[str] = field(default_factory=Counter)  # of discontinuous entities
    fragments: Counter[int] = field(default_factory=Counter)  # how many an entity has
    gaps: Counter[int] = field(default_factory=Counter)  # words in each gap
    entity_words: Counter[int] = field(default_factory=Counter)
    sentence_words: Counter[int] = field(default_factory=Counter)
    cut: Counter[str] = field(default_factory=Counter)
    oracle: Evaluation = field(default_factory=Evaluation)

    @property
    def sentences(self) -> int:
        """The number of sentences."""
        return self.sentence_words.total()

    def add(self, document: Document, notes: Notes) -> None:
        """Count one document. Entities that cannot become mentions go to `notes`."""
        aligned = align(document)
        sentences = aligned.sentences
        self.documents += 1
        self.characters += len(document.text)
        self.words += sum(len(sentence.words) for sentence in sentences)
        self.sentence_words.update(len(sentence.words) for sentence in sentences)
        self.repeated += count_duplicates(document)
        for neighbours in by_sentence(compared_entities(document.text, sentences, document.entities)).values():
            counts = word_counts(neighbours)
            for item in neighbours:
                self._add_item(item, counts)
        for entity, reason in aligned.cut:
            self.cut[reason.value] += 1
            covered = covered_text(document.text, entity.fragments)
            where = f"{document.id}: {entity.type} {show_fragments(entity.fragments)} {covered[:60]!r}"
            notes.add(f"entity that {reason.value}", where)
        answer = oracle(document, alignment=aligned, notes=notes)
        self.oracle.add(document, answer, sentences=sentences)

    def _add_item(self, item: ComparedEntity, counts: Counter[int]) -> None:
        self.entities += 1
        self.types[item.type] += 1
        self.fragments[len(item.fragments)] += 1
        self.entity_words[len(item.all_words)] += 1
        self.overlapped += shares_words(item, counts)
        if item.discontinuous:
            self.discontinuous += 1
            self.discontinuous_types[item.type] += 1
            self.overlaps[overlap_of(item, counts)] += 1
            for before, after in pairwise(item.words):
                if before and after:
                    self.gaps[max(0, min(after) - max(before) - 1)] += 1

    def to_json(self) -> dict[str, Any]:
        """Return the counts as plain data."""
        score = self.oracle.score()
        return {
            "documents": self.documents,
            "characters": self.characters,
            "words": self.words,
            "sentences": self.sentences,
            "entities": self.entities,
            "repeated": self.repeated,
            "discontinuous": self.discontinuous,
            "discontinuous_percent": percent(self.discontinuous, self.entities),
            "overlapped": self.overlapped,
            "types": dict(sorted(self.types.items())),
            "discontinuous_types": dict(sorted(self.discontinuous_types.items())),
            "overlaps": {name: self.overlaps[name] for name in OVERLAPS},
            "fragments": {str(size): count for size, count in sorted(self.fragments.items())},
            "gap_words": summary(self.gaps),
            "entity_words": summary(self.entity_words),
            "sentence_words": summary(self.sentence_words),
            "cut": {reason.value: self.cut[reason.value] for reason in CutReason},
            "oracle": {"precision": score.precision, "recall": score.recall, "f1": score.f1},
        }


def statistics(documents: Iterable[Document], notes: Notes | None = None) -> Statistics:
    """Count a corpus, one document at a time."""
    result = Statistics()
    notes = Notes() if notes is None else notes
    for document in documents:
        result.add(document, notes)
    return result


def summary(counts: Counter[int]) -> dict[str, float]:
    """Return mean, median, 95th percentile and maximum of a distribution; empty without values."""
    total = counts.total()
    if not total:
        return {}

    def quantile(share: float) -> int:
        left = share * total
        for value, count in sorted(counts.items()):
            left -= count
            if left <= 0:
                return value
        return max(counts)

    mean = sum(value * count for value, count in counts.items()) / total
    return {"mean": mean, "median": quantile(0.5), "p95": quantile(0.95), "max": max(counts)}


def percent(part: int, whole: int) -> float:
    """Return a share in percent; 0 if the whole is 0."""
    return 100 * part / whole if whole else 0.0
