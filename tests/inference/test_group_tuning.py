"""Thresholds, names and calibration of each group of types."""

import json
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import NDArray

from gridner.config import DecodingConfig
from gridner.corpus.gazetteer import Lexicon
from gridner.corpus.splits import part_of
from gridner.documents import Entity
from gridner.errors import FormatError, Notes, UsageError
from gridner.inference.calibration import Calibration
from gridner.inference.checkpoint import read_checkpoint
from gridner.inference.corpus_evaluation import AnnotatedPart, evaluate_part, predict_part
from gridner.inference.engine import GridBatch
from gridner.inference.group_tuning import GroupTuning, ScoredEntities, common_threshold
from gridner.inference.loading import load
from gridner.inference.recognizer import Recognizer
from gridner.inference.tuning import tune_decoding, tune_groups
from gridner.tagging.tags import TagScheme, TypeGroup
from support.small import Gold, documents, part, word_pieces
from support.untrained import untrained

LENIENT = GroupTuning(0.1, 0.1, 0.0)
STRICT = GroupTuning(0.9, 0.9, 6.0, Calibration((-2.0, 2.0), (-1.0, 0.5)))


def recognizer(*tunings: GroupTuning, **decoding: float) -> Recognizer:
    """Two groups that share no type, with names of both."""
    found = untrained("groups").recognizer(**decoding)
    first, *others = found.types
    groups = (TypeGroup("a", (first,)), TypeGroup("b", tuple(others)))
    names = Lexicon([(first, "left"), (others[0], "arm")])
    return replace(found, scheme=TagScheme(found.types, groups=groups), group_tunings=tunings, lexicon=names)


def entities(found: Recognizer, types: set[str]) -> dict[str, list[tuple[Entity, float | None]]]:
    return {
        document.id: [(entity, entity.score) for entity in document.entities if entity.type in types]
        for document in found.pipe(documents())
    }


def test_each_group_is_decoded_as_if_its_tuning_were_that_of_all() -> None:
    both = recognizer(LENIENT, STRICT, threshold=0.3)
    first, *others = both.types
    for tuning, types in ((LENIENT, {first}), (STRICT, set(others))):
        alone = recognizer(tuning, tuning, threshold=0.3)
        assert entities(both, types) == entities(alone, types)
        assert any(entities(alone, types).values())
    assert entities(recognizer(LENIENT, LENIENT, threshold=0.3), set(others)) != entities(both, set(others))


def test_without_tunings_the_settings_of_the_model_hold_for_all_groups() -> None:
    settings = DecodingConfig(link_threshold=0.3, end_threshold=0.6, name_bonus=3.0)
    shared = replace(recognizer(), decoding=settings, calibration=STRICT.calibration)
    each = GroupTuning.of(settings, STRICT.calibration)
    same = replace(recognizer(each, each), decoding=settings)
    assert entities(shared, set(shared.types)) == entities(same, set(same.types))


def test_a_model_keeps_its_tunings(tmp_path: Path) -> None:
    model = untrained("groups")
    model.checkpoint = replace(model.checkpoint, group_tunings=(LENIENT, STRICT))
    model.save_pretrained(tmp_path / "m")
    assert read_checkpoint(tmp_path / "m")[0].group_tunings == (LENIENT, STRICT)
    assert load(tmp_path / "m").tunings == (LENIENT, STRICT)
    changed = load(tmp_path / "m", link_threshold=0.5)  # what the caller asks for holds for all groups
    assert [tuning.link_threshold for tuning in changed.tunings] == [0.5, 0.5]
    assert [tuning.end_threshold for tuning in changed.tunings] == [0.1, 0.9]


@pytest.mark.parametrize("damage", [[], [{}, {}], "all", [{**LENIENT.to_dict(), "end_threshold": 2}] * 2])
def test_damaged_tunings_are_one_line(tmp_path: Path, damage: object) -> None:
    model = untrained("groups")
    model.checkpoint = replace(model.checkpoint, group_tunings=(LENIENT, STRICT))
    model.save_pretrained(tmp_path / "m")
    path = tmp_path / "m" / "gridner.json"
    manifest = json.loads(path.read_text())
    manifest["group_tunings"] = damage or manifest["group_tunings"][:1]
    path.write_text(json.dumps(manifest))
    with pytest.raises((FormatError, UsageError), match=r"group_tunings: .*expected one tuning for each group"):
        read_checkpoint(tmp_path / "m")


def test_groups_are_tuned_one_by_one() -> None:
    """The network underrates the ends of signs and overrates those of symptoms, so no thresholds suit both."""
    scheme = TagScheme(("Sign", "Symptom"), groups=(TypeGroup("a", ("Sign",)), TypeGroup("b", ("Symptom",))))
    renamed = [
        replace(document, entities=tuple(replace(entity, type="Symptom") for entity in document.entities))
        for document in documents()
    ]
    parts = [
        AnnotatedPart(part(), ["Sign"]),
        AnnotatedPart(part_of(renamed, notes=Notes(), name="dev"), ["Symptom"]),
    ]
    sentences = [
        replace(one, mentions=(*one.mentions, *other.mentions))
        for one, other in zip(parts[0].part.sentences, parts[1].part.sentences, strict=True)
    ]
    pieces = word_pieces(sentences)

    class Biased(Gold):
        def tag(self, grid: GridBatch) -> NDArray[np.floating]:
            scores = super().tag(grid) / 4
            random = np.random.default_rng(scores.shape[1])
            noisy: NDArray[np.floating] = scores + random.normal(0, 1, scores.shape)
            ends = np.array([":" in label for label in scheme.labels])  # head and tail
            noisy[..., scheme.group_labels[0] & ends] -= 2.5
            noisy[..., scheme.group_labels[1] & ends] += 2.5
            return noisy

    network = Biased(sentences, pieces, scheme)
    plain = Recognizer(engine=network, tokenizer=pieces, scheme=scheme, decoding=DecodingConfig(k=50))
    checkpoint = replace(untrained("groups").checkpoint, types=scheme.types, groups=scheme.groups)
    with patch("gridner.inference.calibration.FEWEST", 10):
        tuned, reliability = tune_groups(checkpoint, plain, parts)
    assert reliability["calibrated"]
    assert tuned.group_tunings[0].end_threshold < tuned.group_tunings[1].end_threshold
    each = replace(plain, decoding=tuned.config.decoding, group_tunings=tuned.group_tunings)
    common = replace(plain, decoding=tune_decoding(plain, *parts).decoding)

    def f1(recognizer: Recognizer, annotated: AnnotatedPart) -> float:
        predicted = annotated.only(predict_part(recognizer, annotated.part))
        return evaluate_part(annotated.part, predicted).score().f1

    assert sum(f1(each, one) for one in parts) > sum(f1(common, one) for one in parts) + 0.1


def test_the_common_threshold_has_the_best_mean_f1() -> None:
    random = np.random.default_rng(1)
    corpora = []
    for count in (30, 200):
        scores = random.random(count)
        corpora.append(ScoredEntities(scores, random.random(count) < scores, count // 2))
    best = common_threshold(corpora)
    assert 0.1 < best < 0.7
    for other in np.arange(0.1, 0.7, 0.02):
        assert sum(one.f1(best) for one in corpora) >= sum(one.f1(other) for one in corpora) - 1e-9
