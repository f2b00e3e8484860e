"""gridner evaluate, gridner compare"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gridner.cli.printing import new_table, notes_json, print_json, print_notes, print_table, slice_label
from gridner.cli.reading_options import ReadingOptions, reading_options
from gridner.cli.shared_options import JsonOption, NoTextOption
from gridner.documents import Document
from gridner.errors import Notes, UsageError, plural

if TYPE_CHECKING:
    from gridner.scoring.evaluation import Evaluation
    from gridner.scoring.significance import Interval

GoldArgument = Annotated[Path, typer.Argument(metavar="GOLD", help="The right answers.")]
PredictedFormatOption = Annotated[
    str | None, typer.Option("--pred-format", help="Format of the predictions, if another.")
]
UnitOption = Annotated[
    Literal["sentence", "document"],
    typer.Option(help="What is resampled. By documents is wider, and more careful where sentences of one are alike."),
]
SeedOption = Annotated[int, typer.Option(min=0, help="Seed of the resampling.")]


@reading_options()
def evaluate(
    gold: GoldArgument,
    predicted: Annotated[Path, typer.Argument(metavar="PRED", help="The predictions.")],
    *,
    reading: ReadingOptions,
    pred_format: PredictedFormatOption = None,
    unit: UnitOption = "sentence",
    rounds: Annotated[int, typer.Option(min=1, help="Bootstrap resamples for the intervals.")] = 1000,
    seed: SeedOption = 0,
    report: Annotated[
        Path | None, typer.Option("--report", help="Write the page of gridner report there as well.")
    ] = None,
    no_text: NoTextOption = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the page if it exists.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Score predictions: exact match, by type and slice, with 95 % intervals; the paper's error table; relaxed scores.

    Examples:

        gridner evaluate gold predictions --format brat

        gridner evaluate test.json predictions.jsonl --format w2ner --pred-format jsonl --json

        gridner evaluate gold predictions --format brat --report report.html

    """
    from gridner.files import check_output
    from gridner.scoring.evaluation import evaluate as score
    from gridner.scoring.serialization import evaluation_json
    from gridner.scoring.significance import bootstrap

    notes = Notes()
    if no_text and report is None:
        raise UsageError("--no-text without --report, expected a page to leave the text out of")
    if report is not None:
        check_output(report, folder=False, force=force)
    golds = list(reading.documents(gold, notes, activity="read"))
    found = answers_of(golds, predicted, reading, pred_format, notes)
    result = score(golds, found)
    if report is not None:
        from gridner.view.report_file import write_report

        written = write_report(
            report,
            golds,
            {predicted.name: found},
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
            data["exact"][name]["interval"] = {measure: [at.low, at.high] for measure, at in interval.items()}
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
    second: Annotated[Path, typer.Argument(metavar="PRED_B", help="Predictions of the other.")],
    *,
    reading: ReadingOptions,
    pred_format: PredictedFormatOption = None,
    unit: UnitOption = "sentence",
    rounds: Annotated[int, typer.Option(min=1, help="Random swaps for the test.")] = 10_000,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Compare two systems: F1 of each slice, the difference, and whether chance explains it.

    The test is paired approximate randomisation: p is how often swapping the two systems' answers at random makes a
    difference at least as large.

    Examples:

        gridner compare gold toe.jsonl w2ner.jsonl --format brat --pred-format jsonl

    """
    from gridner.scoring.evaluation import evaluate as score
    from gridner.scoring.significance import compare_evaluations

    notes = Notes()
    golds = list(reading.documents(gold, notes, activity="read"))
    a, b = (score(golds, answers_of(golds, path, reading, pred_format, notes)) for path in (first, second))
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
        if not _empty(a, name) or not _empty(b, name):
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


def answers_of(
    gold: Sequence[Document], predicted: Path, reading: ReadingOptions, pred_format: str | None, notes: Notes
) -> list[Document]:
    """The predictions for the gold documents, in their order."""
    from gridner.scoring.evaluation import pair

    how = replace(reading, format=pred_format or reading.format)
    return [answer for _, answer in pair(gold, how.documents(predicted, notes, activity="read", texts_from=gold))]


def _print_evaluation(result: Evaluation, intervals: dict[str, dict[str, Interval]], unit: str) -> None:
    from gridner.scoring.serialization import ERROR_LABELS, error_shares

    table = new_table("exact match", "P", "R", "F1", "95 % of F1", "gold", "pred", "right")
    for name in result.slices:
        score, at = result.score(name), intervals[name]["f1"]
        numbers = (
            ("–",) * 4
            if _empty(result, name)
            else (
                *map(_percent, (score.precision, score.recall, score.f1)),
                f"{_percent(at.low)}–{_percent(at.high)}",
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
        typer.echo(f"left out: {plural(result.duplicates, 'entity')}, the same as another one of the document")


def _percent(value: float) -> str:
    return f"{100 * value:.2f}"


def _empty(result: Evaluation, name: str) -> bool:
    score = result.score(name)
    return not (score.tp or score.fp or score.fn)
