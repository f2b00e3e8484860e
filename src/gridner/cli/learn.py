"""gridner learn"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gridner.cli.printing import new_table, print_notes, print_table
from gridner.cli.reading_options import ReadingOptions, reading_options
from gridner.cli.shared_options import SettingsOption
from gridner.cli.train_corpora import share_of
from gridner.cli.train_progress import TrainingProgress
from gridner.cli.training_process import command_line, exit_when_interrupted, prepare_training
from gridner.errors import FormatError, Notes, plural

if TYPE_CHECKING:
    from gridner.training.corrections import Learned


@reading_options(without=["texts"])
def learn(
    corrections: Annotated[
        Path,
        typer.Option("--from", metavar="EXPORT", help="Corrected documents: a brat folder or a Label Studio export."),
    ],
    model: Annotated[Path, typer.Option("--model", "-m", help="Model folder that gridner train wrote.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="New folder for the updated model.")],
    *,
    reading: ReadingOptions,
    dev: Annotated[
        str, typer.Option("--dev", metavar="SHARE|PATH", help="Share of the documents to hold out, or a dev corpus.")
    ] = "0.2",
    rehearse: Annotated[
        Path | None,
        typer.Option(
            "--rehearse",
            metavar="PATH",
            help="Also train on this corpus, usually the original one, so that the model forgets less.",
        ),
    ] = None,
    settings: SettingsOption = None,
    replace_model: Annotated[
        bool,
        typer.Option(
            "--replace", help="If the new model is no worse on dev, move it to --model and back up the old one."
        ),
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Resume an interrupted run.")] = False,
) -> None:
    """Learn from corrections: train a model further, and score it before and after on the same documents.

    Documents that nobody has annotated are left out. --ids lists those to learn from instead.

    Examples:
    ```
    gridner learn --from export.json --model model --output model-2
    gridner learn --from brat/corpus --model model --output model-2 --rehearse corpus/train
    gridner learn --from export.json --model model --output model-2 --replace
    ```

    """
    prepare_training()
    from gridner.corpus.suggestions import only_annotated
    from gridner.formats import guess
    from gridner.training import corrections as learning

    if not corrections.exists():
        raise FormatError(f"{corrections}: not found")
    notes = Notes()
    share = share_of(dev)
    format = guess(corrections) if reading.format == "auto" else reading.format
    found = replace(reading, format=format).documents(corrections, notes, activity="read")
    others = replace(reading, format="auto", ids=None, except_ids=None)
    with exit_when_interrupted(resume=resume), TrainingProgress(resume=resume, quiet=False) as progress:
        learned = learning.learn(
            found if reading.ids else only_annotated(found, corrections, format, notes),
            model=model,
            output=output,
            dev=others.documents(Path(dev), notes, activity="read") if share is None else share,
            rehearse=() if rehearse is None else others.documents(rehearse, notes, activity="read"),
            settings=settings or (),
            resume=resume,
            watcher=lambda config: progress.watch("", config, 0),
            notes=notes,
            command=command_line(),
        )
    print_notes(notes)
    _print_scores(learned)
    if replace_model and not learned.improved:
        typer.echo(f"{model} was not replaced, as its F1 on dev is higher; the new model is in {output}", err=True)
        raise typer.Exit(1)
    if replace_model:
        kept = learning.replace_model(model, output)
        typer.echo(f"the new model is in {model}, the old one in {kept}", err=True)
    else:
        typer.echo(f"the model is in {output}", err=True)


def _print_scores(learned: Learned) -> None:
    table = new_table("dev, exact match", "P", "R", "F1")
    for label, evaluation in (("before", learned.before), ("after", learned.after)):
        score = evaluation.score()
        table.add_row(label, *(f"{100 * value:.2f}" for value in (score.precision, score.recall, score.f1)))
    train, dev = (plural(len(part.documents), "document") for part in (learned.train, learned.dev))
    print_table(table, f"learned from {train}, scored on {dev}")
