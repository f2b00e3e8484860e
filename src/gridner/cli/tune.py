"""gridner tune"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gridner.cli.printing import new_table, print_notes, print_table
from gridner.cli.reading_options import ReadingOptions, reading_options
from gridner.cli.shared_options import LexiconOption, ModelOption, limit_to_cores
from gridner.cli.training_process import command_line
from gridner.errors import Notes


@reading_options(without=["texts"])
def tune(
    dev: Annotated[Path, typer.Option("--dev", help="Annotated corpus to tune on.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="New folder for the tuned model.")],
    *,
    reading: ReadingOptions,
    model: ModelOption = None,
    lexicon: LexiconOption = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads (default and maximum: all cores).")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output if it exists.")] = False,
) -> None:
    """Tune a model for a corpus without training: thresholds, the bonus of gazetteer names, calibration.

    The network stays as it is, so this is fast and needs no torch. The output folder gets the model and its
    predictions.

    Examples:
    ```
    gridner tune --dev corpus/dev --output mine
    gridner tune --model model --dev corpus/dev --lexicon drugs.tsv --output model-with-drugs
    gridner tune --model model --dev corpus/dev --lexicon none --output model-without-names
    ```

    """
    from gridner.inference.tune_model import tune_model

    notes = Notes()
    tuned = tune_model(
        reading.documents(dev, notes, activity="read"),
        output,
        model=model,
        lexicon=lexicon,
        ignore_missing_types=reading.types is not None,
        threads=limit_to_cores("--threads", threads),
        force=force,
        command=command_line(),
        notes=notes,
    )
    table = new_table("dev, exact match", "P", "R", "F1")
    for label, score in (("before", tuned.before.score()), ("after", tuned.after.score())):
        table.add_row(label, *(f"{100 * value:.2f}" for value in (score.precision, score.recall, score.f1)))
    decoding = tuned.decoding
    print_table(
        table,
        f"links {decoding.link_threshold:g}, head and tail {decoding.end_threshold:g}, names {decoding.name_bonus:g}; "
        "tuned on these documents, so other documents will score lower",
    )
    print_notes(notes)
    typer.echo(f"the model is in {output}", err=True)
