"""gridner report"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from gridner.cli.printing import print_notes
from gridner.cli.progress import sentence_progress
from gridner.cli.reading_options import ReadingOptions, reading_options
from gridner.cli.scoring_options import (
    GoldArgument,
    PredictedFormatOption,
    RoundsOption,
    SeedOption,
    UnitOption,
    read_predictions,
)
from gridner.cli.shared_options import NoTextOption
from gridner.errors import Notes


@reading_options()
def report(
    gold: GoldArgument,
    predicted: Annotated[Path, typer.Argument(metavar="PRED", help="The predictions.")],
    second: Annotated[
        Path | None, typer.Argument(metavar="PRED_B", help="Predictions of a second system, to compare.")
    ] = None,
    *,
    reading: ReadingOptions,
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file to write.")] = Path("report.html"),
    model: Annotated[
        Path | None,
        typer.Option("--model", "-m", help="Also show the grid that this model computes for each sentence."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Heading of the report (default: the file names).")] = None,
    no_text: NoTextOption = False,
    pred_format: PredictedFormatOption = None,
    unit: UnitOption = "sentence",
    rounds: RoundsOption = 1000,
    seed: SeedOption = 0,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if it exists.")] = False,
) -> None:
    """Write an HTML report: scores with intervals, and each sentence with its right, missed and wrong entities.

    The report is one file that needs no network. It filters by type, kind and error, searches, and steps through the
    errors by key.

    Examples:
    ```
    gridner report gold predictions --format brat
    gridner report gold toe.jsonl w2ner.jsonl --format brat --pred-format jsonl -o report.html
    gridner report gold predictions --model model
    gridner report gold predictions --no-text --output to-share.html
    ```

    """
    from gridner.files import check_output
    from gridner.view.report_file import distinct_names, write_report

    check_output(output, folder=False, force=force)
    notes = Notes()
    names = [predicted.name] if second is None else distinct_names(predicted, second)
    paths = [predicted] if second is None else [predicted, second]
    golds = list(reading.documents(gold, notes, activity="read"))
    predictions = [read_predictions(golds, path, reading, pred_format, notes) for path in paths]
    with sentence_progress("grids") if model is not None else nullcontext(lambda: None) as count_sentence:
        written = write_report(
            output,
            golds,
            dict(zip(names, predictions, strict=True)),
            title=title or f"{' and '.join(names)} against {gold.name}",
            own_title=bool(title),
            no_text=no_text,
            model=model,
            unit=unit,
            rounds=rounds,
            seed=seed,
            force=force,
            each=count_sentence,
        )
    typer.echo(str(written), err=True)
    print_notes(notes)
