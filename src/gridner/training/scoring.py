"""Scores of a network on documents, and decoding thresholds chosen by them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gridner.batches import Arrays
from gridner.decode import decode
from gridner.documents import Document, Entity, Fragment, extent
from gridner.errors import Notes
from gridner.evaluate import Evaluation
from gridner.recognizer import TOGETHER, Engine, Recognizer
from gridner.sentences import Sentence, entity_of
from gridner.tags import Relations
from gridner.training.data import Part
from gridner.windows import owner

GRID = (*np.arange(0.05, 0.951, 0.05).round(2).tolist(),)  # thresholds that are tried
BONUSES = (0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 13.0, 16.0, 20.0)  # likewise, of names
Key = tuple[str, tuple[Fragment, ...]]


def predictions(recognizer: Recognizer, part: Part, *, notes: Notes | None = None) -> list[Document]:
    """The documents with the entities that are found. What had to be cut or capped is counted."""
    found: dict[str, list[Entity]] = defaultdict(list)
    for sentence, mentions in zip(part.sentences, recognizer.mentions(part.sentences, notes=notes), strict=True):
        found[sentence.document_id] += [entity_of(sentence, mention) for mention in mentions]
    return [replace(document, entities=tuple(found[document.id])) for document in part.documents]


def evaluation_of(part: Part, predicted: Sequence[Document]) -> Evaluation:
    """All scores and slices."""
    sentences: dict[str, list[Sentence]] = defaultdict(list)
    for sentence in part.sentences:
        sentences[sentence.document_id].append(sentence)
    result = Evaluation()
    for gold, answer in zip(part.documents, predicted, strict=True):
        result.add(gold, answer, sentences=sentences[gold.id])
    return result


class _Replayed:
    """An engine that scores each batch once."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.kept: dict[tuple[tuple[tuple[int, ...], bytes], ...], NDArray[np.floating]] = {}

    def scores(self, batch: Arrays) -> NDArray[np.floating]:
        """As the engine says, or said before."""
        key = tuple((array.shape, array.tobytes()) for array in batch)
        if key not in self.kept:
            self.kept[key] = self.engine.scores(batch)
        return self.kept[key]


def best_bonus(recognizer: Recognizer, part: Part) -> float:
    """What names of the lexicon should add for the best F1 on the documents; the least among equals."""
    engine = _Replayed(recognizer.engine)
    scores = {}
    for bonus in BONUSES:
        decoding = replace(recognizer.decoding, name_bonus=bonus)
        found = predictions(replace(recognizer, engine=engine, decoding=decoding), part)
        scores[bonus] = evaluation_of(part, found).score().f1
    return max(BONUSES, key=lambda bonus: (scores[bonus], -bonus))


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The pair that gives the best F1, and that F1."""

    link: float
    end: float
    f1: float


def best_thresholds(recognizer: Recognizer, part: Part) -> Thresholds:
    """Thresholds of links and of head and tail with the best F1 on the documents; the nearest to 0.5 among equals.

    Mentions are decoded once, at the lowest thresholds; each is found at (link, end) if its weakest link and its
    head–tail relation exceed them. (The decoder's caps are on the best, so they leave out none that matter.)
    """
    threshold = recognizer.calibration.score_for(recognizer.decoding.threshold)
    link, end, right = _candidates(recognizer, part)
    gold = sum(len({_key(document, entity) for entity in document.entities}) for document in part.documents)
    best = Thresholds(0.5, 0.5, -1.0)
    pairs = sorted(((a, b) for a in GRID for b in GRID), key=lambda pair: abs(pair[0] - 0.5) + abs(pair[1] - 0.5))
    for a, b in pairs:
        kept = (link > _cut(a, threshold)) & (end > _cut(b, threshold))
        f1 = 2 * int(right[kept].sum()) / max(1, int(kept.sum()) + gold)
        if f1 > best.f1 + 1e-9:
            best = Thresholds(a, b, f1)
    return best


def scored(recognizer: Recognizer, part: Part, *, threshold: float) -> tuple[list[float], list[bool]]:
    """The scores of all entities above a threshold, and which of them are right."""
    lenient = replace(recognizer, decoding=replace(recognizer.decoding, threshold=threshold))
    scores, right = [], []
    for gold, answer in zip(part.documents, predictions(lenient, part), strict=True):
        keys = {_key(gold, entity) for entity in gold.entities}
        for entity in answer.entities:
            scores.append(entity.score or 0.0)
            right.append(_key(gold, entity) in keys)
    return scores, right


def _candidates(
    recognizer: Recognizer, part: Part
) -> tuple[NDArray[np.floating], NDArray[np.floating], NDArray[np.bool_]]:
    """Of every mention at the lowest thresholds: its weakest link, its head–tail relation, whether it is right."""
    texts = {document.id: document for document in part.documents}
    golds = {document.id: {_key(document, entity) for entity in document.entities} for document in part.documents}
    types, settings = recognizer.scheme.types, recognizer.decoding
    rows: list[tuple[float, float, bool]] = []
    lowest = _cut(GRID[0], recognizer.calibration.score_for(settings.threshold))
    for start in range(0, len(part.sentences), TOGETHER):
        some = part.sentences[start : start + TOGETHER]
        windows = list(recognizer.windows(some))
        ranges: dict[int, list[range]] = defaultdict(list)
        for window in windows:
            ranges[window.sentence].append(window.words)
        for window in windows:
            ends = window.relations.ends
            relations = Relations(window.relations.links, (ends > lowest).astype(ends.dtype))
            found = decode(relations, types, threshold=lowest, k=settings.k, limit=settings.limit)
            sentence = some[window.sentence]
            every = sorted(ranges[window.sentence], key=lambda words: words.start)
            for mention in found.mentions:
                head, tail = window.words.start + mention.head, window.words.start + mention.tail
                if owner(every, head, tail) == window.words:
                    kind = types.index(mention.type)
                    moved = replace(mention, words=tuple(window.words.start + word for word in mention.words))
                    key = _key(texts[sentence.document_id], entity_of(sentence, moved))
                    score = float(ends[mention.head, mention.tail, kind])
                    rows.append((mention.score or 0.0, score, key in golds[sentence.document_id]))
    table = np.array(rows, dtype=np.float64).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2].astype(np.bool_)


def _cut(moved: float, threshold: float) -> float:
    """The probability that lies at `threshold` once `moved` lies at 0.5 (see `shifted`)."""
    odds = moved / (1 - moved) * threshold / (1 - threshold)
    return odds / (1 + odds)


def _key(document: Document, entity: Entity) -> Key:
    return entity.type, extent(document.text, entity)
