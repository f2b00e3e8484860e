"""gridner report"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from gridner.cli.evaluate import GoldArgument, PredictedFormatOption, SeedOption, UnitOption, answers_of
from gridner.cli.printing import print_notes
from gridner.cli.progress import sentence_progress
from gridner.cli.reading_options import ReadingOptions, reading_options
from gridner.cli.shared_options import NoTextOption
from gridner.errors import Notes, UsageError


@reading_options()
def report(
    gold: GoldArgument,
    predicted: Annotated[Path, typer.Argument(metavar="PRED", help="The predictions.")],
    second: Annotated[
        Path | None, typer.Argument(metavar="[PRED_B]", help="Predictions of another system, to compare with.")
    ] = None,
    *,
    reading: ReadingOptions,
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file to write.")] = Path("report.html"),
    model: Annotated[
        Path | None,
        typer.Option(
            "--model", "-m", help="Show the grid of each sentence as this model sees it, with what it decodes."
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Its heading (default: the names of the files).")] = None,
    no_text: NoTextOption = False,
    pred_format: PredictedFormatOption = None,
    unit: UnitOption = "sentence",
    rounds: Annotated[int, typer.Option(min=1, help="Bootstrap resamples for the intervals.")] = 1000,
    seed: SeedOption = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Write a page to look at: scores with intervals, and every sentence with what is right, missed and wrong in it.

    One HTML file that needs no network. Filters by type, kind and error, a search, and keys to step through the errors.

    Examples:

        gridner report gold predictions --format brat

        gridner report gold toe.jsonl w2ner.jsonl --format brat --pred-format jsonl --output toe-w2ner.html

        gridner report gold predictions --model model

        gridner report gold predictions --no-text --output to-share.html

    """
    from gridner.files import check_output
    from gridner.view.report_file import write_report

    check_output(output, folder=False, force=force)
    notes = Notes()
    names = [predicted.name] if second is None else told_apart(predicted, second)
    paths = [predicted] if second is None else [predicted, second]
    golds = list(reading.documents(gold, notes, activity="read"))
    found = [answers_of(golds, path, reading, pred_format, notes) for path in paths]
    with sentence_progress("grids") if model is not None else nullcontext(lambda: None) as each:
        written = write_report(
            output,
            golds,
            dict(zip(names, found, strict=True)),
            title=title or f"{' and '.join(names)} against {gold.name}",
            own_title=bool(title),
            no_text=no_text,
            model=model,
            unit=unit,
            rounds=rounds,
            seed=seed,
            force=force,
            each=each,
        )
    typer.echo(str(written), err=True)
    print_notes(notes)


def told_apart(a: Path, b: Path) -> list[str]:
    """Two paths by what differs in them: toe and w2ner for runs/toe/dev.jsonl and runs/w2ner/dev.jsonl."""
    if a.resolve() == b.resolve():
        raise UsageError(f"{b}: the same as the other predictions, expected those of another system")
    if a.name != b.name:
        return [a.name, b.name]
    one, other = (list(path.resolve().parts) for path in (a, b))
    for end in (0, -1):
        while min(len(one), len(other)) > 1 and one[end] == other[end]:
            del one[end], other[end]
    return ["/".join(one), "/".join(other)]
