"""Scores that say how often an entity with such a score is right: a monotone map, fitted on dev, kept in the model."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from gridner.errors import InvalidError

FEWEST = 50  # entities that a map can be fitted to
BINS = 20
EDGES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)  # of the ranges of a reliability table
APART = 1e-4  # points, at least
LAST_RISE = 1e-3  # of what is left to 1, from the last point to a score of 1


@dataclass(frozen=True, slots=True)
class Calibration:
    """Points with straight lines between them, strictly rising, from a score of 0 to a score of 1."""

    scores: tuple[float, ...] = (0.0, 1.0)
    right: tuple[float, ...] = (0.0, 1.0)

    def __post_init__(self) -> None:
        for name, values in (("scores", self.scores), ("right", self.right)):
            if len(values) < 2 or any(b <= a for a, b in pairwise(values)) or not 0 <= values[0] <= values[-1] <= 1:
                raise InvalidError(f"calibration: {name} are {values!r:.80}, expected numbers that rise from 0 to 1")
        if len(self.scores) != len(self.right) or (self.scores[0], self.scores[-1]) != (0, 1):
            raise InvalidError(f"calibration: scores are {self.scores!r:.80}, expected one for each share, from 0 to 1")

    def __call__(self, score: float) -> float:
        """How often an entity with this score is right."""
        return float(np.interp(score, self.scores, self.right))

    def score_for(self, right: float) -> float:
        """The score that means so much; 0 or just below 1 where no score does."""
        return min(float(np.interp(right, self.right, self.scores)), 1 - 1e-6)


def fit(scores: ArrayLike, right: ArrayLike) -> Calibration | None:
    """The map for scores of which some are right: isotonic regression on groups of equal size. None if too few."""
    order = np.argsort(np.asarray(scores, dtype=np.float64), kind="stable")
    x, y = np.asarray(scores, dtype=np.float64)[order], np.asarray(right, dtype=np.float64)[order]
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
    inside = [block for block in merged if APART < block.at < 1 - APART]
    points = [(0.0, 0.0), *((block.at, block.rate) for block in inside)]
    points.append((1.0, points[-1][1] + (1 - points[-1][1]) * LAST_RISE if inside else 1.0))
    return Calibration(tuple(round(a, 6) for a, _ in points), tuple(round(b, 6) for _, b in points))


@dataclass(frozen=True, slots=True)
class _Block:
    scores: float
    right: float
    count: int

    @property
    def at(self) -> float:
        return self.scores / self.count

    @property
    def rate(self) -> float:
        """Smoothed, so that it is never 0 or 1."""
        return (self.right + 1) / (self.count + 2)

    def close_to(self, before: _Block) -> bool:
        """Whether the map would not rise from the block before to this one."""
        return self.rate - before.rate < APART or self.at - before.at < APART

    def __add__(self, other: _Block) -> _Block:
        return _Block(self.scores + other.scores, self.right + other.right, self.count + other.count)


@dataclass(frozen=True, slots=True)
class Reliability:
    """Of the entities with a score from `low` to `high`: how many, their mean score, the share that is right."""

    low: float
    high: float
    count: int
    score: float
    right: float


def reliability(scores: ArrayLike, right: ArrayLike) -> list[Reliability]:
    """A row for each range of scores that has any."""
    x, y = np.asarray(scores, dtype=np.float64), np.asarray(right, dtype=np.float64)
    rows = []
    for low, high in pairwise(EDGES):
        inside = (x > low) & (x <= high)
        if inside.any():
            rows.append(Reliability(low, high, int(inside.sum()), float(x[inside].mean()), float(y[inside].mean())))
    return rows
