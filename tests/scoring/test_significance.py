import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from gridner import Document, Entity, Evaluation, Fragment, MismatchError, UsageError, evaluate
from gridner.scoring.significance import bootstrap, compare_slice, p_value_of_runs, unit_counts

TEXT = "pain arm leg"
WORDS = [Entity("X", (Fragment(start, end),)) for start, end in ((0, 4), (5, 8), (9, 12))]


def corpus(answers: Sequence[tuple[int, ...]]) -> list[Document]:
    return [Document(f"{n:03}", TEXT, tuple(WORDS[word] for word in words)) for n, words in enumerate(answers)]


def scored(gold: Sequence[tuple[int, ...]], predicted: Sequence[tuple[int, ...]]) -> Evaluation:
    return evaluate(corpus(gold), corpus(predicted))


def f1(counts: np.ndarray) -> float:
    tp, fp, fn = (int(x) for x in counts)
    return 2 * tp / (2 * tp + fp + fn) if tp else 0.0


def test_an_interval_holds_the_score_and_narrows_with_more_text() -> None:
    small = scored([(0, 1)] * 10, [(0,), (0, 1)] * 5)
    large = scored([(0, 1)] * 1000, [(0,), (0, 1)] * 500)
    few, many = bootstrap(small)["f1"], bootstrap(large)["f1"]
    assert few.low <= small.score().f1 <= few.high
    assert many.low <= large.score().f1 <= many.high
    assert many.high - many.low < (few.high - few.low) / 5


def test_a_perfect_score_has_no_spread() -> None:
    interval = bootstrap(scored([(0,)] * 5, [(0,)] * 5))
    assert {(at.low, at.high) for at in interval.values()} == {(1.0, 1.0)}


def test_resamples_without_entities_say_nothing() -> None:
    rare = scored([(0,)] * 3 + [()] * 97, [(0,)] * 3 + [()] * 97)
    interval = bootstrap(rare)["f1"]
    assert (interval.low, interval.high) == (1.0, 1.0)
    assert 0 < interval.left_out < 200


def test_resamples_without_predictions_say_nothing_of_precision() -> None:
    one = bootstrap(scored([(0,)] * 100, [(0,)] + [()] * 99))
    assert (one["precision"].low, one["precision"].high) == (1.0, 1.0)
    assert 250 < one["precision"].left_out < 500  # (99/100)^100 of 1,000
    assert one["recall"].left_out == one["f1"].left_out == 0
    assert one["recall"].low == 0.0


def test_the_bootstrap_agrees_with_drawing_units_one_by_one() -> None:
    result = scored([(0, 1), (2,), (), (0, 2)] * 5, [(0,), (2, 1), (0,), (0, 2)] * 5)
    counts = unit_counts(result)
    random = np.random.default_rng(1)
    drawn = [f1(counts[random.integers(0, len(counts), len(counts))].sum(axis=0)) for _ in range(4000)]
    interval = bootstrap(result, rounds=4000)["f1"]
    assert (interval.low, interval.high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])), abs=0.02)


def test_p_agrees_with_trying_every_swap() -> None:
    gold = [(0, 1)] * 8
    a = scored(gold, [(0,)] * 6 + [(0, 1)] * 2)
    b = scored(gold, [(0, 1)] * 5 + [(0, 2)] + [(0, 1)] * 2)
    first, second = unit_counts(a), unit_counts(b)
    observed = abs(f1(first.sum(axis=0)) - f1(second.sum(axis=0)))
    hits = 0
    swaps = list(itertools.product([False, True], repeat=len(gold)))
    for swap in swaps:
        mask = np.array(swap)[:, None]
        left, right = np.where(mask, second, first), np.where(mask, first, second)
        hits += abs(f1(left.sum(axis=0)) - f1(right.sum(axis=0))) >= observed - 1e-12
    assert compare_slice(a, b, rounds=20_000).p == pytest.approx(hits / len(swaps), abs=0.01)


def test_a_system_against_itself_differs_by_chance_alone() -> None:
    result = scored([(0, 1)] * 20, [(0,)] * 20)
    found = compare_slice(result, result)
    assert (found.difference, found.p) == (0.0, 1.0)


def test_a_large_difference_is_significant_and_signed() -> None:
    gold = [(0, 1)] * 50
    worse, better = scored(gold, [(0,)] * 50), scored(gold, gold)
    found = compare_slice(worse, better)
    assert found.p < 0.001
    assert found.difference == pytest.approx(better.score().f1 - worse.score().f1)
    assert compare_slice(better, worse).difference == -found.difference


def test_results_do_not_depend_on_the_order_of_documents() -> None:
    gold, one, two = [(0, 1), (2,), (0,)] * 4, [(0,), (2, 1), ()] * 4, [(0, 1), (), (0,)] * 4
    forward = (scored(gold, one), scored(gold, two))
    backward = tuple(evaluate(reversed(corpus(gold)), corpus(answers)) for answers in (one, two))
    assert bootstrap(forward[0], seed=7) == bootstrap(backward[0], seed=7)
    assert compare_slice(*forward, seed=7) == compare_slice(forward[0], backward[1], seed=7)


def test_documents_can_be_the_unit() -> None:
    text = "A pain. A rash."
    pain, rash = (Entity("X", (Fragment(start, end),)) for start, end in ((2, 6), (10, 14)))
    result = evaluate([Document("a", text, (pain, rash))], [Document("a", text, (pain,))])
    assert unit_counts(result).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert unit_counts(result, unit="document").tolist() == [[1, 0, 1]]


def test_systems_scored_on_different_documents_are_refused() -> None:
    with pytest.raises(MismatchError, match="not scored on the same"):
        compare_slice(scored([(0,)], [(0,)]), scored([(0,), (1,)], [(0,), (1,)]))


def test_impossible_settings_are_refused() -> None:
    result = scored([(0,)], [(0,)])
    for call in (
        lambda: bootstrap(result, rounds=0),
        lambda: bootstrap(result, level=1.0),
        lambda: bootstrap(result, unit="word"),  # type: ignore[arg-type]
        lambda: compare_slice(result, result, rounds=0),
    ):
        with pytest.raises(UsageError, match="expected"):
            call()


def test_runs_are_dealt_out_in_every_way() -> None:
    assert p_value_of_runs([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]) == 2 / 20
    assert p_value_of_runs([4.0, 5.0, 6.0], [1.0, 2.0, 3.0]) == 2 / 20
    assert p_value_of_runs([1.0, 4.0, 5.0], [2.0, 3.0, 6.0]) > 0.5  # type: ignore[operator]
    assert p_value_of_runs([1.0] * 3, [1.0] * 3) == 1
    assert p_value_of_runs([1.0, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, 10.0]) == 2 / 252
    assert p_value_of_runs([1.0], [2.0, 3.0]) is None
