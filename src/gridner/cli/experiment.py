"""gridner experiment"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gridner.cli.printing import print_notes
from gridner.cli.reading_options import ReadingOptions, reading_options
from gridner.cli.shared_options import OwnNamesOption, SettingsOption, TrainLexiconOption
from gridner.cli.train_progress import TrainingProgress
from gridner.cli.training_process import command_line, prepare_training
from gridner.corpus.gazetteer import Lexicon, read_lexicon
from gridner.errors import GridnerError, Notes, UsageError

if TYPE_CHECKING:
    from gridner.experiment.study import Study

NAMES = "statistics, search, comparison, ablation, overlap, errors, efficiency, discontinuous"


@reading_options(without=["texts"])
def experiment(
    names: Annotated[list[str], typer.Argument(metavar="NAME", help=f"Experiments to run: {NAMES}, or all.")],
    data: Annotated[Path, typer.Option("--data", help="Folder with train, dev and test, each a folder or a file.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for runs and tables; gridner reuses the finished runs in it.")
    ],
    *,
    reading: ReadingOptions,
    config: Annotated[
        str, typer.Option("--config", help="TOML file, or a preset: toe, cadec, share13, share14, tiny.")
    ] = "toe",
    seeds: Annotated[
        str | None, typer.Option("--seeds", help="Train once with each seed: 1 2 3, or 1,2,3 (default: 1 2 3).")
    ] = None,
    rows: Annotated[
        list[str] | None,
        typer.Option("--rows", help="Show only these rows of the table: A,B or repeated; an unknown name lists all."),
    ] = None,
    systems: Annotated[
        list[str] | None,
        typer.Option(
            "--system",
            metavar="NAME=PATH",
            help="Another system: predictions, a model, or a folder of seed-1, seed-2 …; repeatable.",
        ),
    ] = None,
    system_format: Annotated[
        str, typer.Option("--pred-format", help="Format of the predictions of --system.")
    ] = "auto",
    paper: Annotated[
        Literal["cadec", "share13", "share14"] | None,
        typer.Option("--paper", help="Also show the results of the paper for this corpus."),
    ] = None,
    settings: SettingsOption = None,
    lexicon: TrainLexiconOption = None,
    own_names: OwnNamesOption = False,
) -> None:
    """Reproduce the tables of the paper on a corpus, as Markdown, JSON and figures.

    gridner keeps the runs in the output folder, where all experiments share them. Run the same command again to resume.
    --ids and --except-ids select training documents.

    Examples:
    ```
    gridner experiment statistics comparison --data corpus --seeds 1 2 3 -o study
    gridner experiment ablation --data corpus --rows best,without-trem,rounds-2 --seeds 1 -o study
    gridner experiment comparison errors --data corpus --system mine=predictions.jsonl -o study
    gridner experiment comparison --data cadec --format w2ner --config cadec --paper cadec -o study
    ```

    """
    prepare_training()
    from gridner.config import read_config
    from gridner.corpus.splits import find_parts, part_of
    from gridner.experiment.registry import EXPERIMENTS, check_call, run_experiment
    from gridner.experiment.run_record import OtherSystems
    from gridner.experiment.study import Study
    from gridner.training.interruption import Stopped

    more_seeds = [name for name in names if name.isdigit() and seeds is not None]  # --seeds 1 2 3 leaves 2 and 3 here
    wanted = [name for name in names if name not in more_seeds]
    all_seeds = [*("1,2,3" if seeds is None else seeds).split(","), *more_seeds]
    wanted = list(EXPERIMENTS) if wanted == ["all"] else wanted
    for name in wanted:
        if name not in EXPERIMENTS:
            raise UsageError(f"experiment {name!r}, expected some of {NAMES}")
    if not wanted:  # --seeds 1 2
        raise UsageError(f"no experiment, expected some of {NAMES}")
    study_config = read_config(config, [*(settings or []), f"train.seeds=[{','.join(all_seeds)}]"])
    if study_config.model.architecture != "toe":
        raise UsageError(
            f"--config {config}: architecture {study_config.model.architecture}, expected toe; "
            "gridner adds W2NER to the comparison"
        )
    others = OtherSystems(_system_paths(systems or []), system_format)
    notes = Notes()
    without_ids = replace(reading, ids=None, except_ids=None)
    paths = find_parts(data)
    _check_outside(output, paths)
    parts = {
        name: part_of(
            (reading if name == "train" else without_ids).documents(path, notes, activity="read"),
            notes=notes,
            name=name,
        )
        for name, path in paths.items()
    }
    command = command_line()
    texts: dict[str, str] = {}
    stopped, error = "", None
    with TrainingProgress(resume=False, quiet=False) as live:
        study = Study(
            config=study_config,
            parts=parts,
            output=output,
            seeds=study_config.train.seeds,
            lexicon=read_lexicon(lexicon) if lexicon is not None else Lexicon(),
            own_names=own_names,
            others=others,
            rows=[row.strip() for value in rows for row in value.split(",")] if rows else None,
            paper=paper,
            command=command,
            watch=lambda name, config, later: live.watch(name, config.train, later),
            say=live.say,
            notes=notes,
        )
        try:  # show the finished tables, whatever ends the study
            check_call(wanted, study)
            for name in wanted:
                texts[name] = run_experiment(name, study)
        except Stopped:
            stopped = "stopped, the state is saved"
        except KeyboardInterrupt:
            stopped = "interrupted, finished runs are kept"
        except GridnerError as failure:
            error = failure
    if error is None or texts:
        _print(study, {name: text for name, text in texts.items() if text})
    if error is not None:
        raise error
    if stopped:
        typer.echo(f"gridner: {stopped}; resume with: {command}", err=True)
        raise typer.Exit(130)
    if study.runs.failures:
        raise typer.Exit(1)


def _print(study: Study, texts: Mapping[str, str]) -> None:
    for text in texts.values():
        typer.echo(text)
    print_notes(study.notes)
    if texts:
        typer.echo(f"written to {study.output}: {', '.join(f'{name}.md, .json, .png' for name in texts)}", err=True)
    failed_runs: dict[str, list[str]] = {}  # by reason
    for run, reason in study.runs.failures.items():
        failed_runs.setdefault(reason, []).append(run)
    for reason, runs in failed_runs.items():
        typer.echo(f"gridner: {', '.join(runs)} failed: {reason}", err=True)


def _check_outside(output: Path, paths: Mapping[str, Path]) -> None:
    for name, path in paths.items():
        if path.is_dir() and output.resolve().is_relative_to(path.resolve()):
            raise UsageError(f"--output {output}: inside the {name} documents of {path}, expected another folder")


def _system_paths(systems: Sequence[str]) -> dict[str, Path]:
    paths: dict[str, Path] = {}
    for text in systems:
        name, equals, path = (part.strip() for part in text.partition("="))
        if not equals or not name or not path or "/" in name or name.startswith(".") or not name.isprintable():
            raise UsageError(f"--system {text!r}, expected NAME=PATH, with a printable name that has no /")
        if not Path(path).exists():
            raise UsageError(f"--system {name}: {path} not found, expected predictions, a model or a folder of runs")
        if name in paths:
            raise UsageError(f"--system {name} twice, expected each name once")
        paths[name] = Path(path)
    return paths
