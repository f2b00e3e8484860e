"""Systems to compare: the evaluations of their predictions on dev and test, one per run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gridner.corpus.splits import Part
from gridner.documents import Document
from gridner.errors import FormatError, GridnerError, MismatchError
from gridner.formats import read
from gridner.inference.corpus_evaluation import evaluate_part
from gridner.scoring.evaluation import ALL, Evaluation, pair
from gridner.scoring.serialization import error_shares
from gridner.scoring.significance import Spread, spread

SCORED = ("dev", "test")


@dataclass(frozen=True, slots=True)
class System:
    """A name and the evaluations of its runs by part. A part without predictions is absent."""

    name: str
    runs: Mapping[str, Sequence[Evaluation]]

    def percent(self, part: str, measure: str, slice: str = ALL) -> Spread | None:
        """Return precision, recall or F1 of a slice in percent; None if nobody has such entities, not even gold."""
        scores = [evaluation.score(slice) for evaluation in self.runs.get(part, ())]
        if not any(score.tp + score.fp + score.fn for score in scores):
            return None
        return spread([100 * float(getattr(score, measure)) for score in scores])

    def errors(self, part: str, block: str) -> dict[str, Spread]:
        """Return the share of each kind of error in a block in percent, and their number as "total".

        Runs without an error in the block do not count for the shares. Without runs, the result is empty.
        """
        counts = [evaluation.errors[block] for evaluation in self.runs.get(part, ())]
        totals = [float(sum(count.values())) for count in counts]
        shares = [error_shares(count) for count, total in zip(counts, totals, strict=True) if total]
        spreads = {name: spread([share[name] for share in shares]) for name in (shares[0] if shares else ())}
        return {**spreads, "total": spread(totals)} if totals else {}

    def runs_on(self, parts: Sequence[str]) -> int | str:
        """Return the number of runs, or one number per part if they differ."""
        counts = [len(self.runs.get(part, ())) for part in parts]
        distinct = {count for count in counts if count}
        return max(distinct, default=0) if len(distinct) < 2 else " / ".join(map(str, counts))


def system_of(name: str, runs: Sequence[Path], parts: Mapping[str, Part], *, format: str = "auto") -> System:
    """Score the predictions of the runs of a system: folders with dev.jsonl and test.jsonl, or files of any format."""
    evaluations: dict[str, list[Evaluation]] = {part: [] for part in SCORED}
    for run in runs:
        for part, documents in read_predictions(run, parts, format=format).items():
            evaluations[part].append(evaluate_part(parts[part], documents))
    return System(name, {part: runs_of_part for part, runs_of_part in evaluations.items() if runs_of_part})


def read_predictions(path: Path, parts: Mapping[str, Part], *, format: str = "auto") -> dict[str, list[Document]]:
    """Return the predictions for each part, in the order of its documents."""
    golds = {name: parts[name].documents for name in SCORED if name in parts}
    named = {name: path / f"{name}.jsonl" for name in golds if (path / f"{name}.jsonl").is_file()}
    if named:
        return {name: _paired(golds[name], _read(file, golds[name], "jsonl"), file) for name, file in named.items()}
    ids = [document.id for documents in golds.values() for document in documents]
    if len(set(ids)) < len(ids):
        return _by_text(path, golds, format)
    known = [document for documents in golds.values() for document in documents]
    unused = {document.id: document for document in _read(path, known, format)}
    by_part = {}
    for name, documents in golds.items():
        predictions = [unused.pop(document.id) for document in documents if document.id in unused]
        if predictions:
            by_part[name] = _paired(documents, predictions, path)
    if unused or not by_part:
        problem = f"document {next(iter(unused))}" if unused else "no document of them"
        raise MismatchError(f"{path}: {problem}, expected predictions for {' or '.join(golds)}")
    return by_part


def _by_text(path: Path, golds: Mapping[str, Sequence[Document]], format: str) -> dict[str, list[Document]]:
    """Return predictions for the part that has the same texts. For corpora whose dev and test share document ids."""
    matching, problem = {}, ""
    for name, documents in golds.items():
        try:
            matching[name] = _paired(documents, _read(path, documents, format), path)
        except GridnerError as error:
            problem = str(error)
    if len(matching) != 1:
        why = f"fit {' and '.join(matching)} alike" if matching else problem.removeprefix(f"{path}: ")
        raise MismatchError(
            f"{path}: {' and '.join(golds)} have the same document ids, and predictions {why}; "
            f"expected a folder with {' and '.join(f'{name}.jsonl' for name in golds)}"
        )
    return matching


def runs_below(path: Path) -> list[Path]:
    """Return the folders seed-1, seed-2 … of a system, or the path itself."""
    if not path.exists():
        raise FormatError(f"{path}: not found, expected predictions, a model, or a folder of runs")
    seeds = sorted(path.glob("seed-*"), key=lambda folder: (len(folder.name), folder.name))
    return seeds or [path]


def _read(path: Path, known: Sequence[Document], format: str) -> list[Document]:
    return list(read(path, format, texts={document.id: document.text for document in known}))


def _paired(golds: Sequence[Document], predictions: Sequence[Document], path: Path) -> list[Document]:
    try:
        return [predicted for _, predicted in pair(golds, predictions)]
    except MismatchError as error:
        raise MismatchError(f"{path}: {error}") from None
