"""Scores of a network on documents, and the decoding settings and the calibration that are chosen by them."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gridner.config import DecodingConfig
from gridner.corpus.splits import Part
from gridner.documents import Document, Entity, Fragment, extent
from gridner.errors import Notes, plural
from gridner.formats.jsonl import to_json
from gridner.inference.batches import PieceBatch
from gridner.inference.calibration import Calibration, fit, reliability
from gridner.inference.checkpoint import Checkpoint
from gridner.inference.engine import Engine, GridBatch, WordVectors
from gridner.inference.recognizer import SENTENCES_PER_BATCH, Recognizer, Window
from gridner.scoring.evaluation import DISCONTINUOUS, Evaluation
from gridner.tagging.decoding import decode
from gridner.tagging.tags import Relations, favoured
from gridner.tagging.windows import owner
from gridner.text.sentences import Mention, Sentence, entity_of

GRID = (*np.arange(0.05, 0.951, 0.05).round(2).tolist(),)  # thresholds that are tried
BONUSES = (0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 13.0, 16.0, 20.0)  # likewise, of names
LOWEST = 0.05  # score of the entities that scores are calibrated on
NOTHING = np.empty((0, 0, 0))
Key = tuple[str, tuple[Fragment, ...]]


class AnnotatedPart(NamedTuple):
    """Documents and the types that they mark: what is found there of other types does not count."""

    part: Part
    types: Collection[str] | None = None  # all

    def counts(self, type: str) -> bool:
        """Whether an entity of this type counts."""
        return self.types is None or type in self.types

    def only(self, documents: Iterable[Document]) -> list[Document]:
        """Return documents with the entities that count."""
        return [
            replace(document, entities=tuple(entity for entity in document.entities if self.counts(entity.type)))
            for document in documents
        ]


def predict_part(recognizer: Recognizer, part: Part, *, notes: Notes | None = None) -> list[Document]:
    """The documents with the entities that are found. What had to be cut or capped is counted."""
    found: dict[str, list[Entity]] = defaultdict(list)
    for sentence, mentions in zip(part.sentences, recognizer.mentions(part.sentences, notes=notes), strict=True):
        found[sentence.document_id] += [entity_of(sentence, mention) for mention in mentions]
    return [replace(document, entities=tuple(found[document.id])) for document in part.documents]


def evaluate_part(part: Part, predicted: Sequence[Document]) -> Evaluation:
    """All scores and slices."""
    sentences: dict[str, list[Sentence]] = defaultdict(list)
    for sentence in part.sentences:
        sentences[sentence.document_id].append(sentence)
    result = Evaluation()
    for gold, answer in zip(part.documents, predicted, strict=True):
        result.add(gold, answer, sentences=sentences[gold.id])
    return result


def selection_score(evaluation: Evaluation, best_by: str) -> float:
    """What the best of several is chosen by. Where dev has no discontinuous entities it is the F1 of all."""
    every, gaps = evaluation.score(), evaluation.score(DISCONTINUOUS)
    return (every.f1 + gaps.f1) / 2 if best_by == "mean" and gaps.tp + gaps.fn else every.f1


class CachedEngine:
    """An engine that computes each batch once, as long as there is room for the results."""

    def __init__(self, engine: Engine, *, room: int = 2**30) -> None:
        self.engine = engine
        self.room = room  # bytes
        self.kept: dict[bytes, tuple[NDArray[np.floating], ...]] = {}

    def read(self, batch: PieceBatch) -> WordVectors:
        """Return what the engine returns, or returned before."""
        return WordVectors(*self._once(b"read", batch, lambda: self.engine.read(batch)))

    def tag(self, grid: GridBatch) -> NDArray[np.floating]:
        """Return what the engine returns, or returned before."""
        return self._once(b"tag", grid, lambda: (self.engine.tag(grid),))[0]

    def _once(
        self,
        step: bytes,
        arrays: Iterable[NDArray[np.generic]],
        compute: Callable[[], tuple[NDArray[np.floating], ...]],
    ) -> tuple[NDArray[np.floating], ...]:
        digest = hashlib.blake2b(step)
        for array in arrays:
            digest.update(str(array.shape).encode())
            digest.update(np.ascontiguousarray(array).data)
        key = digest.digest()
        if key in self.kept:
            return self.kept[key]
        results = compute()
        size = sum(result.nbytes for result in results)
        if size <= self.room:
            self.room -= size
            self.kept[key] = results
        return results


@dataclass(frozen=True, slots=True)
class TunedDecoding:
    """Decoding settings that give the best F1, and that F1."""

    decoding: DecodingConfig
    f1: float


def tune_decoding(recognizer: Recognizer, *parts: Part | AnnotatedPart) -> TunedDecoding:
    """What names add and the thresholds of links and of head and tail, as they give the best F1 on all documents.

    Among equals the least bonus and the thresholds nearest to 0.5. A bonus of 0 stays.
    """
    settings = recognizer.decoding
    threshold = recognizer.calibration.score_for(settings.threshold)
    marked = _marked(parts)
    documents = [document for one in marked for document in one.part.documents]
    gold = sum(len({_key(document, entity) for entity in document.entities}) for document in documents)
    pairs = sorted(((a, b) for a in GRID for b in GRID), key=lambda pair: abs(pair[0] - 0.5) + abs(pair[1] - 0.5))
    best = TunedDecoding(settings, -1.0)
    for bonus, (link, end, right) in _candidates(recognizer, marked).items():
        for a, b in pairs:
            kept = (link > _cut(a, threshold)) & (end > _cut(b, threshold))
            f1 = 2 * int(right[kept].sum()) / max(1, int(kept.sum()) + gold)
            if f1 > best.f1 + 1e-9:
                best = TunedDecoding(replace(settings, name_bonus=bonus, link_threshold=a, end_threshold=b), f1)
    return best


def without_tuning(checkpoint: Checkpoint) -> Checkpoint:
    """A model without what was chosen on documents, and asking for that."""
    config, usual = checkpoint.config, DecodingConfig()
    decoding = replace(
        config.decoding,
        threshold=usual.threshold,
        link_threshold=usual.link_threshold,
        end_threshold=usual.end_threshold,
        name_bonus=usual.name_bonus,
    )
    asking = replace(config.train, tune_thresholds=True, calibrate=True)
    return replace(checkpoint, config=replace(config, decoding=decoding, train=asking), calibration=Calibration())


def tune_and_calibrate(
    checkpoint: Checkpoint,
    recognizer: Recognizer,
    *parts: Part | AnnotatedPart,
    notes: Notes,
) -> tuple[Checkpoint, dict[str, Any]]:
    """A model with the decoding settings and the calibration that suit documents best, and what its scores mean there.

    Its own settings say whether either is asked for. Calibrated scores change nothing in what is found by default.
    The engine is asked for each batch several times: `CachedEngine` spares it that.
    """
    config = checkpoint.config
    if config.train.tune_thresholds:
        recognizer = replace(recognizer, decoding=tune_decoding(recognizer, *parts).decoding)
        config = replace(config, decoding=recognizer.decoding)
        checkpoint = replace(checkpoint, config=config)
    if not config.train.calibrate:
        return checkpoint, {}
    scores, right = score_entities(recognizer, *parts, threshold=LOWEST)
    calibration = fit(scores, right, lowest=LOWEST)
    if calibration is None:
        notes.add("too few entities found on dev to calibrate scores", plural(len(scores), "entity"))
        return checkpoint, {}
    moved = replace(config.decoding, threshold=calibration(config.decoding.threshold))
    both = {"raw": scores, "calibrated": [calibration(score) for score in scores]}
    return (
        replace(checkpoint, config=replace(config, decoding=moved), calibration=calibration),
        {name: [asdict(row) for row in reliability(some, right)] for name, some in both.items()},
    )


def score_entities(
    recognizer: Recognizer, *parts: Part | AnnotatedPart, threshold: float
) -> tuple[list[float], list[bool]]:
    """The scores of all entities above a threshold, and which of them are right."""
    lenient = replace(recognizer, decoding=replace(recognizer.decoding, threshold=threshold))
    scores, right = [], []
    for marked in _marked(parts):
        found = marked.only(predict_part(lenient, marked.part))
        for gold, answer in zip(marked.part.documents, found, strict=True):
            keys = {_key(gold, entity) for entity in gold.entities}
            for entity in answer.entities:
                scores.append(entity.score or 0.0)
                right.append(_key(gold, entity) in keys)
    return scores, right


def _marked(parts: Iterable[Part | AnnotatedPart]) -> list[AnnotatedPart]:
    return [part if isinstance(part, AnnotatedPart) else AnnotatedPart(part) for part in parts]


def predictions_jsonl(documents: Sequence[Document]) -> str:
    """Predictions as JSON lines without the texts: ids, types, offsets and scores."""
    lines = []
    for document in documents:
        item = to_json(replace(document, sentences=None, meta={}))
        del item["text"]
        for entity in item["entities"]:
            entity["score"] = round(entity["score"], 4)
        lines.append(json.dumps(item, ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines)


def _candidates(
    recognizer: Recognizer, marked: Sequence[AnnotatedPart]
) -> dict[float, tuple[NDArray[np.floating], NDArray[np.floating], NDArray[np.floating]]]:
    """For each bonus, of every mention at the lowest thresholds: weakest link, head–tail relation, whether it is right.

    A mention is found at (link, end) if these exceed them. (The decoder's caps are on the best, so they leave out none
    that matter.) What has no names is decoded once.
    """
    bonuses = BONUSES if recognizer.lexicon and recognizer.decoding.name_bonus else (recognizer.decoding.name_bonus,)
    rows: dict[float, list[tuple[float, float, bool]]] = {bonus: [] for bonus in bonuses}
    named = False
    for one in marked:
        documents = {document.id: document for document in one.part.documents}
        golds = {name: {_key(document, entity) for entity in document.entities} for name, document in documents.items()}
        for window, sentence, ranges in _windows(recognizer, one.part):
            named |= bool(window.names)
            found: list[tuple[float, float, bool]] = []
            for number, bonus in enumerate(bonuses):
                if number == 0 or window.names:
                    found = []
                    for mention, link, end in _lenient(recognizer, window, bonus):
                        if owner(ranges, mention.head, mention.tail) == window.words and one.counts(mention.type):
                            key = _key(documents[sentence.document_id], entity_of(sentence, mention))
                            found.append((link, end, key in golds[sentence.document_id]))
                rows[bonus] += found
    if not named:  # any bonus gives the same: that of the settings stays
        rows = {recognizer.decoding.name_bonus: next(iter(rows.values()))}
    tables = {bonus: np.array(some, dtype=np.float64).reshape(-1, 3) for bonus, some in rows.items()}
    return {bonus: (table[:, 0], table[:, 1], table[:, 2]) for bonus, table in tables.items()}


def _windows(recognizer: Recognizer, part: Part) -> Iterator[tuple[Window, Sentence, list[range]]]:
    """All windows, with their sentences and all the windows' words of these."""
    for start in range(0, len(part.sentences), SENTENCES_PER_BATCH):
        some = part.sentences[start : start + SENTENCES_PER_BATCH]
        windows = [replace(window, tags=NOTHING) for window in recognizer.windows(some)]  # they need much room
        ranges: dict[int, list[range]] = defaultdict(list)
        for window in windows:
            ranges[window.sentence].append(window.words)
        for window in windows:
            yield window, some[window.sentence], sorted(ranges[window.sentence], key=lambda words: words.start)


def _lenient(recognizer: Recognizer, window: Window, bonus: float) -> Iterator[tuple[Mention, float, float]]:
    """The mentions of a window at the lowest thresholds, by the sentence's words: weakest link and end relation."""
    types, settings = recognizer.scheme.types, recognizer.decoding
    lowest = _cut(GRID[0], recognizer.calibration.score_for(settings.threshold))
    members = recognizer.scheme.members
    relations = favoured(window.relations, window.names, bonus, members=members)
    links, ends = relations.links, relations.ends
    sure = Relations(links, (ends > lowest).astype(ends.dtype))  # so that scores are those of the links
    decoded = decode(sure, types, members=members, threshold=lowest, k=settings.k, limit=settings.limit)
    for mention in decoded.mentions:
        end = float(ends[mention.head, mention.tail, types.index(mention.type)])
        moved = replace(mention, words=tuple(window.words.start + word for word in window.mention(mention).words))
        yield moved, mention.score or 0.0, end


def _cut(moved: float, threshold: float) -> float:
    """The probability that lies at `threshold` once `moved` lies at 0.5 (see `shifted`)."""
    if threshold == 1:
        return 1.0
    odds = moved / (1 - moved) * threshold / (1 - threshold)
    return odds / (1 + odds)


def _key(document: Document, entity: Entity) -> Key:
    return entity.type, extent(document.text, entity)
