"""How sure a score is: bootstrap intervals, the spread of several runs, and a paired test between two systems."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gridner.errors import MismatchError, UsageError
from gridner.scoring.evaluation import ALL, Evaluation

Unit = Literal["sentence", "document"]
BLOCK = 64  # resamples drawn at a time, which bounds memory


@dataclass(frozen=True, slots=True)
class Interval:
    """The middle `level` of what resampling gives.

    Resamples where a measure is undefined say nothing: precision without predictions, recall without gold.
    """

    low: float
    high: float
    left_out: int = 0  # such resamples


@dataclass(frozen=True, slots=True)
class Spread:
    """A measure over several runs. The deviation is that of a sample; 0 for one run."""

    mean: float
    deviation: float
    runs: int


def spread(values: Sequence[float]) -> Spread:
    """Mean and deviation."""
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return Spread(statistics.fmean(values), deviation, len(values))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two F1 scores, and how often chance alone makes a difference as large."""

    f1_a: float
    f1_b: float
    p: float
    rounds: int

    @property
    def difference(self) -> float:
        """How much higher B is."""
        return self.f1_b - self.f1_a


def unit_counts(evaluation: Evaluation, name: str = ALL, *, unit: Unit = "sentence") -> NDArray[np.int64]:
    """True positives, false positives and false negatives of every unit, [units, 3], whatever order they came in."""
    if unit not in ("sentence", "document"):
        raise UsageError(f"unit {unit!r}, expected sentence or document")
    keys = [(document, number if unit == "sentence" else 0) for document, number in evaluation.units]
    rows = {key: row for row, key in enumerate(sorted(set(keys)))}
    counts = np.zeros((len(rows), 3), dtype=np.int64)
    for place, score in evaluation.counts.get(name, {}).items():
        counts[rows[keys[place]]] += (score.tp, score.fp, score.fn)
    return counts


def bootstrap(
    evaluation: Evaluation,
    name: str = ALL,
    *,
    unit: Unit = "sentence",
    rounds: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> dict[str, Interval]:
    """Percentile intervals of precision, recall and F1 of a slice, units drawn with replacement."""
    if rounds < 1 or not 0 < level < 1:
        raise UsageError(f"rounds {rounds}, level {level}: expected rounds >= 1 and 0 < level < 1")
    counts = unit_counts(evaluation, name, unit=unit)
    units = len(counts)
    counts = counts[counts.any(axis=1)]  # units without entities are all alike: one category for them is enough
    if not len(counts):
        return {measure: Interval(0.0, 0.0, rounds) for measure in ("precision", "recall", "f1")}
    shares = np.append(np.full(len(counts), 1 / units), (units - len(counts)) / units)
    random = np.random.default_rng(seed)
    sums = [random.multinomial(units, shares, size=len(block))[:, :-1] @ counts for block in _blocks(rounds)]
    drawn = np.concatenate(sums).astype(np.float64)
    tp, fp, fn = drawn.T
    measures = {"precision": (tp, tp + fp), "recall": (tp, tp + fn), "f1": (2 * tp, 2 * tp + fp + fn)}
    edges = [(1 - level) / 2, (1 + level) / 2]
    found = {}
    for measure, (over, under) in measures.items():
        values = over[under > 0] / under[under > 0]
        low, high = np.quantile(values, edges).tolist() if len(values) else (0.0, 0.0)
        found[measure] = Interval(low, high, rounds - len(values))
    return found


def compare(
    a: Evaluation, b: Evaluation, name: str = ALL, *, unit: Unit = "sentence", rounds: int = 10_000, seed: int = 0
) -> Comparison:
    """Paired approximate randomisation: how often swapping the systems at random parts their F1 as much."""
    return compare_runs([a], [b], name, unit=unit, rounds=rounds, seed=seed)


def compare_runs(
    a: Sequence[Evaluation],
    b: Sequence[Evaluation],
    name: str = ALL,
    *,
    unit: Unit = "sentence",
    rounds: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """The same between two systems that were trained several times, by the counts of all their runs.

    A unit's answers are swapped in all runs at once, as they are alike. A system with fewer runs weighs as much.
    """
    if len({tuple(sorted(one.units)) for one in (*a, *b)}) != 1:
        raise MismatchError("the two systems are not scored on the same documents and sentences")
    if rounds < 1:
        raise UsageError(f"rounds {rounds}: expected at least 1")
    first = len(b) * np.sum([unit_counts(one, name, unit=unit) for one in a], axis=0)
    second = len(a) * np.sum([unit_counts(one, name, unit=unit) for one in b], axis=0)
    f1_a, f1_b = float(_f1(first.sum(axis=0))), float(_f1(second.sum(axis=0)))
    differing = (first != second).any(axis=1)
    change = (second - first)[differing]
    random = np.random.default_rng(seed)
    hits = 0
    for block in _blocks(rounds):
        moved = random.integers(0, 2, size=(len(block), len(change))) @ change
        difference = _f1(first.sum(axis=0) + moved) - _f1(second.sum(axis=0) - moved)
        hits += int((np.abs(difference) >= abs(f1_b - f1_a) - 1e-12).sum())
    return Comparison(f1_a, f1_b, (hits + 1) / (rounds + 1), rounds)


def p_value_of_runs(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Return how often dealing out the runs of two systems at random parts their means as much.

    Every way to deal them out is tried, so three runs each cannot give less than 0.1, and five not less than 0.008.
    None with fewer than two runs of either system: one run says nothing of how runs differ.
    """
    if min(len(a), len(b)) < 2:
        return None
    every = [*a, *b]
    total = sum(every)

    def difference(first: float) -> float:
        return abs(first / len(a) - (total - first) / len(b))

    ways = [difference(sum(some)) for some in combinations(every, len(a))]
    return sum(way >= difference(sum(a)) - 1e-12 for way in ways) / len(ways)


def _blocks(rounds: int) -> Sequence[range]:
    return [range(start, min(start + BLOCK, rounds)) for start in range(0, rounds, BLOCK)]


def _f1(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    tp, fp, fn = np.moveaxis(counts.astype(np.float64), -1, 0)
    return _ratio(2 * tp, 2 * tp + fp + fn)


def _ratio(over: NDArray[np.float64], under: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(over, under, out=np.zeros_like(under), where=under > 0)
