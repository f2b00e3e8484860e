from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridner.errors import InvalidError
from gridner.inference.calibration import Calibration, fit_calibration, reliability_table

SHARES = st.floats(0, 1)


def test_by_default_nothing_changes() -> None:
    assert [Calibration()(score) for score in (0.0, 0.3, 1.0)] == [0.0, 0.3, 1.0]


@given(st.lists(st.tuples(SHARES, st.booleans()), min_size=50, max_size=300))
def test_a_fitted_map_rises_and_can_be_inverted(found: list[tuple[float, bool]]) -> None:
    scores, right = zip(*found, strict=True)
    map_ = fit_calibration(scores, right)
    assert map_ is not None
    tried = np.linspace(0, 0.999, 57)
    values = [map_(score) for score in tried]
    assert all(a < b for a, b in pairwise(values))
    assert [map_.score_for(value) for value in values] == pytest.approx(list(tried), abs=1e-3)


def test_a_fitted_map_says_how_often_it_is_right() -> None:
    random = np.random.default_rng(3)
    scores = random.uniform(0, 1, 20_000)
    right = random.uniform(0, 1, 20_000) < scores**2
    map_ = fit_calibration(scores, right)
    assert map_ is not None
    assert [map_(score) for score in (0.2, 0.5, 0.8)] == pytest.approx([0.04, 0.25, 0.64], abs=0.05)
    rows = reliability_table([map_(score) for score in scores], right)
    assert sum(row.count for row in rows) == 20_000
    assert all(abs(row.score - row.right) < 0.03 for row in rows)
    assert max(abs(row.score - row.right) for row in reliability_table(scores, right)) > 0.2


def test_few_entities_are_no_ground_for_a_map() -> None:
    assert fit_calibration([0.5] * 49, [True] * 49) is None
    alike = fit_calibration([0.5] * 100, [True] * 100)
    assert alike is not None
    assert alike(0.5) > 0.9


def test_no_score_means_more_than_was_seen() -> None:
    map_ = Calibration((-1.0, 0.0, 1.0), (-1.0, 0.0, 2.0))
    assert map_(0.5) == 0.5
    assert map_(0.1) == pytest.approx(0.1)
    assert map_(1.0) == pytest.approx(1 / (1 + np.exp(-2)), abs=0.01)
    assert map_.score_for(0.95) == 1.0  # so nothing exceeds it
    assert 0 <= map_.score_for(0.0) < 1e-9


def test_below_what_was_looked_at_a_score_means_no_more_than_it_says() -> None:
    map_ = fit_calibration([0.6] * 100, [True] * 100, lowest=0.05)
    assert map_ is not None
    assert map_(0.6) > 0.98
    assert map_(0.05) == pytest.approx(0.05)
    assert map_(0.01) == pytest.approx(0.01)


def test_scores_next_to_1_are_told_apart() -> None:
    random = np.random.default_rng(4)
    odds = random.uniform(5, 25, 20_000)  # 0.993 to 1 - 1e-11
    right = random.uniform(0, 1, 20_000) < (odds - 5) / 20
    scores = 1 / (1 + np.exp(-odds))
    map_ = fit_calibration(scores, right)
    assert map_ is not None
    rows = reliability_table([map_(score) for score in scores], right)
    assert len(rows) == 5
    assert all(abs(row.score - row.right) < 0.03 for row in rows)


@pytest.mark.parametrize(
    ("scores", "right"),
    [
        ((0.0, 1.0), (0.5, 0.5)),
        ((0.0, 0.6, 0.5, 1.0), (0.0, 0.1, 0.2, 0.3)),
        ((0.0, 0.5, 1.0), (0.0, 1.0)),
        ((0.0, 1.0), (0.0, float("inf"))),
        ((0.0, float("nan")), (0.0, 1.0)),
        ((0.0, 1.0), (0.0, 99.0)),
    ],
)
def test_a_map_that_does_not_rise_is_refused(scores: tuple[float, ...], right: tuple[float, ...]) -> None:
    with pytest.raises(InvalidError, match=r"calibration: .*odds"):
        Calibration(scores, right)
