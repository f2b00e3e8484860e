"""Systems that are compared: what each found on dev and test, once for every run of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gridner.corpus.splits import Part
from gridner.documents import Document
from gridner.errors import FormatError, GridnerError, MismatchError
from gridner.formats import read
from gridner.inference.part_evaluation import evaluate_part
from gridner.scoring.evaluation import ALL, Evaluation, pair
from gridner.scoring.serialization import error_shares
from gridner.scoring.significance import Spread, spread

SCORED = ("dev", "test")


@dataclass(frozen=True, slots=True)
class System:
    """A name and the evaluations of its runs, by part. A part that it did not answer has none."""

    name: str
    runs: Mapping[str, Sequence[Evaluation]]

    def percent(self, part: str, measure: str, slice: str = ALL) -> Spread | None:
        """Precision, recall or F1 of a slice in percent; None where neither gold nor the system has such entities."""
        scores = [one.score(slice) for one in self.runs.get(part, ())]
        if not any(score.tp + score.fp + score.fn for score in scores):
            return None
        return spread([100 * float(getattr(score, measure)) for score in scores])

    def errors(self, part: str, block: str) -> dict[str, Spread]:
        """The share of each kind of error in a block in percent, and their number as "total"; empty without runs.

        Runs without an error in the block have no shares.
        """
        counts = [one.errors[block] for one in self.runs.get(part, ())]
        totals = [float(sum(one.values())) for one in counts]
        shares = [error_shares(one) for one, total in zip(counts, totals, strict=True) if total]
        found = {name: spread([share[name] for share in shares]) for name in (shares[0] if shares else ())}
        return {**found, "total": spread(totals)} if totals else {}

    def runs_on(self, parts: Sequence[str]) -> int | str:
        """The number of runs, for each part where it differs."""
        counts = [len(self.runs.get(part, ())) for part in parts]
        there = {count for count in counts if count}
        return max(there, default=0) if len(there) < 2 else " / ".join(map(str, counts))


def system_of(name: str, runs: Sequence[Path], parts: Mapping[str, Part], *, format: str = "auto") -> System:
    """A system from the predictions of its runs: folders with dev.jsonl and test.jsonl, or files of any format."""
    found: dict[str, list[Evaluation]] = {part: [] for part in SCORED}
    for run in runs:
        for part, documents in answers_of(run, parts, format=format).items():
            found[part].append(evaluate_part(parts[part], documents))
    return System(name, {part: evaluations for part, evaluations in found.items() if evaluations})


def answers_of(path: Path, parts: Mapping[str, Part], *, format: str = "auto") -> dict[str, list[Document]]:
    """The predictions for each part, in the order of its documents."""
    golds = {name: parts[name].documents for name in SCORED if name in parts}
    named = {name: path / f"{name}.jsonl" for name in golds if (path / f"{name}.jsonl").is_file()}
    if named:
        return {name: _paired(golds[name], _read(file, golds[name], "jsonl"), file) for name, file in named.items()}
    ids = [document.id for documents in golds.values() for document in documents]
    if len(set(ids)) < len(ids):
        return _by_text(path, golds, format)
    known = [document for documents in golds.values() for document in documents]
    answers = {document.id: document for document in _read(path, known, format)}
    found = {}
    for name, documents in golds.items():
        some = [answers.pop(document.id) for document in documents if document.id in answers]
        if some:
            found[name] = _paired(documents, some, path)
    if answers or not found:
        strange = f"document {next(iter(answers))}" if answers else "no document of them"
        raise MismatchError(f"{path}: {strange}, expected predictions for {' or '.join(golds)}")
    return found


def _by_text(path: Path, golds: Mapping[str, Sequence[Document]], format: str) -> dict[str, list[Document]]:
    """The predictions of the part whose texts they have, where dev and test number their documents alike."""
    found, said = {}, ""
    for name, documents in golds.items():
        try:
            found[name] = _paired(documents, _read(path, documents, format), path)
        except GridnerError as error:
            said = str(error)
    if len(found) != 1:
        why = f"fit {' and '.join(found)} alike" if found else said.removeprefix(f"{path}: ")
        raise MismatchError(
            f"{path}: {' and '.join(golds)} have the same document ids, and predictions {why}; "
            f"expected a folder with {' and '.join(f'{name}.jsonl' for name in golds)}"
        )
    return found


def runs_below(path: Path) -> list[Path]:
    """The folders seed-1, seed-2 … of a system, or the path itself."""
    if not path.exists():
        raise FormatError(f"{path}: not found, expected predictions, a model, or a folder of runs")
    seeds = sorted(path.glob("seed-*"), key=lambda folder: (len(folder.name), folder.name))
    return seeds or [path]


def _read(path: Path, known: Sequence[Document], format: str) -> list[Document]:
    return list(read(path, format, texts={document.id: document.text for document in known}))


def _paired(golds: Sequence[Document], answers: Sequence[Document], path: Path) -> list[Document]:
    try:
        return [answer for _, answer in pair(golds, answers)]
    except MismatchError as error:
        raise MismatchError(f"{path}: {error}") from None
