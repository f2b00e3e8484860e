"""gridner evaluate, gridner compare"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gridner.cli.printing import new_table, notes_json, print_json, print_notes, print_table, slice_label
from gridner.cli.reading_options import ReadingOptions, reading_options
from gridner.cli.scoring_options import (
    GoldArgument,
    PredictedFormatOption,
    RoundsOption,
    SeedOption,
    UnitOption,
    read_predictions,
)
from gridner.cli.shared_options import JsonOption, NoTextOption
from gridner.errors import Notes, UsageError, plural

if TYPE_CHECKING:
    from gridner.scoring.evaluation import Evaluation
    from gridner.scoring.significance import Interval


@reading_options()
def evaluate(
    gold: GoldArgument,
    predicted: Annotated[Path, typer.Argument(metavar="PRED", help="The predictions.")],
    *,
    reading: ReadingOptions,
    pred_format: PredictedFormatOption = None,
    unit: UnitOption = "sentence",
    rounds: RoundsOption = 1000,
    seed: SeedOption = 0,
    report: Annotated[
        Path | None, typer.Option("--report", help="Also write the HTML report of gridner report to this file.")
    ] = None,
    no_text: NoTextOption = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the report if it exists.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Score predictions: exact match per type and slice with 95 % intervals, error classes, relaxed scores.

    Examples:
    ```
    gridner evaluate gold predictions --format brat
    gridner evaluate test.json predictions.jsonl --format w2ner --pred-format jsonl --json
    gridner evaluate gold predictions --format brat --report report.html
    ```

    """
    from gridner.files import check_output
    from gridner.scoring.evaluation import evaluate as score
    from gridner.scoring.serialization import evaluation_json
    from gridner.scoring.significance import bootstrap

    notes = Notes()
    if no_text and report is None:
        raise UsageError("--no-text without --report, expected both: it leaves the text out of the report")
    if report is not None:
        check_output(report, folder=False, force=force)
    golds = list(reading.documents(gold, notes, activity="read"))
    predictions = read_predictions(golds, predicted, reading, pred_format, notes)
    result = score(golds, predictions)
    if report is not None:
        from gridner.view.report_file import write_report

        written = write_report(
            report,
            golds,
            {predicted.name: predictions},
            title=f"{predicted.name} against {gold.name}",
            no_text=no_text,
            unit=unit,
            rounds=rounds,
            seed=seed,
            force=force,
        )
        typer.echo(str(written), err=True)
    intervals = {name: bootstrap(result, name, unit=unit, rounds=rounds, seed=seed) for name in result.slices}
    if as_json:
        data = evaluation_json(result)
        for name, interval in intervals.items():
            data["exact"][name]["interval"] = {
                measure: [bounds.low, bounds.high] for measure, bounds in interval.items()
            }
            data["exact"][name]["resamples_left_out"] = interval["f1"].left_out
        settings = {"level": 0.95, "unit": unit, "rounds": rounds, "seed": seed}
        print_json({**data, "intervals": settings, "notes": notes_json(notes)})
        return
    _print_evaluation(result, intervals, unit)
    print_notes(notes)


@reading_options()
def compare(
    gold: GoldArgument,
    first: Annotated[Path, typer.Argument(metavar="PRED_A", help="Predictions of one system.")],
    second: Annotated[Path, typer.Argument(metavar="PRED_B", help="Predictions of the other system.")],
    *,
    reading: ReadingOptions,
    pred_format: PredictedFormatOption = None,
    unit: UnitOption = "sentence",
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of the randomisation test.")] = 10_000,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Compare two systems: the F1 of each slice, the difference, and its p-value.

    The test is paired approximate randomisation: p is how often randomly swapping the predictions of the two systems
    gives a difference at least as large.

    Examples:
    ```
    gridner compare gold toe.jsonl w2ner.jsonl --format brat --pred-format jsonl
    ```

    """
    from gridner.scoring.evaluation import evaluate as score
    from gridner.scoring.significance import compare_evaluations

    notes = Notes()
    golds = list(reading.documents(gold, notes, activity="read"))
    a, b = (score(golds, read_predictions(golds, path, reading, pred_format, notes)) for path in (first, second))
    comparisons = compare_evaluations(a, b, unit=unit, rounds=rounds, seed=seed)
    if as_json:
        slices = {
            name: {"f1_a": slice.f1_a, "f1_b": slice.f1_b, "difference": slice.difference, "p": slice.p}
            for name, slice in comparisons.items()
        }
        print_json({"slices": slices, "unit": unit, "rounds": rounds, "seed": seed, "notes": notes_json(notes)})
        return
    table = new_table("F1", "A", "B", "B − A", "p")
    for name, slice in comparisons.items():
        if not _has_no_entities(a, name) or not _has_no_entities(b, name):
            mark = "*" if slice.p < 0.05 else ""
            table.add_row(
                slice_label(name),
                _percent(slice.f1_a),
                _percent(slice.f1_b),
                f"{100 * slice.difference:+.2f}{mark}",
                f"{slice.p:.4f}",
            )
    print_table(
        table,
        f"A = {first}, B = {second}; * p < 0.05, paired approximate randomisation over each {unit}, {rounds:,} rounds",
    )
    print_notes(notes)


def _print_evaluation(result: Evaluation, intervals: dict[str, dict[str, Interval]], unit: str) -> None:
    from gridner.scoring.serialization import ERROR_LABELS, error_shares

    table = new_table("exact match", "P", "R", "F1", "95 % of F1", "gold", "pred", "right")
    for name in result.slices:
        score, interval = result.score(name), intervals[name]["f1"]
        numbers = (
            ("–",) * 4
            if _has_no_entities(result, name)
            else (
                *map(_percent, (score.precision, score.recall, score.f1)),
                f"{_percent(interval.low)}–{_percent(interval.high)}",
            )
        )
        counts = (f"{number:,}" for number in (score.tp + score.fn, score.tp + score.fp, score.tp))
        table.add_row(slice_label(name), *numbers, *counts)
    table.add_row("mean of types (macro)", "", "", _percent(result.macro_f1) if result.types else "–")
    print_table(
        table,
        f"{plural(result.documents, 'document')}, {plural(result.sentences, 'sentence')}; "
        f"intervals: bootstrap over each {unit}",
    )

    errors = new_table("errors, % of each block", *result.errors)
    shares = {block: error_shares(counts) for block, counts in result.errors.items()}
    for name in next(iter(shares.values())):
        errors.add_row(ERROR_LABELS[name], *(f"{share[name]:.1f}" for share in shares.values()))
    errors.add_row("number of errors", *(f"{sum(counts.values()):,}" for counts in result.errors.values()))
    print_table(errors, "each block over the sentences that have such a gold entity")

    relaxed = result.relaxed
    loose = new_table("relaxed: same type, a common word", "P", "R", "F1")
    loose.add_row("all", *map(_percent, (relaxed.precision, relaxed.recall, relaxed.f1)))
    print_table(loose, "not comparable with exact match")
    if result.duplicates:
        typer.echo(f"left out: {plural(result.duplicates, 'entity')} annotated more than once in a document")


def _percent(value: float) -> str:
    return f"{100 * value:.2f}"


def _has_no_entities(result: Evaluation, name: str) -> bool:
    score = result.score(name)
    return not (score.tp or score.fp or score.fn)
