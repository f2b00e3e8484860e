"""Choose what to annotate next: texts about which a model is unsure, and not all about the same words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from math import sqrt
from typing import Literal

from gridner.documents import Document, Entity, Fragment
from gridner.errors import Notes, UsageError
from gridner.inference.recognizer import Recognizer
from gridner.text.alignment import stream_sentences

LOWEST = 0.05  # score of an entity that counts as a doubt
OPENING = 20  # words that could be read in the time that it takes to open a document
POOL = 20  # candidates that are compared for each text that is chosen
Unit = Literal["documents", "sentences"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A text that could be annotated, with the entities that the model suggests."""

    document: Document
    expected_corrections: float  # how many of the model's decisions are likely to be wrong
    doubts: Mapping[str, float]  # the words that these are about

    @property
    def value(self) -> float:
        """Expected corrections for each word that an annotator has to read."""
        return self.expected_corrections / (len(self.document.text.split()) + OPENING)


def choose_next(
    recognizer: Recognizer,
    documents: Iterable[Document | str],
    count: int = 50,
    *,
    unit: Unit = "documents",
    notes: Notes | None = None,
    each: Callable[[], None] = lambda: None,
) -> list[Candidate]:
    """Return the documents or sentences that are worth annotating next, the most useful first.

    An entity with a calibrated score p is likely to be corrected with probability min(p, 1 - p). Texts with many such
    entities per word come first; a text whose doubtful words are those of texts that were chosen before comes later.
    Entities that the documents have are ignored. `each` is called after each sentence that is read.
    """
    if count < 1:
        raise UsageError(f"count is {count}, expected at least 1")
    threshold = recognizer.decoding.threshold
    unsure = replace(recognizer, decoding=replace(recognizer.decoding, threshold=min(threshold, LOWEST)))
    texts = documents if unit == "documents" else _sentences(documents)
    candidates = (_candidate(document, threshold) for document in unsure.pipe(texts, notes=notes, each=each))
    pool = nlargest(POOL * count, candidates, key=lambda candidate: candidate.value)
    return _diverse(pool, count)


def _sentences(documents: Iterable[Document | str]) -> Iterator[Document]:
    """Yield each sentence as a document, named after its document and its number."""
    for number, document in enumerate(documents, start=1):
        source = Document(str(number), document) if isinstance(document, str) else document
        for sentence_number, sentence in enumerate(stream_sentences(source), start=1):
            text = source.text[sentence.start : sentence.end]
            words = tuple(Fragment(word.start - sentence.start, word.end - sentence.start) for word in sentence.words)
            yield Document(
                f"{source.id}-{sentence_number}", text, sentences=None if source.sentences is None else (words,)
            )


def _candidate(document: Document, threshold: float) -> Candidate:
    doubts: dict[str, float] = defaultdict(float)
    expected = 0.0
    for entity in document.entities:
        doubt = min(_score(entity), 1 - _score(entity))
        expected += doubt
        for fragment in entity.fragments:
            for word in document.text[fragment.start : fragment.end].lower().split():
                doubts[word] += doubt
    suggested = tuple(entity for entity in document.entities if _score(entity) > threshold)
    return Candidate(replace(document, entities=suggested), expected, dict(doubts))


def _score(entity: Entity) -> float:
    return 0.0 if entity.score is None else min(1.0, max(0.0, entity.score))


def _diverse(pool: Sequence[Candidate], count: int) -> list[Candidate]:
    """Choose greedily by value, less what is similar to a text that is chosen already."""
    left = list(pool)
    similar = [0.0] * len(left)
    chosen: list[Candidate] = []
    while left and len(chosen) < count:
        best = max(range(len(left)), key=lambda position: left[position].value * (1 - similar[position]))
        chosen.append(left.pop(best))
        del similar[best]
        for position, candidate in enumerate(left):
            similar[position] = max(similar[position], _cosine(candidate.doubts, chosen[-1].doubts))
    return chosen


def _cosine(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    product = sum(weight * second.get(word, 0.0) for word, weight in first.items())
    lengths = sqrt(sum(weight**2 for weight in first.values()) * sum(weight**2 for weight in second.values()))
    return min(1.0, product / lengths) if lengths else 0.0
