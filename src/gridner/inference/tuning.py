"""Choose the decoding settings and the calibration of a model on documents, without training."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gridner.config import DecodingConfig
from gridner.corpus.splits import Part
from gridner.documents import Document, Entity, Fragment, extent
from gridner.errors import Notes, plural
from gridner.inference.base_recognizer import SENTENCES_PER_BATCH
from gridner.inference.calibration import Calibration, fit_calibration, reliability_table
from gridner.inference.checkpoint import Checkpoint
from gridner.inference.corpus_evaluation import AnnotatedPart, predict_part
from gridner.inference.group_tuning import GroupTuning, ScoredEntities, common_threshold
from gridner.inference.recognizer import Recognizer, ScoredWindow
from gridner.tagging.decoding import decode
from gridner.tagging.tags import Relations, with_name_bonus
from gridner.tagging.windows import owning_window
from gridner.text.alignment import Mention, Sentence, entity_of

THRESHOLDS = (*np.arange(0.05, 0.951, 0.05).round(2).tolist(),)  # that are tried
BONUSES = (0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 13.0, 16.0, 20.0)  # of names, that are tried
LOWEST = 0.05  # score of the entities that scores are calibrated on
NO_TAGS = np.empty((0, 0, 0))


@dataclass(frozen=True, slots=True)
class TunedDecoding:
    """Decoding settings that give the best F1, and that F1."""

    decoding: DecodingConfig
    f1: float


def tune_decoding(
    recognizer: Recognizer, *parts: Part | AnnotatedPart, link_thresholds: Sequence[float] = THRESHOLDS
) -> TunedDecoding:
    """Return the name bonus, link threshold and end threshold with the best F1 on all documents.

    Ties go to the lowest bonus and to the thresholds nearest to 0.5. A bonus of 0 stays 0.
    """
    settings = recognizer.decoding
    threshold = recognizer.calibration.score_for(settings.threshold)
    annotated = _annotated(parts)
    documents = [document for dev in annotated for document in dev.part.documents]
    gold = sum(len({_key(document, entity) for entity in document.entities}) for document in documents)
    pairs = sorted(
        ((link, end) for link in link_thresholds for end in THRESHOLDS),
        key=lambda pair: abs(pair[0] - 0.5) + abs(pair[1] - 0.5),
    )
    best = TunedDecoding(settings, -1.0)
    for bonus, candidates in _candidates(recognizer, annotated).items():
        for link, end in pairs:
            is_found = (candidates.link > _unshifted(link, threshold)) & (candidates.end > _unshifted(end, threshold))
            f1 = 2 * int(candidates.right[is_found].sum()) / max(1, int(is_found.sum()) + gold)
            if f1 > best.f1 + 1e-9:
                best = TunedDecoding(replace(settings, name_bonus=bonus, link_threshold=link, end_threshold=end), f1)
    return best


def without_tuning(checkpoint: Checkpoint) -> Checkpoint:
    """Return a model with the default thresholds and no calibration, whose settings ask for both to be chosen."""
    config, default = checkpoint.config, DecodingConfig()
    decoding = replace(
        config.decoding,
        threshold=default.threshold,
        link_threshold=default.link_threshold,
        end_threshold=default.end_threshold,
        name_bonus=default.name_bonus,
    )
    train = replace(config.train, tune_thresholds=True, calibrate=True)
    settings = replace(config, decoding=decoding, train=train)
    return replace(checkpoint, config=settings, calibration=Calibration(), group_tunings=())


def tune_and_calibrate(
    checkpoint: Checkpoint,
    recognizer: Recognizer,
    *parts: Part | AnnotatedPart,
    notes: Notes,
) -> tuple[Checkpoint, dict[str, Any]]:
    """Return the model with the decoding settings and the calibration chosen on documents, and its reliability there.

    The settings of the model say whether to choose either. By default, calibration does not change which entities are
    found. The engine computes each batch several times unless it is a `CachedEngine`.
    """
    config = checkpoint.config
    if config.train.tune_thresholds:
        recognizer = replace(recognizer, decoding=tune_decoding(recognizer, *parts).decoding)
        config = replace(config, decoding=recognizer.decoding)
        checkpoint = replace(checkpoint, config=config)
    if not config.train.calibrate:
        return checkpoint, {}
    scores, right = score_entities(recognizer, *parts, threshold=LOWEST)
    calibration = fit_calibration(scores, right, lowest=LOWEST)
    if calibration is None:
        notes.add("too few entities found on dev to calibrate scores", plural(len(scores), "entity"))
        return checkpoint, {}
    decoding = replace(config.decoding, threshold=calibration(config.decoding.threshold))
    tables = {
        "raw": reliability_table(scores, right),
        "calibrated": reliability_table([calibration(score) for score in scores], right),
    }
    return (
        replace(checkpoint, config=replace(config, decoding=decoding), calibration=calibration),
        {name: [asdict(row) for row in rows] for name, rows in tables.items()},
    )


def tune_groups(
    checkpoint: Checkpoint, recognizer: Recognizer, parts: Sequence[AnnotatedPart]
) -> tuple[Checkpoint, dict[str, Any]]:
    """Return a model whose groups of types are tuned and calibrated one by one, and its reliability.

    Each group takes the parts that count for its types; a group without any takes what suits all parts. One threshold,
    with the best mean F1 over the parts, serves all groups. The threshold of links stays at 0.5: it matters for
    discontinuous entities, and most dev documents have too few of them to choose it.
    """
    tunings, settings = [], checkpoint.config.decoding
    for group in checkpoint.groups:
        own = [part for part in parts if any(map(part.counts, group.types))] or parts
        alone = replace(recognizer, decoding=tune_decoding(recognizer, *own, link_thresholds=(0.5,)).decoding)
        calibration = fit_calibration(*score_entities(alone, *own, threshold=LOWEST), lowest=LOWEST)
        tunings.append(GroupTuning.of(alone.decoding, calibration))
    tuned = replace(recognizer, group_tunings=tuple(tunings))
    found = []
    for part in parts:
        scores, right = score_entities(tuned, part, threshold=LOWEST)
        gold = sum(len({_key(document, entity) for entity in document.entities}) for document in part.part.documents)
        found.append(ScoredEntities(np.array(scores), np.array(right, dtype=np.bool_), gold))
    config = replace(checkpoint.config, decoding=replace(settings, threshold=common_threshold(found)))
    calibrated = reliability_table(
        np.concatenate([one.scores for one in found]), np.concatenate([one.right for one in found])
    )
    reliability = {"calibrated": [asdict(row) for row in calibrated]}
    return replace(checkpoint, config=config, group_tunings=tuned.group_tunings), reliability


def score_entities(
    recognizer: Recognizer, *parts: Part | AnnotatedPart, threshold: float
) -> tuple[list[float], list[bool]]:
    """Return the scores of all entities found above a threshold, and which of them are right."""
    lenient = replace(recognizer, decoding=replace(recognizer.decoding, threshold=threshold))
    scores, right = [], []
    for annotated in _annotated(parts):
        predicted = annotated.only(predict_part(lenient, annotated.part))
        for gold, prediction in zip(annotated.part.documents, predicted, strict=True):
            gold_keys = {_key(gold, entity) for entity in gold.entities}
            for entity in prediction.entities:
                scores.append(entity.score or 0.0)
                right.append(_key(gold, entity) in gold_keys)
    return scores, right


def _annotated(parts: Iterable[Part | AnnotatedPart]) -> list[AnnotatedPart]:
    return [part if isinstance(part, AnnotatedPart) else AnnotatedPart(part) for part in parts]


class _Candidates(NamedTuple):
    """Mentions at the lowest thresholds. A mention is found at thresholds that its link and its end exceed."""

    link: NDArray[np.floating]  # the weakest of a mention
    end: NDArray[np.floating]  # its head–tail relation
    right: NDArray[np.floating]  # 1 if it is right


def _candidates(recognizer: Recognizer, parts: Sequence[AnnotatedPart]) -> dict[float, _Candidates]:
    """Return the candidate mentions for each bonus of names. Windows without names are decoded once.

    The decoder's caps keep the best, so they leave out none that matter.
    """
    bonuses = BONUSES if recognizer.lexicon and recognizer.decoding.name_bonus else (recognizer.decoding.name_bonus,)
    rows: dict[float, list[tuple[float, float, bool]]] = {bonus: [] for bonus in bonuses}
    has_names = False
    for annotated in parts:
        documents = {document.id: document for document in annotated.part.documents}
        gold = {id: {_key(document, entity) for entity in document.entities} for id, document in documents.items()}
        for window, sentence, ranges in _windows(recognizer, annotated.part):
            has_names |= bool(window.names)
            window_rows: list[tuple[float, float, bool]] = []
            for number, bonus in enumerate(bonuses):
                if number == 0 or window.names:
                    window_rows = []
                    for mention, link, end in _lenient_mentions(recognizer, window, bonus):
                        is_owner = owning_window(ranges, mention.head, mention.tail) == window.words
                        if is_owner and annotated.counts(mention.type):
                            key = _key(documents[sentence.document_id], entity_of(sentence, mention))
                            window_rows.append((link, end, key in gold[sentence.document_id]))
                rows[bonus] += window_rows
    if not has_names:  # every bonus gives the same: keep that of the settings
        rows = {recognizer.decoding.name_bonus: next(iter(rows.values()))}
    tables = {bonus: np.array(of_bonus, dtype=np.float64).reshape(-1, 3) for bonus, of_bonus in rows.items()}
    return {bonus: _Candidates(table[:, 0], table[:, 1], table[:, 2]) for bonus, table in tables.items()}


def _windows(recognizer: Recognizer, part: Part) -> Iterator[tuple[ScoredWindow, Sentence, list[range]]]:
    """Yield all windows with their sentence and the ranges of all windows of that sentence."""
    for start in range(0, len(part.sentences), SENTENCES_PER_BATCH):
        sentences = part.sentences[start : start + SENTENCES_PER_BATCH]
        scored = recognizer.score_windows(sentences)
        windows = [replace(window, tags=NO_TAGS) for window in scored]  # tags need much memory
        ranges: dict[int, list[range]] = defaultdict(list)
        for window in windows:
            ranges[window.sentence].append(window.words)
        for window in windows:
            yield window, sentences[window.sentence], sorted(ranges[window.sentence], key=lambda words: words.start)


def _lenient_mentions(
    recognizer: Recognizer, window: ScoredWindow, bonus: float
) -> Iterator[tuple[Mention, float, float]]:
    """Yield the mentions of a window at the lowest thresholds, by words of the sentence: weakest link, end relation."""
    types, settings = recognizer.scheme.types, recognizer.decoding
    lowest = _unshifted(THRESHOLDS[0], recognizer.calibration.score_for(settings.threshold))
    group_types = recognizer.scheme.group_types
    relations = with_name_bonus(window.relations, window.names, bonus, group_types=group_types)
    links, ends = relations.links, relations.ends
    sure_ends = Relations(links, (ends > lowest).astype(ends.dtype))  # so that scores are those of the links
    decoded = decode(sure_ends, types, group_types=group_types, threshold=lowest, k=settings.k, limit=settings.limit)
    for mention in decoded.mentions:
        end = float(ends[mention.head, mention.tail, types.index(mention.type)])
        words = tuple(window.words.start + word for word in window.in_window(mention).words)
        yield replace(mention, words=words), mention.score or 0.0, end


def _unshifted(shift: float, threshold: float) -> float:
    """Return the probability that lies at `threshold` once `shift` is moved to 0.5 (see `shift_threshold`)."""
    if threshold == 1:
        return 1.0
    odds = shift / (1 - shift) * threshold / (1 - threshold)
    return odds / (1 + odds)


def _key(document: Document, entity: Entity) -> tuple[str, tuple[Fragment, ...]]:
    return entity.type, extent(document.text, entity)
