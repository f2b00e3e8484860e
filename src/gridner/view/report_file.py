"""The report as a file: built from documents and predictions, written whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gridner.documents import Document
from gridner.errors import UsageError, plural
from gridner.files import write_text, write_whole
from gridner.inference.loading import load
from gridner.inference.recognizer import Recognizer
from gridner.scoring.significance import Unit
from gridner.text.alignment import sentences_of
from gridner.view.grid import grids
from gridner.view.report import Report, page


@dataclass(frozen=True, slots=True)
class WrittenReport:
    """The path and size of a report."""

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
    recognizer = load(model) if model is not None else None
    seen = _grids(recognizer, gold, each) if recognizer is not None else [None] * len(gold)
    for document, windows, *answers in zip(gold, seen, *predictions.values(), strict=True):
        report.add(document, answers, windows)
    heading = "A gridner report" if no_text and not own_title else title
    about = {"version": version("gridner"), "date": datetime.now(UTC).strftime("%Y-%m-%d")}
    if recognizer is not None and model is not None:
        about["threshold"] = f"threshold {recognizer.decoding.threshold:g}"
        about |= {} if no_text else {"model": _as_text(model.resolve().name)}
    elif scores := [score for answers in predictions.values() for score in _scored(answers)]:
        about["threshold"] = f"lowest score {min(scores):.2f}"
    text = page(_as_text(heading), {**report.data(unit=unit, rounds=rounds, seed=seed), "about": about})
    write_whole(output, lambda part: write_text(part, text), folder=False, force=force)
    return WrittenReport(output, len(report.sentences), len(text))


def _as_text(name: str) -> str:
    """Return a file name as text, with a question mark for each byte that is not UTF-8."""
    return name.encode("utf-8", "replace").decode("utf-8")


def _scored(documents: Sequence[Document]) -> Iterator[float]:
    """Return the scores of all entities that have one."""
    return (entity.score for document in documents for entity in document.entities if entity.score is not None)


def _grids(
    recognizer: Recognizer, documents: Sequence[Document], each: Callable[[], None]
) -> Iterator[list[list[dict[str, Any]]]]:
    """Return the grids of the sentences of each document."""
    for document in documents:
        yield grids(recognizer, sentences_of(document), each=each)


def distinct_names(first: Path, second: Path) -> list[str]:
    """Name two paths by what differs: toe and w2ner for runs/toe/dev.jsonl and runs/w2ner/dev.jsonl."""
    if first.resolve() == second.resolve():
        raise UsageError(f"{second}: the same as the other predictions; pass those of another system")
    if first.name != second.name:
        return [first.name, second.name]
    first_parts, second_parts = (list(path.resolve().parts) for path in (first, second))
    for end in (0, -1):
        while min(len(first_parts), len(second_parts)) > 1 and first_parts[end] == second_parts[end]:
            del first_parts[end], second_parts[end]
    return ["/".join(first_parts), "/".join(second_parts)]
