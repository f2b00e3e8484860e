from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import NDArray

from gridner.config import DecodingConfig
from gridner.corpus.gazetteer import names_of
from gridner.errors import Notes
from gridner.inference.cached_engine import CachedEngine
from gridner.inference.calibration import fit_calibration
from gridner.inference.checkpoint import read_checkpoint
from gridner.inference.corpus_evaluation import AnnotatedPart, evaluate_part, predict_part
from gridner.inference.engine import GridBatch, WordVectors
from gridner.inference.recognizer import Recognizer
from gridner.inference.tuning import BONUSES, THRESHOLDS, score_entities, tune_and_calibrate, tune_decoding
from gridner.inference.word_pieces import PieceBatch
from gridner.tagging.tags import TagScheme
from support.small import Gold, part, word_pieces


class Unsure:
    """Right answers with noise that depends on the sentence alone."""

    workers = 1

    def __init__(self, gold: Gold, seed: int) -> None:
        self.gold = gold
        self.seed = seed

    def encode(self, batch: PieceBatch) -> WordVectors:
        return self.gold.encode(batch)

    def tag(self, grid: GridBatch) -> NDArray[np.floating]:
        scores = self.gold.tag(grid) / 2
        for row, length in enumerate(grid.lengths):
            random = np.random.default_rng([self.seed, *grid.words[row, :length].astype(int).flatten()])
            scores[row, :length, :length] += random.normal(-1, 2, (length, length, scores.shape[-1]))
        return scores


def test_the_bonus_for_names_is_the_one_with_the_best_score() -> None:
    gains = set()
    for seed in range(6):
        recognizer = replace(unsure(seed), lexicon=names_of(part().sentences))
        best = tune_decoding(recognizer, part())
        assert f1(replace(recognizer, decoding=best.decoding)) == pytest.approx(best.f1)
        for bonus in BONUSES:
            other = f1(replace(recognizer, decoding=replace(best.decoding, name_bonus=bonus)))
            assert other < best.f1 + 1e-9
            assert other < best.f1 or bonus >= best.decoding.name_bonus
        gains.add(best.f1 - tune_decoding(unsure(seed), part()).f1)
    assert min(gains) >= 0
    assert max(gains) > 0


def test_a_bonus_of_0_stays() -> None:
    recognizer = replace(unsure(1, name_bonus=0.0), lexicon=names_of(part().sentences))
    assert tune_decoding(recognizer, part()) == tune_decoding(unsure(1, name_bonus=0.0), part())


def test_a_batch_is_scored_once() -> None:
    class Counted(Unsure):
        calls = 0

        def tag(self, grid: GridBatch) -> NDArray[np.floating]:
            self.calls += 1
            return super().tag(grid)

    recognizer = unsure(1)
    counted = Counted(recognizer.engine.gold, 1)  # type: ignore[attr-defined]
    replayed = replace(recognizer, engine=CachedEngine(counted), cells=300)
    first = predict_part(replayed, part())
    calls = counted.calls
    assert calls > 1
    assert predict_part(replayed, part()) == first == predict_part(recognizer, part())
    assert counted.calls == calls
    little = replace(replayed, engine=CachedEngine(counted, room=0))
    assert predict_part(little, part()) == predict_part(little, part()) == first
    assert counted.calls == 3 * calls


def unsure(seed: int, **decoding: object) -> Recognizer:
    sentences = part().sentences
    pieces, scheme = word_pieces(sentences), TagScheme(("Sign",))
    engine = Unsure(Gold(sentences, pieces, scheme), seed)
    settings = DecodingConfig(k=50, **decoding)  # type: ignore[arg-type]
    return Recognizer(engine=engine, tokenizer=pieces, scheme=scheme, decoding=settings)


def f1(recognizer: Recognizer) -> float:
    return evaluate_part(part(), predict_part(recognizer, part())).score().f1


@pytest.mark.parametrize(("seed", "threshold"), [(0, 0.5), (1, 0.5), (2, 0.5), (3, 0.5), (1, 0.3), (2, 0.7)])
def test_the_thresholds_are_those_with_the_best_score(seed: int, threshold: float) -> None:
    found = tune_decoding(unsure(seed, threshold=threshold), part())
    link, end = found.decoding.link_threshold, found.decoding.end_threshold

    def at(link: float, end: float) -> float:
        return f1(unsure(seed, link_threshold=link, end_threshold=end, threshold=threshold))

    assert at(link, end) == pytest.approx(found.f1)
    coarse = THRESHOLDS[::3]
    assert found.f1 >= max(at(link, end) for link in coarse for end in coarse) - 1e-9
    assert found.f1 > at(0.5, 0.5) or (link, end) == (0.5, 0.5)


def test_windows_of_a_sentence_count_once() -> None:
    narrow = unsure(1, max_words=5, overlap=3)
    found = tune_decoding(narrow, part())
    assert f1(replace(narrow, decoding=found.decoding)) == pytest.approx(found.f1)


def test_predictions_replace_the_entities_of_their_documents() -> None:
    found = predict_part(unsure(2), part())
    assert [document.id for document in found] == [document.id for document in part().documents]
    assert [document.text for document in found] == [document.text for document in part().documents]
    assert all(entity.score is not None for document in found for entity in document.entities)


def test_types_that_nobody_marked_do_not_count() -> None:
    sentences = part().sentences
    pieces, scheme = word_pieces(sentences), TagScheme(("Other", "Sign"))

    class Both(Unsure):
        """Signs with some noise, and others everywhere."""

        def tag(self, grid: GridBatch) -> NDArray[np.floating]:
            scores = super().tag(grid)
            scores[..., scheme.channels["HTW"].start] = 9.0
            return scores

    engine = Both(Gold(sentences, pieces, scheme), 1)
    both = Recognizer(engine=engine, tokenizer=pieces, scheme=scheme, decoding=DecodingConfig(k=50))
    assert tune_decoding(both, AnnotatedPart(part(), ["Sign"])).f1 > 2 * tune_decoding(both, part()).f1
    all_scores, _ = score_entities(both, part(), threshold=0.05)
    some_scores, right = score_entities(both, AnnotatedPart(part(), ["Sign"]), threshold=0.05)
    assert 0 < len(some_scores) == len(right) < len(all_scores)


@pytest.mark.parametrize("sure", [0.0, 8.0, 20.0])
def test_what_is_found_by_default_stays_however_sure_a_network_is(exported: Path, sure: float) -> None:
    class Sure(Unsure):
        def tag(self, grid: GridBatch) -> NDArray[np.floating]:
            scores = super().tag(grid)
            surer: NDArray[np.floating] = scores + sure * np.sign(scores)
            return surer

    recognizer = unsure(1)
    recognizer = replace(recognizer, engine=Sure(recognizer.engine.gold, 1))  # type: ignore[attr-defined]
    checkpoint, _ = read_checkpoint(exported)
    config = replace(checkpoint.config, decoding=recognizer.decoding)
    config = replace(config, train=replace(config.train, calibrate=True, tune_thresholds=False))
    notes = Notes()
    with patch("gridner.inference.calibration.FEWEST", 10):
        after, meaning = tune_and_calibrate(replace(checkpoint, config=config), recognizer, part(), notes=notes)
    assert meaning["calibrated"]
    assert after.calibration.score_for(after.config.decoding.threshold) == pytest.approx(0.5, abs=1e-6)
    before = predict_part(recognizer, part())
    chosen = replace(recognizer, decoding=after.config.decoding, calibration=after.calibration)
    assert predict_part(chosen, part()) == before


def test_calibrated_scores_say_how_often_they_are_right_and_change_nothing_by_default() -> None:
    recognizer = unsure(1)
    before = predict_part(recognizer, part())
    scores, right = score_entities(recognizer, part(), threshold=0.05)
    assert sum(right) > 5
    calibration = fit_calibration(scores * 10, right * 10)
    assert calibration is not None
    decoding = replace(recognizer.decoding, threshold=calibration(0.5))
    after = predict_part(replace(recognizer, decoding=decoding, calibration=calibration), part())
    assert after == before
    for one, other in zip(before, after, strict=True):
        for old, new in zip(one.entities, other.entities, strict=True):
            assert new.score == pytest.approx(calibration(old.score or 0.0))
    lower = replace(decoding, threshold=calibration(0.2))
    more = predict_part(replace(recognizer, decoding=lower, calibration=calibration), part())
    assert sum(len(one.entities) for one in more) > sum(len(one.entities) for one in before)
