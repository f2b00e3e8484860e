"""Search for the best settings: try the values of one group after the other (Table 2)."""

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
from gridner.inference.corpus_evaluation import selection_score

Plan = tuple[Mapping[str, Config], int]  # the settings of each training, and how many trainings follow at most
Choices = dict[str, str]  # the label of the best value of each group; a group without a better value is absent


def plan_search(study: Study) -> Plan:
    """Plan the runs of the first group. The settings of the others depend on its results."""
    first, *others = chosen(list(SEARCH), study.rows)
    more = [changes for name in others for changes in SEARCH[name].values()]
    return _runs(study.config, {}, first), sum(changed(study.config, changes) != study.config for changes in more)


def run_search(study: Study) -> Outcome:
    """Try the groups in turn, and keep a value that scores higher on dev. Test scores choose nothing."""
    groups = chosen(list(SEARCH), study.rows)
    choices: Choices = {}
    tried: dict[str, tuple[System, float | None]] = {}
    for name in groups:
        runs = _runs(study.config, choices, name)
        folders = study.train({run: config for run, config in runs.items() if run not in tried})
        for run, seeds in folders.items():
            system = study.system(run, seeds)
            tried[run] = (system, _chosen_by(system, runs[run]))
        scores = {run: score for run in runs if (score := tried[run][1]) is not None}
        labels = {_named(study.config, {**choices, name: label})[0]: label for label in SEARCH[name]}
        winner = max(scores, key=lambda run: scores[run], default=None)  # the first of equals: the settings so far
        if winner is not None and winner != _named(study.config, choices)[0]:
            choices[name] = labels[winner]
    best, _ = _named(study.config, choices)
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
    settings = {path: value for name, label in choices.items() for path, value in SEARCH[name][label].items()}
    options = " ".join(f"--set {path}={value}" for path, value in settings.items())
    notes = (
        f"`{BASE}`: the unchanged settings. Groups: {', '.join(groups)}, in this order, each with the best so far.",
        "The choice is made on dev, so the dev score of the best is optimistic. Test scores choose nothing.",
        f"Best: `{options}`" if options else "Best: the unchanged settings.",
    )
    series = {"chosen by": [None if score is None else 100 * score for _, score in tried.values()]}
    figure = Bars("Settings tried", "dev score, %", list(tried), series)
    return Outcome("Search (Table 2)", [Table("Scores", columns, rows, notes)], figure, {"best": settings})


def _runs(config: Config, choices: Choices, name: str) -> dict[str, Config]:
    """Return the best settings so far, and these with each value of a group."""
    return dict([_named(config, choices), *(_named(config, {**choices, name: label}) for label in SEARCH[name])])


def _named(config: Config, choices: Choices) -> tuple[str, Config]:
    """Return the name and the settings of a run. The name lists the values that change a setting."""
    names = []
    for name, label in choices.items():
        changes: Changes = SEARCH[name][label]
        if (after := changed(config, changes)) != config:
            names.append(label)
            config = after
    return "+".join(names) or BASE, config


def _chosen_by(system: System, config: Config) -> float | None:
    """Return the mean dev score of the runs, as training chooses the epoch by it; None if every run failed."""
    runs = system.runs.get("dev", ())
    return fmean(selection_score(run, config.train.best_by) for run in runs) if runs else None
