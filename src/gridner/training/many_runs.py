"""Train every task with every seed, and summarize the scores: mean and deviation over the runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gridner.config import TrainConfig
from gridner.errors import Notes, OutputError
from gridner.files import write_text, write_whole
from gridner.scoring.significance import Spread, spread
from gridner.training.loop import Watcher
from gridner.training.run import train_once
from gridner.training.task import TrainingTask, check_parts

SUMMARY = "summary.json"
MEASURES = ("precision", "recall", "f1")


def train_all(
    tasks: Mapping[str, TrainingTask],
    *,
    seeds: Sequence[int],
    output: Path,
    resume: bool,
    watcher: Callable[[str, TrainConfig, int], Watcher | None],
    notes: Callable[[str], Notes],
) -> dict[str, Mapping[str, Any]]:
    """Train every task with every seed. Return the facts of each run by its name.

    A single run is written to `output`, several to folders in it, with a summary. Each run has its own `notes`. Errors
    that would stop a later run are found before the first starts.
    """
    runs = [
        ("/".join(filter(None, (name, f"seed-{seed}" if len(seeds) > 1 else ""))), task, seed)
        for name, task in tasks.items()
        for seed in seeds
    ]
    for _, task, _ in runs:
        check_parts(task, Notes())
    if len(runs) > 1:
        _check_root(output, [name for name, _, _ in runs], resume=resume)
    facts_of_run: dict[str, Mapping[str, Any]] = {}
    for done, (name, task, seed) in enumerate(runs):
        later = len(runs) - done - 1
        facts_of_run[name] = train_once(
            replace(task, output=output / name if name else output, later=later),
            seed=seed,
            resume=resume,
            watcher=watcher(name, task.config.train, later),
            notes=notes(name),
        )
    if len(runs) > 1 and all(facts_of_run.values()):
        text = json.dumps({"runs": sorted(facts_of_run), "scores": summary_json(facts_of_run)}, indent=1)
        write_whole(output / SUMMARY, lambda part: write_text(part, text), folder=False, force=True)
    return facts_of_run


def _check_root(output: Path, names: Sequence[str], *, resume: bool) -> None:
    """Raise OutputError unless the folder of several runs is new, or has nothing but these runs and `resume` is set."""
    if output.exists() and not output.is_dir():
        raise OutputError(f"{output}: is a file, expected a new folder")
    existing = {path.name for path in output.iterdir()} if output.exists() else set()
    if existing and not resume:
        raise OutputError(f"{output}: exists and is not empty, choose a new folder, or pass --resume to continue a run")
    foreign = sorted(existing - {Path(name).parts[0] for name in names} - {SUMMARY})
    if foreign:
        raise OutputError(f"{output}: has {foreign[0]!r}, expected only {', '.join(names[:3])} …; choose a new folder")


def summary(runs: Mapping[str, Mapping[str, Any]], part: str) -> dict[str, dict[str, Spread]]:
    """Return slice → measure → mean and deviation over the runs that have gold entities in the slice."""
    spreads: dict[str, dict[str, Spread]] = {}
    scores_of_runs = [facts["scores"][part]["exact"] for facts in runs.values() if part in facts["scores"]]
    for name in dict.fromkeys(name for scores in scores_of_runs for name in scores):
        rows = [row for scores in scores_of_runs if (row := scores.get(name)) and row["tp"] + row["fn"]]
        if not rows:
            continue
        spreads[name] = {measure: spread([row[measure] for row in rows]) for measure in MEASURES}
    return spreads


def summary_json(runs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the summary of every dev and test part as plain data."""
    return {
        part: {
            name: {
                measure: {"mean": at.mean, "deviation": at.deviation, "runs": at.runs} for measure, at in row.items()
            }
            for name, row in summary(runs, part).items()
        }
        for part in scored_parts(runs)
    }


def scored_parts(runs: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the names of the parts on which the runs have scores."""
    return list(dict.fromkeys(part for facts in runs.values() for part in facts["scores"]))
