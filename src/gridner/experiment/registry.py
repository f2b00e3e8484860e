"""The experiments by name: what each trains, and the tables and the figure that it gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gridner.config import Config
from gridner.corpus.statistics import PAPER, percent, statistics
from gridner.errors import UsageError
from gridner.experiment import paper_tables
from gridner.experiment.bar_chart import Bars
from gridner.experiment.markdown_table import Cell, Table
from gridner.experiment.output import check_place, write_outcome
from gridner.experiment.paper_results import Corpus
from gridner.experiment.paper_tables import Outcome
from gridner.experiment.search import Plan, plan_search, run_search
from gridner.experiment.study import BASE, Study
from gridner.experiment.systems import System
from gridner.experiment.variants import SEARCH, Row, ablation_rows, chosen, w2ner_of

TOE, W2NER = "TOE", "W2NER"


def run_statistics(study: Study) -> Outcome:
    """Table 1."""
    given = {name: part.documents for name, part in study.parts.items()}
    if len(given) > 1:
        given = {"all": tuple(document for some in given.values() for document in some), **given}
    names, counts = list(given), [statistics(some) for some in given.values()]
    labels = ("sentences", "entities", "discontinuous")
    rows: list[list[Cell]] = [[label, *(getattr(one, label) for one in counts)] for label in labels]
    rows.append(["% discontinuous", *(percent(one.discontinuous, one.entities) for one in counts)])
    rows.append(["% sharing words with another", *(percent(one.overlapped, one.entities) for one in counts)])
    rows.append(["words of a sentence, mean", *(one.words / max(1, one.sentences) for one in counts)])
    rows.append(["oracle F1", *(100 * one.oracle.score().f1 for one in counts)])
    columns = ["", *names]
    if study.paper:
        published = PAPER[study.paper]
        columns += [f"{name}, the paper" for name in published]
        for row, place in zip(rows, range(3), strict=False):
            row += [values[place] for values in published.values()]
        rows[3] += [percent(gaps, entities) for _, entities, gaps in published.values()]
        rows[4:] = [[*row, *([None] * len(published))] for row in rows[4:]]
    notes = ("Oracle: what gold grids give back when decoded, the most that a system on this grid can reach.",)
    figure = Bars(
        "What is hard in the corpus",
        "% of the entities",
        names,
        {
            "discontinuous": [percent(one.discontinuous, one.entities) for one in counts],
            "sharing words with another": [percent(one.overlapped, one.entities) for one in counts],
        },
    )
    return Outcome("Statistics (Table 1)", [Table("The corpus", columns, rows, notes)], figure)


def _systems(study: Study) -> list[str]:
    return [TOE, W2NER, *(name for name in study.others.paths if name not in (TOE, W2NER))]


def _own(study: Study) -> dict[str, tuple[str, Config]]:
    """The systems that are trained here, by their labels: name of the run, and settings. What is given is not."""
    own = {TOE: (BASE, study.config), W2NER: (W2NER.lower(), w2ner_of(study.config))}
    names = chosen(_systems(study), study.rows)
    return {label: run for label, run in own.items() if label in names and label not in study.others.paths}


def _plan_compared(study: Study) -> Plan:
    return dict(_own(study).values()), 0


def _compared(study: Study) -> list[System]:
    """TOE, W2NER and the systems that were given, or those that are asked for."""
    names, own = chosen(_systems(study), study.rows), _own(study)
    given = study.other_systems(names)
    runs = study.train(dict(own.values()))
    systems = {label: study.system(label, runs[run]) for label, (run, _) in own.items()}
    systems |= {system.name: system for system in given}
    return [systems[name] for name in names]


def _of_systems(
    table: Callable[[Sequence[System], Sequence[str], Corpus | None], Outcome],
) -> Callable[[Study], Outcome]:
    def run(study: Study) -> Outcome:
        return table(_compared(study), study.scored, study.paper)

    return run


@dataclass(frozen=True, slots=True)
class _Ablation:
    """The rows of Table 4 by where they come from."""

    rows: Mapping[str, Row]
    names: Sequence[str]  # in the order of the table
    trained: Sequence[str]
    again: Sequence[str]  # decoded again from the models of the first row
    models: Sequence[Path] | None  # of the first row, if they were given

    def runs(self, config: Config) -> dict[str, Config]:
        """The trainings by their names."""
        return {_run_name(name): self.rows[name].of(config) for name in self.trained}


def _ablation_names(study: Study) -> list[str]:
    rows = ablation_rows(study.config)
    return [*rows, *(name for name in study.others.paths if name not in rows)]


def _ablation(study: Study) -> _Ablation:
    rows, names = ablation_rows(study.config), chosen(_ablation_names(study), study.rows)
    own = [name for name in names if name not in study.others.paths]
    again = [name for name in own if not rows[name].trains]
    trained = [name for name in own if rows[name].trains]
    if again and "best" not in (*trained, *study.others.paths):
        trained.insert(0, "best")
    models = study.models_of_other("best") if again and "best" in study.others.paths else None
    return _Ablation(rows, names, trained, again, models)


def _plan_ablation(study: Study) -> Plan:
    return _ablation(study).runs(study.config), 0


def run_ablation(study: Study) -> Outcome:
    """Table 4. Rows that change the decoding alone are decoded again from the models of the first row.

    A system that is given under the name of a row stands for it; others come last.
    """
    plan = _ablation(study)
    rows, given = plan.rows, study.other_systems(plan.names)
    runs = study.train(plan.runs(study.config))
    folders = {name: runs[_run_name(name)] for name in plan.trained}
    bases = folders.get("best", []) if plan.models is None else plan.models
    folders |= study.decode({name: rows[name].of(study.config) for name in plan.again}, bases)
    systems = {name: study.system(rows[name].label, some) for name, some in folders.items()}
    for system in given:
        systems[system.name] = replace(system, name=rows[system.name].label if system.name in rows else system.name)
    return paper_tables.ablation({name: systems[name] for name in plan.names}, study.scored, study.paper)


def _run_name(row: str) -> str:
    return BASE if row == "best" else row


def run_efficiency(study: Study) -> Outcome:
    """Table 7."""
    from gridner.experiment.efficiency import efficiency

    return efficiency(study, {W2NER: w2ner_of(study.config), TOE: study.config})


def _plan_nothing(_: Study) -> Plan:
    return {}, 0


def _plan_speed(study: Study) -> Plan:
    study.check_parts()
    return {}, 0


@dataclass(frozen=True, slots=True)
class Experiment:
    """What it is about, what it does, which names --rows takes, and what it trains."""

    about: str
    run: Callable[[Study], Outcome]
    rows: Callable[[Study], Sequence[str]]
    plan: Callable[[Study], Plan] = _plan_compared


EXPERIMENTS = {
    "statistics": Experiment("the corpus (Table 1)", run_statistics, lambda _: (), _plan_nothing),
    "search": Experiment("settings, chosen on dev (Table 2)", run_search, lambda _: list(SEARCH), plan_search),
    "comparison": Experiment(
        "TOE, W2NER and other systems, with a significance test (Table 3)",
        _of_systems(paper_tables.comparison),
        _systems,
    ),
    "ablation": Experiment("what each part brings (Table 4)", run_ablation, _ablation_names, _plan_ablation),
    "overlap": Experiment("discontinuous entities by overlap (Table 5)", _of_systems(paper_tables.overlap), _systems),
    "errors": Experiment("kinds of errors (Table 6)", _of_systems(paper_tables.errors), _systems),
    "efficiency": Experiment("speed (Table 7)", run_efficiency, lambda _: (W2NER, TOE), _plan_speed),
    "discontinuous": Experiment("discontinuous entities (Figure 4)", _of_systems(paper_tables.discontinuous), _systems),
}


def check_call(names: Sequence[str], study: Study) -> None:
    """Find before the first training what of a call makes no sense: rows, systems, documents, folders, settings."""
    known = {name: list(EXPERIMENTS[name].rows(study)) for name in names}
    every = dict.fromkeys(row for rows in known.values() for row in rows)
    for row in study.rows or ():
        if row not in every:
            raise UsageError(
                f"--rows {row}, expected some of {', '.join(every)}" if every else f"--rows {row}: no rows"
            )
    for name, rows in known.items():
        if rows and study.rows is not None and not set(rows) & set(study.rows):
            raise UsageError(f"--rows {','.join(study.rows)}: none of {name}, expected some of {', '.join(rows)}")
    for name in study.others.paths:
        if name not in every:
            raise UsageError(f"--system {name}: of no use to {', '.join(names)}, expected an experiment that compares")
    for name in names:
        check_place(study.output, name)
    for name in names:
        runs, unnamed = EXPERIMENTS[name].plan(study)
        study.plan(runs, unnamed=unnamed)
    study.other_systems([row for row in every if study.rows is None or row in study.rows])


def run_experiment(name: str, study: Study) -> str:
    """Run one, write its table as Markdown and JSON and its figure as PNG, and return the Markdown.

    Where every run of it failed and nothing else is there to show, nothing is written, and the Markdown is empty.
    """
    if name not in EXPERIMENTS:
        raise UsageError(f"experiment {name!r}, expected one of {', '.join(EXPERIMENTS)}")
    study.runs.has_result = {}
    outcome = EXPERIMENTS[name].run(study)
    return (
        "" if study.runs.has_result and not any(study.runs.has_result.values()) else write_outcome(name, outcome, study)
    )
