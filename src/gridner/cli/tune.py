"""gridner tune"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gridner.cli.printing import new_table, print_notes, print_table
from gridner.cli.reading_options import ReadingOptions, reading_options
from gridner.cli.shared_options import LexiconOption, ModelOption, limit_to_cores
from gridner.cli.train_corpora import paths_by_name
from gridner.cli.training_process import command_line
from gridner.errors import Notes

if TYPE_CHECKING:
    from gridner.inference.tune_model import Corpora


@reading_options(without=["texts"])
def tune(
    dev: Annotated[
        list[str],
        typer.Option("--dev", metavar="[NAME=]PATH", help="Annotated corpus to tune on; repeat it for several."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="New folder for the tuned model.")],
    *,
    reading: ReadingOptions,
    model: ModelOption = None,
    lexicon: LexiconOption = None,
    names_from: Annotated[
        list[Path] | None,
        typer.Option(
            "--names-from",
            help="Annotated corpus whose names join the gazetteer, which loses names that it mostly leaves "
            "unannotated; repeatable.",
        ),
    ] = None,
    test: Annotated[
        list[str] | None,
        typer.Option("--test", metavar="[NAME=]PATH", help="Corpus to score once, with the tuned model; repeatable."),
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads (default and maximum: all cores).")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output if it exists.")] = False,
) -> None:
    """Tune a model for a corpus without training: thresholds, the bonus of gazetteer names, calibration.

    The network stays as it is, so this is fast and needs no torch. The output folder gets the model and its
    predictions. A model of several corpora takes one --dev for each, which counts for the types of that corpus.

    Examples:
    ```
    gridner tune --dev corpus/dev --output mine
    gridner tune --model model --dev corpus/dev --lexicon drugs.tsv --output model-with-drugs
    gridner tune --model model --dev corpus/dev --names-from corpus/train -o with-names
    gridner tune --model model --dev corpus/dev --lexicon none --output model-without-names
    ```

    """
    from gridner.inference.tune_model import tune_model

    notes = Notes()

    def documents(option: str, values: list[str]) -> Corpora:
        paths = paths_by_name(option, values)
        read = {name: reading.documents(path, notes, activity="read") for name, path in paths.items()}
        return read if len(read) > 1 else next(iter(read.values()))

    tuned = tune_model(
        documents("--dev", dev),
        output,
        model=model,
        lexicon=lexicon,
        names_from=[reading.documents(path, notes, activity="read") for path in names_from or ()],
        test=documents("--test", test) if test else None,
        ignore_missing_types=reading.types is not None,
        threads=limit_to_cores("--threads", threads),
        force=force,
        command=command_line(),
        notes=notes,
    )
    table = new_table("exact match", "P", "R", "F1")
    for part, after in tuned.after.items():
        rows = (("before", tuned.before[part]), ("after", after)) if part in tuned.before else (("", after),)
        for when, evaluation in rows:
            score = evaluation.score()
            percents = (f"{100 * value:.2f}" for value in (score.precision, score.recall, score.f1))
            table.add_row(f"{part}, {when}" if when else part, *percents)
    settings = [
        f"{f'{name}: ' if name else ''}links {one.link_threshold:g}, head and tail {one.end_threshold:g}, "
        f"names {one.name_bonus:g}"
        for name, one in tuned.tunings.items()
    ]
    print_table(table, f"{'; '.join(settings)}; tuned on dev, so other documents will score lower")
    print_notes(notes)
    typer.echo(f"the model is in {output}", err=True)
