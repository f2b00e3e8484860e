from types import SimpleNamespace
from typing import Any

import pytest

from gridner.cli import train_scores
from gridner.errors import Notes


def test_notes_come_before_the_scores_that_they_explain(monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[str] = []
    monkeypatch.setattr(train_scores, "print_notes", lambda notes, run: printed.extend(what for what, _, _ in notes))
    monkeypatch.setattr(train_scores, "print_table", lambda *_: printed.append("scores"))
    notes = Notes()
    notes.add("dev: document that is also in train", "note-1")
    spread = SimpleNamespace(mean=0.5, deviation=0.0, runs=1)
    measures = {"precision": spread, "recall": spread, "f1": spread}
    result: Any = SimpleNamespace(runs=["seed-1"], scores={"dev": {"all": measures}}, notes={"seed-1": notes})
    train_scores.print_result(result)
    assert printed == ["dev: document that is also in train", "scores"]
