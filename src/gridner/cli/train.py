"""gridner train"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gridner.cli.progress import sentence_progress
from gridner.cli.reading_options import ReadingOptions, reading_options
from gridner.cli.shared_options import AboutOption, NoTextOption, OwnNamesOption, SettingsOption, TrainLexiconOption
from gridner.cli.train_corpora import NO_DEV, DevOption, SeedsOption, TestOption, WeightOption, corpus_paths
from gridner.cli.train_progress import TrainingProgress
from gridner.cli.train_scores import print_result
from gridner.cli.training_process import command_line, exit_when_interrupted, is_main_process, prepare_training
from gridner.corpus.gazetteer import read_lexicon
from gridner.corpus.held_out import DEV_SHARE
from gridner.errors import Notes, UsageError


@reading_options(without=["texts"])
def train(
    config: Annotated[
        str,
        typer.Argument(
            metavar="CONFIG", help="TOML file, or a preset: tiny, craft, toe, w2ner, cadec, share13, share14."
        ),
    ],
    train: Annotated[
        list[str],
        typer.Option("--train", metavar="[NAME=]PATH", help="Training corpus; repeat it to train on several corpora."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="New folder for the model.")],
    *,
    reading: ReadingOptions,
    dev: DevOption = None,
    test: TestOption = None,
    weight: WeightOption = None,
    settings: SettingsOption = None,
    seeds: SeedsOption = None,
    folds: Annotated[
        int | None,
        typer.Option("--folds", min=2, help="Cross-validate with this many folds; each is the test corpus once."),
    ] = None,
    init: Annotated[
        Path | None, typer.Option("--init", help="Start from this gridner model; its types may differ.")
    ] = None,
    lexicon: TrainLexiconOption = None,
    own_names: OwnNamesOption = False,
    about: AboutOption = None,
    report: Annotated[
        bool, typer.Option("--report", help="Write an HTML report on dev, with grids, into the folder of each model.")
    ] = False,
    no_text: NoTextOption = False,
    resume: Annotated[bool, typer.Option("--resume", help="Resume an interrupted run to identical weights.")] = False,
) -> None:
    """Train a model on one corpus, or on several that annotate different types.

    The output folder gets the model of the best epoch on dev, a model card, a log, the learning curves and the
    predictions. --ids and --except-ids select training documents.

    Examples:
    ```
    gridner train tiny --train examples --output model
    gridner train craft --train corpus/train --dev corpus/dev --seeds 1,2,3 --output model
    gridner train craft --train corpus --folds 5 --output folds --set train.epochs=5
    gridner train craft --train corpus/train --dev corpus/dev --output model --resume
    gridner train craft --train a/train --train b/train --dev a/dev --dev b/dev -o model
    ```

    """
    from gridner.config import read_config

    if report and dev == [NO_DEV]:
        raise UsageError("--report with --dev none: no documents to report on; give a dev corpus or a share")
    if no_text and not report:
        raise UsageError("--no-text without --report, expected both: it leaves the text out of the report")
    paths = corpus_paths(train, dev or (), test or (), weight or (), default_share=DEV_SHARE)
    if paths.several and (reading.ids is not None or reading.except_ids is not None):
        raise UsageError(
            "--ids or --except-ids with several --train, expected one corpus; gridner convert can select documents"
        )
    if folds is not None and (paths.dev_share is None or paths.test):
        raise UsageError("--folds with a --dev or --test corpus, expected the folds to come from --train alone")
    changes = [*(settings or []), *([f"train.seeds=[{seeds}]"] if seeds is not None else [])]
    chosen = read_config(config, changes)
    prepare_training()
    from gridner.inference.model_description import read_about
    from gridner.training import train_corpora

    notes = Notes()
    corpora = paths.read(reading, notes=notes)
    types = sorted({name for corpus in corpora for name in corpus.train.types})
    description = read_about(about, types) if about is not None else None
    with (
        exit_when_interrupted(resume=resume),
        TrainingProgress(resume=resume, quiet=not is_main_process()) as progress,
    ):
        result = train_corpora(
            chosen,
            corpora,
            output=output,
            dev_share=paths.dev_share,
            folds=folds,
            init=init,
            lexicon=read_lexicon(lexicon) if lexicon is not None else None,
            own_names=own_names,
            about=description,
            command=command_line(),
            resume=resume,
            watcher=progress.watch,
            notes=notes,
        )
    if not is_main_process():
        return
    print_result(result)
    if report:
        with sentence_progress("grids") as count_sentence:
            for written in result.write_reports(no_text=no_text, on_sentence=count_sentence):
                typer.echo(str(written), err=True)
    typer.echo(f"the model is in {output}" if len(result.runs) == 1 else f"the models are in {output}", err=True)
