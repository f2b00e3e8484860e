"""gridner train"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gridner.cli.common import (
    ExceptIdsOption,
    FormatOption,
    IdsOption,
    LenientOption,
    NoTextOption,
    OwnNamesOption,
    Reading,
    RepairOption,
    SentencesOption,
    SettingsOption,
    TrainLexiconOption,
    TypesOption,
    new_table,
    prepare_training,
    print_notes,
    print_table,
    sentence_progress,
)
from gridner.cli.evaluate import slice_label
from gridner.cli.train_progress import Live
from gridner.corpus.gazetteer import Lexicon, read_lexicon
from gridner.errors import Notes, UsageError

if TYPE_CHECKING:
    from gridner.corpus.splits import Part
    from gridner.training.task import Task

DEV_SHARE = 0.1


def train(
    config: Annotated[
        str, typer.Argument(metavar="CONFIG", help="A TOML file, or tiny, craft, w2ner, cadec, share13, share14.")
    ],
    train: Annotated[Path, typer.Option("--train", help="The training corpus.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="A new folder for the model.")],
    dev: Annotated[
        str,
        typer.Option(
            "--dev", help="The corpus to choose on, or the share of the training documents to hold out; none: no dev."
        ),
    ] = str(DEV_SHARE),
    test: Annotated[Path | None, typer.Option("--test", help="A corpus to score once, in the end.")] = None,
    format: FormatOption = "auto",
    ids: IdsOption = None,
    except_ids: ExceptIdsOption = None,
    types: TypesOption = None,
    sentences: SentencesOption = "auto",
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
    lenient: LenientOption = False,
    repair: RepairOption = False,
) -> None:
    """Train a model on a corpus.

    The folder gets the model of the best epoch on dev with its card, a log, a picture of the curves and the
    predictions. --ids and --except-ids choose among the training documents.

    Examples:

        gridner train tiny --train examples --output model

        gridner train craft --train corpus/train --dev corpus/dev --format brat --output model --seeds 1,2,3

        gridner train craft --train corpus --folds 5 --output folds --set train.epochs=5

        gridner train craft --train corpus/train --dev corpus/dev --output model --resume

    """
    from gridner.config import read_config

    if report and dev == "none":
        raise UsageError("--report with --dev none, expected dev documents to report on")
    if no_text and not report:
        raise UsageError("--no-text without --report, expected a page to leave the text out of")
    changes = list(settings or [])
    if seeds is not None:
        changes.append(f"train.seeds=[{seeds}]")
    chosen = read_config(config, changes)
    prepare_training()
    from gridner.corpus.splits import part_of
    from gridner.training.interruption import Stopped
    from gridner.training.many_runs import folds_of, hold_out, summary, train_all
    from gridner.training.task import Task

    notes = Notes()
    reading = Reading(format, None, ids, except_ids, types, sentences, lenient, repair)
    others = Reading(format, None, None, None, types, sentences, lenient, repair)

    def part(path: Path, name: str, how: Reading) -> Part:
        return part_of(how.documents(path, notes, what="read"), notes=notes, name=name)

    whole = part(train, "train", reading)
    held: Part | None
    share = _share(dev)
    names = read_lexicon(lexicon) if lexicon is not None else Lexicon()
    command = shlex.join(["gridner", *sys.argv[1:]])
    tested = part(test, "test", others) if test is not None else None
    task = Task(
        config=chosen,
        train=whole,
        test=tested,
        output=output,
        init=init,
        lexicon=names,
        own_names=own_names,
        split=frozenset(() if share is None else ("dev",) if folds is None else ("dev", "test")),
        command=command,
    )
    if folds is None:
        if share is not None:
            rest, held = hold_out(whole, share)
        else:
            rest, held = whole, None if dev == "none" else part(Path(dev), "dev", others)
        tasks = {"": replace(task, train=rest, dev=held)}
    else:
        if share is None or tested is not None:
            raise UsageError("--folds with a --dev or --test corpus, expected the folds to come from --train alone")
        tasks = {}
        for number, (some, fold) in enumerate(folds_of(whole, folds), start=1):
            rest, held = hold_out(some, share)
            tasks[f"fold-{number}"] = replace(task, train=rest, dev=held, test=fold)
    main = int(os.environ.get("RANK", "0")) == 0
    alone = int(os.environ.get("WORLD_SIZE", "1")) == 1
    again = (command if resume else f"{command} --resume") if alone else "the same command with --resume"
    of_runs: dict[str, Notes] = {}
    try:
        with Live(resume=resume, quiet=not main) as live:
            found = train_all(
                tasks,
                seeds=chosen.train.seeds,
                output=output,
                resume=resume,
                watcher=live.watch,
                notes=lambda name: of_runs.setdefault(name, notes.copy()),
            )
    except Stopped:
        if main:
            typer.echo(f"gridner: stopped, the state is saved; go on with: {again}", err=True)
        raise typer.Exit(130 if main else 0) from None  # a launcher ends the first when another fails
    except KeyboardInterrupt:
        if main:
            typer.echo(f"gridner: interrupted; go on from the last snapshot with: {again}", err=True)
        raise typer.Exit(130) from None
    if not main:
        return
    _print_scores(found, {name: summary(found, name) for name in ("dev", "test")})
    _print_notes(of_runs)
    if report:
        _write_reports(output, found, tasks, no_text=no_text)
    typer.echo(f"the model is in {output}" if len(found) == 1 else f"the models are in {output}", err=True)


def _share(dev: str) -> float | None:
    """The share of the documents, or None if it is a path or "none"."""
    if dev == "none" or Path(dev).exists():
        return None
    try:
        share = float(dev)
    except ValueError:
        return None
    if not 0 < share < 1:
        raise UsageError(f"--dev {dev}, expected a corpus or a share of the documents such as 0.1")
    return share


def _write_reports(output: Path, runs: Iterable[str], tasks: Mapping[str, Task], *, no_text: bool) -> None:
    from gridner.formats import read
    from gridner.scoring.evaluation import pair
    from gridner.view.report_file import write_report

    for run in runs:
        task = next(task for name, task in tasks.items() if run == name or not name or run.startswith(f"{name}/"))
        folder, golds = output / run, task.dev.documents if task.dev is not None else ()
        known = {document.id: document.text for document in golds}
        found = [answer for _, answer in pair(golds, read(folder / "dev.jsonl", texts=known))]
        with sentence_progress("grids") as each:
            written = write_report(
                folder / "report.html",
                golds,
                {"dev": found},
                title=f"{folder.name} on dev",
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
