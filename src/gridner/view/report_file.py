"""The report as a file: built from documents and predictions, written whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gridner.documents import Document
from gridner.errors import plural
from gridner.files import write_text, write_whole
from gridner.inference.loading import load
from gridner.scoring.significance import Unit
from gridner.text.sentences import sentences_of
from gridner.view.grid import grids
from gridner.view.report import Report, page


@dataclass(frozen=True, slots=True)
class WrittenReport:
    """Where a report is, and how large."""

    path: Path
    sentences: int
    characters: int

    def __str__(self) -> str:
        return f"{self.path}: {plural(self.sentences, 'sentence')}, {self.characters / 2**20:.1f} MB"


def write_report(
    output: Path,
    gold: Sequence[Document],
    predictions: Mapping[str, Sequence[Document]],
    *,
    title: str,
    own_title: bool = False,
    no_text: bool = False,
    model: Path | None = None,
    unit: Unit = "sentence",
    rounds: int = 1000,
    seed: int = 0,
    force: bool = False,
    each: Callable[[], None] = lambda: None,
) -> WrittenReport:
    """Write the report on the predictions of one or two systems, given by name.

    With `model` it shows the grid of each sentence as that model sees it, and `each` is called after each sentence.
    With `no_text` it has neither the names of files nor a title that is not the user's own.
    """
    names = tuple("AB"[: len(predictions)]) if no_text else tuple(map(_as_text, predictions))
    report = Report(names, with_text=not no_text)
    seen = _grids(model, gold, each) if model is not None else [None] * len(gold)
    for document, windows, *answers in zip(gold, seen, *predictions.values(), strict=True):
        report.add(document, answers, windows)
    heading = "A gridner report" if no_text and not own_title else title
    text = page(_as_text(heading), report.data(unit=unit, rounds=rounds, seed=seed))
    write_whole(output, lambda part: write_text(part, text), folder=False, force=force)
    return WrittenReport(output, len(report.sentences), len(text))


def _as_text(name: str) -> str:
    """A file name as text: bytes that are not UTF-8 become a question mark."""
    return name.encode("utf-8", "replace").decode("utf-8")


def _grids(
    model: Path, documents: Sequence[Document], each: Callable[[], None]
) -> Iterator[list[list[dict[str, Any]]]]:
    """The grids of the sentences of each document."""
    recognizer = load(model)
    for document in documents:
        yield grids(recognizer, sentences_of(document), each=each)
