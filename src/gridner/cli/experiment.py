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
PARTS = {
    "train": ("train", "training"),
    "dev": ("dev", "devel", "development", "valid", "validation"),
    "test": ("test",),
}


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
        str, typer.Option("--config", help="TOML file, or a preset: craft, cadec, share13, share14, tiny.")
    ] = "craft",
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
    from gridner.corpus.splits import part_of
    from gridner.experiment.registry import EXPERIMENTS, check_call, run_experiment
    from gridner.experiment.run_record import OtherSystems
    from gridner.experiment.study import Study
    from gridner.training.interruption import Stopped

    more = [name for name in names if name.isdigit() and seeds is not None]  # --seeds 1 2 3 leaves 2 and 3 here
    wanted = [name for name in names if name not in more]
    numbers = [*("1,2,3" if seeds is None else seeds).split(","), *more]
    wanted = list(EXPERIMENTS) if wanted == ["all"] else wanted
    for name in wanted:
        if name not in EXPERIMENTS:
            raise UsageError(f"experiment {name!r}, expected some of {NAMES}")
    if not wanted:  # --seeds 1 2
        raise UsageError(f"no experiment, expected some of {NAMES}")
    chosen = read_config(config, [*(settings or []), f"train.seeds=[{','.join(numbers)}]"])
    if chosen.model.architecture != "toe":
        raise UsageError(
            f"--config {config}: architecture {chosen.model.architecture}, expected toe; W2NER is compared by itself"
        )
    others = OtherSystems(_system_paths(systems or []), system_format)
    notes = Notes()
    every_document = replace(reading, ids=None, except_ids=None)
    places = find_parts(data)
    _check_outside(output, places)
    parts = {
        name: part_of(
            (reading if name == "train" else every_document).documents(path, notes, activity="read"),
            notes=notes,
            name=name,
        )
        for name, path in places.items()
    }
    command = command_line()
    texts: dict[str, str] = {}
    said, error = "", None
    with TrainingProgress(resume=False, quiet=False) as live:
        study = Study(
            config=chosen,
            parts=parts,
            output=output,
            seeds=chosen.train.seeds,
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
        try:  # whatever ends it, what was found until then is shown
            check_call(wanted, study)
            for name in wanted:
                texts[name] = run_experiment(name, study)
        except Stopped:
            said = "stopped, the state is saved"
        except KeyboardInterrupt:
            said = "interrupted, what was finished is kept"
        except GridnerError as found:
            error = found
    if error is None or texts:
        _print(study, {name: text for name, text in texts.items() if text})
    if error is not None:
        raise error
    if said:
        typer.echo(f"gridner: {said}; resume with: {command}", err=True)
        raise typer.Exit(130)
    if study.runs.failures:
        raise typer.Exit(1)


def _print(study: Study, texts: Mapping[str, str]) -> None:
    for text in texts.values():
        typer.echo(text)
    print_notes(study.notes)
    if texts:
        typer.echo(f"written to {study.output}: {', '.join(f'{name}.md, .json, .png' for name in texts)}", err=True)
    runs: dict[str, list[str]] = {}
    for run, why in study.runs.failures.items():
        runs.setdefault(why, []).append(run)
    for why, some in runs.items():
        typer.echo(f"gridner: {', '.join(some)} failed: {why}", err=True)


def _check_outside(output: Path, places: Mapping[str, Path]) -> None:
    for name, path in places.items():
        if path.is_dir() and output.resolve().is_relative_to(path.resolve()):
            raise UsageError(f"--output {output}: inside the {name} documents of {path}, expected another folder")


def find_parts(data: Path) -> dict[str, Path]:
    """The folders or files of train, dev and, if it is there, test."""
    if not data.is_dir():
        raise UsageError(
            f"--data {data}: {'a file' if data.exists() else 'not found'}, expected a folder with train and dev"
        )
    found: dict[str, Path] = {}
    for name, stems in PARTS.items():
        paths = [path for path in sorted(data.iterdir()) if (path.name if path.is_dir() else path.stem) in stems]
        if len(paths) > 1:
            raise UsageError(f"{data}: {' and '.join(path.name for path in paths)}, expected one {name}")
        if paths:
            found[name] = paths[0]
        elif name != "test":
            raise UsageError(f"{data}: no {name}, expected a folder or a file of that name, such as {name}.jsonl")
    return found


def _system_paths(systems: Sequence[str]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for text in systems:
        name, equals, path = (part.strip() for part in text.partition("="))
        if not equals or not name or not path or "/" in name or name.startswith(".") or not name.isprintable():
            raise UsageError(f"--system {text!r}, expected NAME=PATH, with a printable name that has no /")
        if not Path(path).exists():
            raise UsageError(f"--system {name}: {path} not found, expected predictions, a model or a folder of runs")
        if name in found:
            raise UsageError(f"--system {name} twice, expected each name once")
        found[name] = Path(path)
    return found
