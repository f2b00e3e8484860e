"""Calibration: a monotone map from raw scores to the probability that an entity is right, fitted on dev.

It maps log-odds, because raw scores crowd near 1: 0.999 and 0.99999 differ as much as 0.9 and 0.999.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gridner.errors import InvalidError

FEWEST = 50  # entities to fit a map to
BINS = 20
EDGES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)  # of the score ranges of a reliability table
MIN_RISE, MIN_STEP = 1e-4, 0.01  # from point to point: of the share that is right, of the log-odds of a score
MAX_ODDS = 36.0  # log-odds of the largest float below 1
BEYOND = 100.0  # log-odds from the outer points to the ends of the map, past all scores
LAST_RISE = 0.1  # of the map after the last point, where no score was seen


@dataclass(frozen=True, slots=True)
class Calibration:
    """A piecewise linear, strictly rising map of log-odds. Without points, scores stay unchanged.

    Below the first point it falls as fast as the scores do; above the last point it hardly rises.
    """

    score_odds: tuple[float, ...] = ()
    right_odds: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name, values in (("score_odds", self.score_odds), ("right_odds", self.right_odds)):
            if any(b <= a for a, b in pairwise(values)) or not all(isfinite(a) and abs(a) <= MAX_ODDS for a in values):
                raise InvalidError(f"calibration: {name} are {values!r:.80}, expected rising log-odds")
        if len(self.score_odds) != len(self.right_odds):
            raise InvalidError(f"calibration: {len(self.score_odds)} score_odds, expected {len(self.right_odds)}")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Calibration:
        """Read the points from plain data. Raise TypeError, KeyError or ValueError if they cannot be read."""
        return cls(*(tuple(map(float, data[name])) for name in ("score_odds", "right_odds")))

    def __call__(self, score: float) -> float:
        """Return the probability that an entity with this raw score is right."""
        if not self.score_odds:
            return score
        x, y = _points(self)
        return float(_probability(np.interp(_odds(score), x, y)))

    def score_for(self, probability: float) -> float:
        """Return the raw score that calibrates to `probability`; if there is none, 1, which no score exceeds."""
        return _score_for(self, probability) if self.score_odds else probability


@lru_cache(maxsize=256)  # every sentence asks for the score of the same few thresholds
def _score_for(calibration: Calibration, probability: float) -> float:
    x, y = _points(calibration)
    odds = float(_odds(probability))
    return 1.0 if odds >= y[-1] else float(_probability(np.interp(odds, y, x)))


@lru_cache(maxsize=64)
def _points(calibration: Calibration) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    x, y = np.array(calibration.score_odds), np.array(calibration.right_odds)
    return (
        np.concatenate(([x[0] - BEYOND], x, [x[-1] + BEYOND])),
        np.concatenate(([y[0] - BEYOND], y, [y[-1] + LAST_RISE])),
    )


def _odds(probability: ArrayLike) -> NDArray[np.floating]:
    inside = np.clip(np.asarray(probability, dtype=np.float64), 1 / (1 + np.exp(MAX_ODDS)), 1 - 2.0**-53)
    odds: NDArray[np.floating] = np.clip(np.log(inside) - np.log1p(-inside), -MAX_ODDS, MAX_ODDS)
    return odds


def _probability(odds: ArrayLike) -> NDArray[np.floating]:
    probability: NDArray[np.floating] = 1 / (1 + np.exp(-np.asarray(odds, dtype=np.float64)))
    return probability


def fit_calibration(scores: ArrayLike, right: ArrayLike, *, lowest: float = 0.0) -> Calibration | None:
    """Fit a map by isotonic regression on groups of equal size. Return None if there are too few scores.

    `right` says which entities are right. Scores below `lowest` were not collected: the map leaves them unchanged.
    """
    order = np.argsort(np.asarray(scores, dtype=np.float64), kind="stable")
    x, y = _odds(scores)[order], np.asarray(right, dtype=np.float64)[order]
    if len(x) < FEWEST:
        return None
    bins = np.array_split(np.arange(len(x)), min(BINS, len(x) // (FEWEST // 2)))
    blocks = [_Block(float(x[rows].sum()), float(y[rows].sum()), len(rows)) for rows in bins]
    merged: list[_Block] = []
    for block in blocks:
        merged.append(block)
        while len(merged) > 1 and merged[-1].close_to(merged[-2]):
            last = merged.pop()
            merged[-1] = merged[-1] + last
    points = [(block.mean_odds, float(_odds(block.rate))) for block in merged]
    first = float(_odds(lowest))
    if lowest and points[0][0] > first + MIN_STEP and points[0][1] > first + MIN_STEP:
        points.insert(0, (first, first))
    return Calibration(tuple(round(score, 6) for score, _ in points), tuple(round(rate, 6) for _, rate in points))


@dataclass(frozen=True, slots=True)
class _Block:
    odds: float  # sum of those of the scores
    right: float  # how many entities are right
    count: int

    @property
    def mean_odds(self) -> float:
        return self.odds / self.count

    @property
    def rate(self) -> float:
        """Share that is right, smoothed so that it is never 0 or 1."""
        return (self.right + 1) / (self.count + 2)

    def close_to(self, before: _Block) -> bool:
        """Return whether the map would not rise from the block before to this one."""
        return self.rate - before.rate < MIN_RISE or self.mean_odds - before.mean_odds < MIN_STEP

    def __add__(self, other: _Block) -> _Block:
        return _Block(self.odds + other.odds, self.right + other.right, self.count + other.count)


@dataclass(frozen=True, slots=True)
class ReliabilityRow:
    """Entities with a score from `low` to `high`: their count, mean score, and the share that is right."""

    low: float
    high: float
    count: int
    score: float
    right: float


def reliability_table(scores: ArrayLike, right: ArrayLike) -> list[ReliabilityRow]:
    """Return a row for each range of scores that has any entities."""
    x, y = np.asarray(scores, dtype=np.float64), np.asarray(right, dtype=np.float64)
    rows = []
    for low, high in pairwise(EDGES):
        inside = (x > low) & (x <= high)
        if inside.any():
            rows.append(ReliabilityRow(low, high, int(inside.sum()), float(x[inside].mean()), float(y[inside].mean())))
    return rows
