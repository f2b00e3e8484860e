"""The experiments by name: the runs that each trains, and its tables and figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
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
    """Return Table 1: the statistics of the corpus."""
    documents = {name: part.documents for name, part in study.parts.items()}
    if len(documents) > 1:
        documents = {"all": tuple(chain.from_iterable(documents.values())), **documents}
    names, counts = list(documents), [statistics(part) for part in documents.values()]
    labels = ("sentences", "entities", "discontinuous")
    rows: list[list[Cell]] = [[label, *(getattr(count, label) for count in counts)] for label in labels]
    rows.append(["% discontinuous", *(percent(count.discontinuous, count.entities) for count in counts)])
    rows.append(["% sharing words with another", *(percent(count.overlapped, count.entities) for count in counts)])
    rows.append(["words per sentence, mean", *(count.words / max(1, count.sentences) for count in counts)])
    rows.append(["oracle F1", *(100 * count.oracle.score().f1 for count in counts)])
    columns = ["", *names]
    if study.paper:
        published = PAPER[study.paper]
        columns += [f"{name}, the paper" for name in published]
        for row, place in zip(rows, range(3), strict=False):
            row += [values[place] for values in published.values()]
        rows[3] += [percent(gaps, entities) for _, entities, gaps in published.values()]
        rows[4:] = [[*row, *([None] * len(published))] for row in rows[4:]]
    notes = ("Oracle: the score of decoded gold grids, an upper bound for every system with these tags.",)
    figure = Bars(
        "Discontinuous and overlapping entities",
        "% of the entities",
        names,
        {
            "discontinuous": [percent(count.discontinuous, count.entities) for count in counts],
            "sharing words with another": [percent(count.overlapped, count.entities) for count in counts],
        },
    )
    return Outcome("Statistics (Table 1)", [Table("The corpus", columns, rows, notes)], figure)


def _systems(study: Study) -> list[str]:
    return [TOE, W2NER, *(name for name in study.others.paths if name not in (TOE, W2NER))]


def _trained_systems(study: Study) -> dict[str, tuple[str, Config]]:
    """Return the name and the settings of the run of each system to train, that is, of those not in --system."""
    runs = {TOE: (BASE, study.config), W2NER: (W2NER.lower(), w2ner_of(study.config))}
    names = chosen(_systems(study), study.rows)
    return {label: run for label, run in runs.items() if label in names and label not in study.others.paths}


def _plan_compared(study: Study) -> Plan:
    return dict(_trained_systems(study).values()), 0


def _compared(study: Study) -> list[System]:
    """Return TOE, W2NER and the systems of --system, or those of them that --rows names."""
    names, trained = chosen(_systems(study), study.rows), _trained_systems(study)
    others = study.other_systems(names)
    runs = study.train(dict(trained.values()))
    systems = {label: study.system(label, runs[run]) for label, (run, _) in trained.items()}
    systems |= {system.name: system for system in others}
    return [systems[name] for name in names]


def _of_systems(
    table: Callable[[Sequence[System], Sequence[str], Corpus | None], Outcome],
) -> Callable[[Study], Outcome]:
    def run(study: Study) -> Outcome:
        return table(_compared(study), study.scored, study.paper)

    return run


@dataclass(frozen=True, slots=True)
class _Ablation:
    """The rows of Table 4 by how gridner gets their predictions."""

    rows: Mapping[str, Row]
    names: Sequence[str]  # in the order of the table
    trained: Sequence[str]
    decoded: Sequence[str]  # decoded again from the models of the first row
    models: Sequence[Path] | None  # of the first row, if --system names them

    def runs(self, config: Config) -> dict[str, Config]:
        """Return the settings of the runs to train, by name."""
        return {_run_name(name): self.rows[name].of(config) for name in self.trained}


def _ablation_names(study: Study) -> list[str]:
    rows = ablation_rows(study.config)
    return [*rows, *(name for name in study.others.paths if name not in rows)]


def _ablation(study: Study) -> _Ablation:
    rows, names = ablation_rows(study.config), chosen(_ablation_names(study), study.rows)
    ours = [name for name in names if name not in study.others.paths]
    decoded = [name for name in ours if not rows[name].trains]
    trained = [name for name in ours if rows[name].trains]
    if decoded and "best" not in (*trained, *study.others.paths):
        trained.insert(0, "best")
    models = study.models_of_other("best") if decoded and "best" in study.others.paths else None
    return _Ablation(rows, names, trained, decoded, models)


def _plan_ablation(study: Study) -> Plan:
    return _ablation(study).runs(study.config), 0


def run_ablation(study: Study) -> Outcome:
    """Return Table 4. Rows that change only the decoding are decoded again from the models of the first row.

    A system of --system with the name of a row replaces that row; other systems come last.
    """
    plan = _ablation(study)
    rows, others = plan.rows, study.other_systems(plan.names)
    trained = study.train(plan.runs(study.config))
    folders = {name: trained[_run_name(name)] for name in plan.trained}
    bases = folders.get("best", []) if plan.models is None else plan.models
    folders |= study.decode({name: rows[name].of(study.config) for name in plan.decoded}, bases)
    systems = {name: study.system(rows[name].label, runs) for name, runs in folders.items()}
    for system in others:
        systems[system.name] = replace(system, name=rows[system.name].label if system.name in rows else system.name)
    return paper_tables.ablation({name: systems[name] for name in plan.names}, study.scored, study.paper)


def _run_name(row: str) -> str:
    return BASE if row == "best" else row


def run_efficiency(study: Study) -> Outcome:
    """Return Table 7: the speed of the systems."""
    from gridner.experiment.efficiency import efficiency

    return efficiency(study, {W2NER: w2ner_of(study.config), TOE: study.config})


def _plan_nothing(_: Study) -> Plan:
    return {}, 0


def _plan_speed(study: Study) -> Plan:
    study.check_parts()
    return {}, 0


@dataclass(frozen=True, slots=True)
class Experiment:
    """A description, the function that runs it, the names that --rows accepts, and the plan of its trainings."""

    about: str
    run: Callable[[Study], Outcome]
    rows: Callable[[Study], Sequence[str]]
    plan: Callable[[Study], Plan] = _plan_compared


EXPERIMENTS = {
    "statistics": Experiment("the corpus (Table 1)", run_statistics, lambda _: (), _plan_nothing),
    "search": Experiment("search for settings on dev (Table 2)", run_search, lambda _: list(SEARCH), plan_search),
    "comparison": Experiment(
        "TOE, W2NER and other systems, with a significance test (Table 3)",
        _of_systems(paper_tables.comparison),
        _systems,
    ),
    "ablation": Experiment(
        "the model without each of its parts (Table 4)", run_ablation, _ablation_names, _plan_ablation
    ),
    "overlap": Experiment("discontinuous entities by overlap (Table 5)", _of_systems(paper_tables.overlap), _systems),
    "errors": Experiment("kinds of errors (Table 6)", _of_systems(paper_tables.errors), _systems),
    "efficiency": Experiment("speed (Table 7)", run_efficiency, lambda _: (W2NER, TOE), _plan_speed),
    "discontinuous": Experiment("discontinuous entities (Figure 4)", _of_systems(paper_tables.discontinuous), _systems),
}


def check_call(names: Sequence[str], study: Study) -> None:
    """Check rows, systems, documents, folders and settings before the first training. Raise UsageError."""
    known = {name: list(EXPERIMENTS[name].rows(study)) for name in names}
    all_rows = dict.fromkeys(row for rows in known.values() for row in rows)
    for row in study.rows or ():
        if row not in all_rows:
            expected = f"expected some of {', '.join(all_rows)}" if all_rows else f"but {', '.join(names)} has no rows"
            raise UsageError(f"--rows {row}, {expected}")
    for name, rows in known.items():
        if rows and study.rows is not None and not set(rows) & set(study.rows):
            raise UsageError(f"--rows {','.join(study.rows)}: no row of {name}, expected some of {', '.join(rows)}")
    for name in study.others.paths:
        if name not in all_rows:
            raise UsageError(
                f"--system {name}: {', '.join(names)} compares no systems, expected one that does, such as comparison"
            )
    for name in names:
        check_place(study.output, name)
    for name in names:
        runs, unnamed = EXPERIMENTS[name].plan(study)
        study.plan(runs, unnamed=unnamed)
    study.other_systems([row for row in all_rows if study.rows is None or row in study.rows])


def run_experiment(name: str, study: Study) -> str:
    """Run an experiment, write its tables as Markdown and JSON and its figure as PNG, and return the Markdown.

    If all its runs failed and there is nothing to show, write nothing and return an empty text.
    """
    if name not in EXPERIMENTS:
        raise UsageError(f"experiment {name!r}, expected one of {', '.join(EXPERIMENTS)}")
    study.runs.has_result = {}
    outcome = EXPERIMENTS[name].run(study)
    results = study.runs.has_result.values()
    return write_outcome(name, outcome, study) if not results or any(results) else ""
