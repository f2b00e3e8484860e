"""gridner train"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gridner.cli.evaluate import slice_label
from gridner.cli.printing import new_table, print_notes, print_table
from gridner.cli.progress import sentence_progress
from gridner.cli.reading_options import ReadingOptions, reading_options
from gridner.cli.shared_options import NoTextOption, OwnNamesOption, SettingsOption, TrainLexiconOption
from gridner.cli.train_corpora import NONE, sources_of
from gridner.cli.train_progress import Live
from gridner.cli.training_process import command_line, exit_when_interrupted, is_main_process, prepare_training
from gridner.corpus.gazetteer import Lexicon, read_lexicon
from gridner.errors import Notes, UsageError

if TYPE_CHECKING:
    from gridner.corpus.splits import Corpus, Part
    from gridner.training.task import TrainingTask

DEV_SHARE = 0.1


@reading_options(without=["texts"])
def train(
    config: Annotated[
        str, typer.Argument(metavar="CONFIG", help="A TOML file, or tiny, craft, w2ner, cadec, share13, share14.")
    ],
    train: Annotated[
        list[str],
        typer.Option(
            "--train", metavar="[NAME=]PATH", help="The training corpus; several, for one model, if repeated."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="A new folder for the model.")],
    *,
    reading: ReadingOptions,
    dev: Annotated[
        list[str] | None,
        typer.Option(
            "--dev",
            metavar="[NAME=]PATH",
            help="The corpus to choose on, or the share of the training documents to hold out (default: "
            f"{DEV_SHARE}); none: no dev. One for each --train, in the same order.",
        ),
    ] = None,
    test: Annotated[
        list[str] | None,
        typer.Option("--test", metavar="[NAME=]PATH", help="A corpus to score once, in the end; likewise."),
    ] = None,
    weight: Annotated[
        list[float] | None,
        typer.Option("--weight", help="How often an epoch sees the sentences of a corpus, for each --train."),
    ] = None,
    settings: SettingsOption = None,
    seeds: Annotated[str | None, typer.Option("--seeds", help="Train once with each, such as 1,2,3.")] = None,
    folds: Annotated[
        int | None, typer.Option("--folds", min=2, help="Cross-validate: each fold of the documents is the test once.")
    ] = None,
    init: Annotated[
        Path | None, typer.Option("--init", help="A gridner model to go on from, also with new types.")
    ] = None,
    lexicon: TrainLexiconOption = None,
    own_names: OwnNamesOption = False,
    report: Annotated[
        bool,
        typer.Option("--report", help="Write the page of gridner report on dev into each model's folder, with grids."),
    ] = False,
    no_text: NoTextOption = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped or killed.")] = False,
) -> None:
    """Train a model on a corpus, or on several that mark different types.

    The folder gets the model of the best epoch on dev with its card, a log, a picture of the curves and the
    predictions. --ids and --except-ids choose among the training documents.

    Examples:

        gridner train tiny --train examples --output model

        gridner train craft --train corpus/train --dev corpus/dev --format brat --output model --seeds 1,2,3

        gridner train craft --train corpus --folds 5 --output folds --set train.epochs=5

        gridner train craft --train corpus/train --dev corpus/dev --output model --resume

        gridner train craft --train a/train --train b/train --dev a/dev --dev b/dev --output model --weight 1 --weight 2

    """
    from gridner.config import read_config

    if report and dev == [NONE]:
        raise UsageError("--report with --dev none, expected dev documents to report on")
    if no_text and not report:
        raise UsageError("--no-text without --report, expected a page to leave the text out of")
    sources = sources_of(train, dev or (), test or (), weight or (), default_share=DEV_SHARE)
    if sources.several and (reading.ids is not None or reading.except_ids is not None):
        raise UsageError(
            "--ids or --except-ids with several --train, expected corpora of these documents alone (gridner convert)"
        )
    if folds is not None and (sources.dev_share is None or sources.test):
        raise UsageError("--folds with a --dev or --test corpus, expected the folds to come from --train alone")
    changes = list(settings or [])
    if seeds is not None:
        changes.append(f"train.seeds=[{seeds}]")
    chosen = read_config(config, changes)
    prepare_training()
    from gridner.corpus.splits import part_of
    from gridner.training.many_runs import folds_of_each, hold_out_each, scored_parts, summary, train_all
    from gridner.training.task import TrainingTask

    notes = Notes()
    others = replace(reading, ids=None, except_ids=None)

    def part(path: Path, name: str) -> Part:
        how = reading if name.startswith("train") else others
        return part_of(how.documents(path, notes, activity="read"), notes=notes, name=name)

    corpora = sources.read(part)
    names = read_lexicon(lexicon) if lexicon is not None else Lexicon()
    command = command_line()
    share = sources.dev_share

    def task(some: list[Corpus]) -> TrainingTask:
        first, *more = some if share is None else hold_out_each(some, share)
        return TrainingTask(
            config=chosen,
            train=first.train,
            dev=first.dev,
            test=first.test,
            name=first.name,
            weight=first.weight,
            more=tuple(more),
            output=output,
            init=init,
            lexicon=names,
            own_names=own_names,
            split=frozenset(() if share is None else ("dev",) if folds is None else ("dev", "test")),
            command=command,
        )

    if folds is None:
        tasks = {"": task(corpora)}
    else:
        tasks = {f"fold-{number}": task(some) for number, some in enumerate(folds_of_each(corpora, folds), start=1)}
    of_runs: dict[str, Notes] = {}
    with exit_when_interrupted(resume=resume), Live(resume=resume, quiet=not is_main_process()) as live:
        found = train_all(
            tasks,
            seeds=chosen.train.seeds,
            output=output,
            resume=resume,
            watcher=live.watch,
            notes=lambda name: of_runs.setdefault(name, notes.copy()),
        )
    if not is_main_process():
        return
    _print_scores(found, {name: summary(found, name) for name in scored_parts(found)})
    _print_notes(of_runs)
    if report:
        _write_reports(output, found, tasks, no_text=no_text)
    typer.echo(f"the model is in {output}" if len(found) == 1 else f"the models are in {output}", err=True)


def _write_reports(output: Path, runs: Iterable[str], tasks: Mapping[str, TrainingTask], *, no_text: bool) -> None:
    from gridner.formats import read
    from gridner.scoring.evaluation import pair
    from gridner.view.report_file import write_report

    for run in runs:
        task = next(task for name, task in tasks.items() if run == name or not name or run.startswith(f"{name}/"))
        folder = output / run
        for name, corpus, dev in task.each_part("dev"):
            known = {document.id: document.text for document in dev.documents}
            found = [answer for _, answer in pair(dev.documents, read(folder / f"{name}.jsonl", texts=known))]
            with sentence_progress("grids") as each:
                written = write_report(
                    folder / (f"report-{corpus.name}.html" if task.more else "report.html"),
                    dev.documents,
                    {name: found},
                    title=f"{folder.name} on {name}",
                    no_text=no_text,
                    model=folder,
                    force=True,
                    each=each,
                )
            typer.echo(str(written), err=True)


def _print_notes(of_runs: Mapping[str, Notes]) -> None:
    """Once where all runs have the same."""
    if len({tuple((what, count) for what, count, _ in notes) for notes in of_runs.values()}) <= 1:
        of_runs = {"": next(iter(of_runs.values()))}
    for name, notes in of_runs.items():
        print_notes(notes, name)


def _print_scores(runs: Mapping[str, Mapping[str, Any]], parts: Mapping[str, Any]) -> None:
    several = len(runs) > 1
    for name, slices in parts.items():
        if not slices:
            continue
        table = new_table(f"{name}, exact match", "P", "R", "F1", *(["runs"] if several else []))
        for label, row in slices.items():
            table.add_row(
                slice_label(label),
                *(
                    f"{100 * at.mean:.2f}" + (f" ± {100 * at.deviation:.2f}" if several else "")
                    for at in (row["precision"], row["recall"], row["f1"])
                ),
                *([str(row["f1"].runs)] if several else []),
            )
        print_table(
            table, "mean ± standard deviation over the runs with such entities" if several else "one run, one seed"
        )
