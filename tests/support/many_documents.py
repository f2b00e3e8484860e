"""Many documents and their answers: what must be equal, and a task whose processes die."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gridner.documents import Document
from gridner.errors import Notes
from gridner.inference.base_recognizer import BaseRecognizer
from gridner.inference.parallel import PredictionTask
from support.small import TEXTS


def corpus(count: int) -> list[Document]:
    """Documents of two sentences."""
    return [Document(f"d{n}", " ".join(TEXTS[(n + k) % 6] for k in range(2))) for n in range(count)]


def same_answers(found: Iterable[Document], expected: Iterable[Document]) -> None:
    """All is equal, but scores are rounded otherwise in other batches."""
    ours, theirs = list(found), list(expected)
    assert ours == theirs
    assert [one.sentences for one in ours] == [one.sentences for one in theirs]
    for one, other in zip(ours, theirs, strict=True):
        assert [entity.score for entity in one.entities] == pytest.approx(
            [entity.score for entity in other.entities], abs=1e-4
        )
    assert any(one.entities for one in ours)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadly(PredictionTask):
    """It kills its process when it meets a document; only the first time, if there is a place to mark that."""

    victim: str
    marker: Path | None = None

    def predict(
        self,
        recognizer: BaseRecognizer,
        documents: Iterable[Document],
        *,
        notes: Notes,
        each: Callable[[], None] = lambda: None,
    ) -> Iterator[Document]:
        """Its end, or the answers."""
        some = list(documents)
        spared = self.marker is not None and self.marker.exists()
        if not spared and any(document.id == self.victim for document in some):
            if self.marker is not None:
                self.marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return PredictionTask.predict(self, recognizer, some, notes=notes, each=each)
