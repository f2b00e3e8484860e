"""Settings that are tried in turn (Table 2)."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from gridner.config import Config
from gridner.experiment import paper_tables
from gridner.experiment.bar_chart import Bars
from gridner.experiment.markdown_table import Cell, Table
from gridner.experiment.paper_tables import Outcome
from gridner.experiment.study import BASE, Study
from gridner.experiment.systems import System
from gridner.experiment.variants import SEARCH, Changes, changed, chosen
from gridner.inference.part_evaluation import selection_score

Plan = tuple[Mapping[str, Config], int]  # trainings by name, and how many more there will be
Kept = dict[str, str]  # of each set the value that was chosen, by its label; none where what was before is better


def plan_search(study: Study) -> Plan:
    """The runs of the first set; those of the others depend on how they go."""
    first, *others = chosen(list(SEARCH), study.rows)
    more = [changes for name in others for changes in SEARCH[name].values()]
    return _runs(study.config, {}, first), sum(changed(study.config, changes) != study.config for changes in more)


def run_search(study: Study) -> Outcome:
    """Each set in turn: a value that is better on dev than what was before stays. The test documents choose nothing."""
    sets = chosen(list(SEARCH), study.rows)
    kept: Kept = {}
    tried: dict[str, tuple[System, float | None]] = {}
    for name in sets:
        runs = _runs(study.config, kept, name)
        folders = study.train({run: config for run, config in runs.items() if run not in tried})
        for run, some in folders.items():
            system = study.system(run, some)
            tried[run] = (system, _chosen_by(system, runs[run]))
        scores = {run: score for run in runs if (score := tried[run][1]) is not None}
        labels = {_named(study.config, {**kept, name: label})[0]: label for label in SEARCH[name]}
        winner = max(scores, key=lambda run: scores[run], default=None)  # among equals what was before
        if winner is not None and winner != _named(study.config, kept)[0]:
            kept[name] = labels[winner]
    best, _ = _named(study.config, kept)
    rows: list[list[Cell]] = [
        [
            f"{run}{' ← chosen' if run == best else ''}",
            system.runs_on(study.scored),
            None if score is None else 100 * score,
            *(cell for part in study.scored for cell in paper_tables.score_cells(system, part)),
        ]
        for run, (system, score) in tried.items()
    ]
    columns = ["", "runs", "chosen by", *(name for part in study.scored for name in paper_tables.score_columns(part))]
    settings = {path: value for name, label in kept.items() for path, value in SEARCH[name][label].items()}
    said = " ".join(f"--set {path}={value}" for path, value in settings.items())
    notes = (
        f"`{BASE}`: the settings as they are. Sets: {', '.join(sets)}, each in turn with the best of those before.",
        "Chosen on dev, so the dev score of the best flatters; test documents chose nothing.",
        f"The best: `{said}`" if said else "The best: the settings as they are.",
    )
    series = {"chosen by": [None if score is None else 100 * score for _, score in tried.values()]}
    figure = Bars("Settings tried", "what dev chooses by, %", list(tried), series)
    return Outcome("Search (Table 2)", [Table("Scores", columns, rows, notes)], figure, {"best": settings})


def _runs(config: Config, kept: Kept, name: str) -> dict[str, Config]:
    """What was best before, and each value of a set with it."""
    return dict([_named(config, kept), *(_named(config, {**kept, name: label}) for label in SEARCH[name])])


def _named(config: Config, kept: Kept) -> tuple[str, Config]:
    """The name of a run with some values, by those that change something, and its settings."""
    names = []
    for name, label in kept.items():
        changes: Changes = SEARCH[name][label]
        if (after := changed(config, changes)) != config:
            names.append(label)
            config = after
    return "+".join(names) or BASE, config


def _chosen_by(system: System, config: Config) -> float | None:
    """The measure that the settings choose the epoch by, mean of the runs; None where every run failed."""
    runs = system.runs.get("dev", ())
    return fmean(selection_score(one, config.train.best_by) for one in runs) if runs else None
