"""Work on several threads, in order."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridner.inference.concurrency import map_in_order


@given(inputs=st.lists(st.integers(), max_size=20), workers=st.integers(1, 4))
def test_results_are_in_the_order_of_the_inputs(inputs: list[int], workers: int) -> None:
    assert list(map_in_order(lambda one: one * 2, inputs, workers=workers)) == [one * 2 for one in inputs]


def test_workers_work_at_the_same_time() -> None:
    together = threading.Barrier(3, timeout=60)  # is passed only by three at once
    assert sorted(map_in_order(lambda _: together.wait(), range(6), workers=3)) == [0, 0, 1, 1, 2, 2]


def test_one_worker_is_the_caller_itself() -> None:
    assert set(map_in_order(lambda _: threading.current_thread(), range(3), workers=1)) == {threading.current_thread()}


def test_no_worker_is_far_ahead_and_none_goes_on_when_the_caller_stops() -> None:
    begun: list[int] = []
    results = map_in_order(begun.append, range(100), workers=2)
    next(results)
    results.close()
    assert len(begun) <= 4


def test_an_error_reaches_the_caller_after_the_results_before_it() -> None:
    results = map_in_order(lambda one: 1 // one, [1, 1, 0, 1], workers=2)
    assert [next(results), next(results)] == [1, 1]
    with pytest.raises(ZeroDivisionError):
        next(results)
