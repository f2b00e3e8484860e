"""What the commands that train print in the end: scores, and what was skipped or changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gridner.cli.printing import new_table, print_notes, print_table, slice_label
from gridner.errors import Notes

if TYPE_CHECKING:
    from gridner.training.corpora import TrainingResult


def print_run_notes(notes_by_run: Mapping[str, Notes]) -> None:
    """Print the notes of each run, or print them once if all runs have the same."""
    if len({tuple((what, count) for what, count, _ in notes) for notes in notes_by_run.values()}) <= 1:
        notes_by_run = {"": next(iter(notes_by_run.values()))}
    for run, notes in notes_by_run.items():
        print_notes(notes, run)


def print_result(result: TrainingResult) -> None:
    """Print the notes, then the scores: a dev document that is also in train explains them."""
    print_run_notes(result.notes)
    print_scores(result)


def print_scores(result: TrainingResult) -> None:
    """Print a table of each scored part: mean and deviation over the runs."""
    several = len(result.runs) > 1
    for part, slices in result.scores.items():
        if not slices:
            continue
        table = new_table(f"{part}, exact match", "P", "R", "F1", *(["runs"] if several else []))
        for name, measures in slices.items():
            table.add_row(
                slice_label(name),
                *(
                    f"{100 * spread.mean:.2f}" + (f" ± {100 * spread.deviation:.2f}" if several else "")
                    for spread in (measures["precision"], measures["recall"], measures["f1"])
                ),
                *([str(measures["f1"].runs)] if several else []),
            )
        print_table(
            table, "mean ± standard deviation over the runs with such entities" if several else "one run, one seed"
        )
