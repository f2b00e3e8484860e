"""Uncertainty of scores: bootstrap intervals, the spread of several runs, and paired tests between two systems."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gridner.documents import Document
from gridner.errors import MismatchError, UsageError
from gridner.scoring.evaluation import ALL, Evaluation, evaluate

Unit = Literal["sentence", "document"]
BLOCK = 64  # resamples drawn at a time, which bounds memory


@dataclass(frozen=True, slots=True)
class Interval:
    """The middle share `level` of the resampled values.

    Resamples without a defined value are left out: precision without predictions, recall without gold.
    """

    low: float
    high: float
    left_out: int = 0  # resamples


@dataclass(frozen=True, slots=True)
class Spread:
    """A measure over several runs, with the standard deviation of the sample; 0 for one run."""

    mean: float
    deviation: float
    runs: int


def spread(values: Sequence[float]) -> Spread:
    """Return mean and standard deviation."""
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return Spread(statistics.fmean(values), deviation, len(values))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two F1 scores, and the probability `p` of so large a difference by chance alone."""

    f1_a: float
    f1_b: float
    p: float
    rounds: int

    @property
    def difference(self) -> float:
        """How much higher the F1 of B is."""
        return self.f1_b - self.f1_a


def unit_counts(evaluation: Evaluation, name: str = ALL, *, unit: Unit = "sentence") -> NDArray[np.int64]:
    """Return true positives, false positives and false negatives [units, 3], with the units sorted by id."""
    if unit not in ("sentence", "document"):
        raise UsageError(f"unit {unit!r}, expected sentence or document")
    keys = [(document, number if unit == "sentence" else 0) for document, number in evaluation.units]
    rows = {key: row for row, key in enumerate(sorted(set(keys)))}
    counts = np.zeros((len(rows), 3), dtype=np.int64)
    for number, score in evaluation.counts.get(name, {}).items():
        counts[rows[keys[number]]] += (score.tp, score.fp, score.fn)
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
    """Return percentile intervals of precision, recall and F1 of a slice; units are drawn with replacement."""
    if rounds < 1 or not 0 < level < 1:
        raise UsageError(f"rounds {rounds}, level {level}: expected rounds >= 1 and 0 < level < 1")
    counts = unit_counts(evaluation, name, unit=unit)
    units = len(counts)
    counts = counts[counts.any(axis=1)]  # units without entities are all alike: one category is enough
    if not len(counts):
        return {measure: Interval(0.0, 0.0, rounds) for measure in ("precision", "recall", "f1")}
    shares = np.append(np.full(len(counts), 1 / units), (units - len(counts)) / units)
    random = np.random.default_rng(seed)
    sums = [random.multinomial(units, shares, size=len(block))[:, :-1] @ counts for block in _blocks(rounds)]
    drawn = np.concatenate(sums).astype(np.float64)
    tp, fp, fn = drawn.T
    measures = {"precision": (tp, tp + fp), "recall": (tp, tp + fn), "f1": (2 * tp, 2 * tp + fp + fn)}
    edges = [(1 - level) / 2, (1 + level) / 2]
    intervals = {}
    for measure, (over, under) in measures.items():
        values = over[under > 0] / under[under > 0]
        low, high = np.quantile(values, edges).tolist() if len(values) else (0.0, 0.0)
        intervals[measure] = Interval(low, high, rounds - len(values))
    return intervals


def compare(
    gold: Iterable[Document],
    first: Iterable[Document],
    second: Iterable[Document],
    *,
    unit: Unit = "sentence",
    rounds: int = 10_000,
    seed: int = 0,
) -> dict[str, Comparison]:
    """Compare the predictions of two systems on each slice: their F1, the difference and its p-value."""
    documents = list(gold)
    return compare_evaluations(
        evaluate(documents, first), evaluate(documents, second), unit=unit, rounds=rounds, seed=seed
    )


def compare_evaluations(
    a: Evaluation, b: Evaluation, *, unit: Unit = "sentence", rounds: int = 10_000, seed: int = 0
) -> dict[str, Comparison]:
    """Compare two evaluations on each slice that either has."""
    names = dict.fromkeys([*a.slices, *b.slices])
    return {name: compare_slice(a, b, name, unit=unit, rounds=rounds, seed=seed) for name in names}


def compare_slice(
    a: Evaluation, b: Evaluation, name: str = ALL, *, unit: Unit = "sentence", rounds: int = 10_000, seed: int = 0
) -> Comparison:
    """Compare two systems by paired approximate randomization of their F1."""
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
    """Compare two systems that were trained several times, by the counts of all their runs.

    The predictions for a unit are swapped in all runs at once, because they are alike. Both systems have the same
    weight, whatever their number of runs.
    """
    if len({tuple(sorted(run.units)) for run in (*a, *b)}) != 1:
        raise MismatchError(
            "the two systems are not scored on the same documents and sentences; score them on the same gold"
        )
    if rounds < 1:
        raise UsageError(f"rounds {rounds}: expected at least 1")
    first = len(b) * np.sum([unit_counts(run, name, unit=unit) for run in a], axis=0)
    second = len(a) * np.sum([unit_counts(run, name, unit=unit) for run in b], axis=0)
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
    """Return the p-value of the difference between the means of two systems, by an exact permutation test of runs.

    It tries every assignment of runs to systems, so three runs each cannot give less than 0.1, five each 0.008.
    With fewer than two runs of either system it returns None: one run does not show how runs differ.
    """
    if min(len(a), len(b)) < 2:
        return None
    runs = [*a, *b]
    total = sum(runs)

    def difference(sum_of_a: float) -> float:
        return abs(sum_of_a / len(a) - (total - sum_of_a) / len(b))

    differences = [difference(sum(assigned)) for assigned in combinations(runs, len(a))]
    return sum(value >= difference(sum(a)) - 1e-12 for value in differences) / len(differences)


def _blocks(rounds: int) -> Sequence[range]:
    return [range(start, min(start + BLOCK, rounds)) for start in range(0, rounds, BLOCK)]


def _f1(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    tp, fp, fn = np.moveaxis(counts.astype(np.float64), -1, 0)
    return _ratio(2 * tp, 2 * tp + fp + fn)


def _ratio(over: NDArray[np.float64], under: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(over, under, out=np.zeros_like(under), where=under > 0)
