"""What `gridner.load` takes, and what its recognizer reads."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gridner import Document, UsageError, load
from gridner.errors import Notes
from gridner.inference import available_cores
from gridner.inference.parallel import PredictionTask, predict_in_processes
from support.small import documents


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"threshold": 3}, "threshold is 3, expected at least 0 and less than 1"),
        ({"threshold": -0.1}, "threshold is -0.1"),
        ({"threshold": math.nan}, "threshold is nan, expected a finite number"),
        ({"threshold": "0.3"}, "threshold is '0.3', expected a number"),
        ({"threshold": True}, "threshold is True, expected a number"),
        ({"threshold": None}, "threshold is None, expected a number"),
        ({"treshold": 0.3}, r"treshold is unknown; did you mean \w*threshold"),
        ({"k": 0}, "k is 0"),
        ({"max_words": 10, "overlap": 20}, "overlap is 20"),
        ({"threads": 0}, "threads is 0, expected an integer from 1"),
        ({"threads": "2"}, "threads is '2'"),
    ],
)
def test_a_setting_that_makes_no_sense_is_an_error_at_once(exported: Path, settings: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        load(exported, **settings)


@pytest.mark.parametrize("threshold", [0, 1, 0.3, np.float32(0.5), np.float64(0.5), np.int64(1)])
def test_numbers_of_all_kinds_are_taken(exported: Path, threshold: Any) -> None:
    assert load(exported, threshold=threshold).decoding.threshold == pytest.approx(float(threshold))


def test_texts_are_read_like_documents(exported: Path) -> None:
    recognizer = load(exported)
    texts = [document.text for document in documents()]
    found = list(recognizer.pipe(texts))
    assert [one.id for one in found] == ["1", "2", "3", "4", "5", "6"]
    assert [one.entities for one in found] == [one.entities for one in recognizer.pipe(documents())]
    assert [one.id for one in recognizer.pipe([Document("own", "No pain."), "No pain."])] == ["own", "2"]


@pytest.mark.parametrize("given", ["No pain.", Document("d", "No pain."), [5], [("a", "b")], [None]])
def test_what_is_no_text_is_an_error(exported: Path, given: Any) -> None:
    with pytest.raises(UsageError, match=r"expected a (list of texts or documents|text or a Document)"):
        list(load(exported).pipe(given))


def test_threads_are_bounded_by_the_cores(exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(available_cores, "usable_cores", lambda: 3)
    assert [load(exported, threads=threads).engine.workers for threads in (2, 100_000)] == [2, 3]


def test_workers_are_bounded_by_the_cores(exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gridner.inference import parallel

    started = []
    pool = parallel._pool

    def watched(task: PredictionTask, workers: int) -> Any:
        started.append((workers, task.threads))
        return pool(task, 1)

    monkeypatch.setattr(parallel, "_pool", watched)
    monkeypatch.setattr(parallel, "usable_cores", lambda: 4)
    monkeypatch.setattr(available_cores, "usable_cores", lambda: 4)
    task = PredictionTask(model=exported, threads=100_000)
    assert len(list(predict_in_processes(task, documents(), workers=100_000, notes=Notes()))) == 6
    assert started == [(4, 1)]
