"""Scores that say how often an entity with such a score is right: a monotone map, fitted on dev, kept in the model.

The map is one of log-odds, as scores crowd near 1: where a network is sure, 0.999 and 0.99999 differ as much as 0.9
and 0.999.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import isfinite

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gridner.errors import InvalidError

FEWEST = 50  # entities that a map can be fitted to
BINS = 20
EDGES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)  # of the ranges of a reliability table
RISE, APART = 1e-4, 0.01  # at least, from point to point: of the share that is right, of the log-odds of a score
MOST = 36.0  # log-odds of a float that is not 1
BEYOND = 100.0  # log-odds of the ends of the map, past all scores
LAST_RISE = 0.1  # of the map from the last point to its end, where nothing was seen


@dataclass(frozen=True, slots=True)
class Calibration:
    """Points with straight lines between them, strictly rising, in log-odds; without any, scores stay as they are.

    Below the first point odds fall as those of the scores do; above the last they hardly rise.
    """

    score_odds: tuple[float, ...] = ()
    right_odds: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name, values in (("score_odds", self.score_odds), ("right_odds", self.right_odds)):
            if any(b <= a for a, b in pairwise(values)) or not all(isfinite(a) and abs(a) <= MOST for a in values):
                raise InvalidError(f"calibration: {name} are {values!r:.80}, expected log-odds that rise")
        if len(self.score_odds) != len(self.right_odds):
            raise InvalidError(f"calibration: {len(self.score_odds)} score_odds, expected {len(self.right_odds)}")

    def __call__(self, score: float) -> float:
        """How often an entity with this score is right."""
        if not self.score_odds:
            return score
        x, y = self._points()
        return float(_share(np.interp(_odds(score), x, y)))

    def score_for(self, right: float) -> float:
        """The score that means so much; 1, which none exceeds, where no score does."""
        if not self.score_odds:
            return right
        x, y = self._points()
        odds = float(_odds(right))
        return 1.0 if odds >= y[-1] else float(_share(np.interp(odds, y, x)))

    def _points(self) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        x, y = np.array(self.score_odds), np.array(self.right_odds)
        return (
            np.concatenate(([x[0] - BEYOND], x, [x[-1] + BEYOND])),
            np.concatenate(([y[0] - BEYOND], y, [y[-1] + LAST_RISE])),
        )


def _odds(share: ArrayLike) -> NDArray[np.floating]:
    inside = np.clip(np.asarray(share, dtype=np.float64), 1 / (1 + np.exp(MOST)), 1 - 2.0**-53)
    found: NDArray[np.floating] = np.clip(np.log(inside) - np.log1p(-inside), -MOST, MOST)
    return found


def _share(odds: ArrayLike) -> NDArray[np.floating]:
    found: NDArray[np.floating] = 1 / (1 + np.exp(-np.asarray(odds, dtype=np.float64)))
    return found


def fit_calibration(scores: ArrayLike, right: ArrayLike, *, lowest: float = 0.0) -> Calibration | None:
    """The map for scores of which some are right: isotonic regression on groups of equal size. None if too few.

    Below `lowest` none were looked at: such a score means no more than it says.
    """
    order = np.argsort(np.asarray(scores, dtype=np.float64), kind="stable")
    x, y = _odds(scores)[order], np.asarray(right, dtype=np.float64)[order]
    if len(x) < FEWEST:
        return None
    groups = np.array_split(np.arange(len(x)), min(BINS, len(x) // (FEWEST // 2)))
    blocks = [_Block(float(x[g].sum()), float(y[g].sum()), len(g)) for g in groups]
    merged: list[_Block] = []
    for block in blocks:
        merged.append(block)
        while len(merged) > 1 and merged[-1].close_to(merged[-2]):
            last = merged.pop()
            merged[-1] = merged[-1] + last
    points = [(block.at, float(_odds(block.rate))) for block in merged]
    first = float(_odds(lowest))
    if lowest and points[0][0] > first + APART and points[0][1] > first + APART:
        points.insert(0, (first, first))
    return Calibration(tuple(round(at, 6) for at, _ in points), tuple(round(rate, 6) for _, rate in points))


@dataclass(frozen=True, slots=True)
class _Block:
    odds: float
    right: float
    count: int

    @property
    def at(self) -> float:
        return self.odds / self.count

    @property
    def rate(self) -> float:
        """Smoothed, so that it is never 0 or 1."""
        return (self.right + 1) / (self.count + 2)

    def close_to(self, before: _Block) -> bool:
        """Whether the map would not rise from the block before to this one."""
        return self.rate - before.rate < RISE or self.at - before.at < APART

    def __add__(self, other: _Block) -> _Block:
        return _Block(self.odds + other.odds, self.right + other.right, self.count + other.count)


@dataclass(frozen=True, slots=True)
class ReliabilityRow:
    """Of the entities with a score from `low` to `high`: how many, their mean score, the share that is right."""

    low: float
    high: float
    count: int
    score: float
    right: float


def reliability_table(scores: ArrayLike, right: ArrayLike) -> list[ReliabilityRow]:
    """A row for each range of scores that has any."""
    x, y = np.asarray(scores, dtype=np.float64), np.asarray(right, dtype=np.float64)
    rows = []
    for low, high in pairwise(EDGES):
        inside = (x > low) & (x <= high)
        if inside.any():
            rows.append(ReliabilityRow(low, high, int(inside.sum()), float(x[inside].mean()), float(y[inside].mean())))
    return rows
