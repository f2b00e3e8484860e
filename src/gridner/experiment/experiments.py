"""The experiments by name: what each trains, and the tables and the figure that it gives."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from gridner.config import Config
from gridner.errors import UsageError
from gridner.evaluate import DISCONTINUOUS
from gridner.experiment import tables
from gridner.experiment.figure import Bars
from gridner.experiment.paper import Corpus
from gridner.experiment.rows import SEARCH, Changes, Row, ablation_rows, changed, chosen, w2ner_of
from gridner.experiment.study import BASE, Study
from gridner.experiment.systems import System
from gridner.experiment.table import Cell, Table
from gridner.experiment.tables import Outcome
from gridner.formats.files import write_text, write_whole
from gridner.statistics import PAPER, percent, statistics

TOE, W2NER = "TOE", "W2NER"


def run_statistics(study: Study) -> Outcome:
    """Table 1."""
    names = list(study.parts)
    counts = [statistics(part.documents) for part in study.parts.values()]
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
    return [TOE, W2NER, *(name for name in study.given if name not in (TOE, W2NER))]


def _compared(study: Study) -> list[System]:
    """TOE, W2NER and the systems that were given, or those that are asked for. What is given is not trained."""
    own = {TOE: (BASE, study.config), W2NER: ("w2ner", w2ner_of(study.config))}
    own = {label: run for label, run in own.items() if label not in study.given}
    names = chosen(_systems(study), study.rows)
    given = study.systems_given(names)
    runs = study.train({own[label][0]: own[label][1] for label in names if label in own})
    systems = {label: study.system(label, runs[own[label][0]]) for label in names if label in own}
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


def _ablation_names(study: Study) -> list[str]:
    rows = ablation_rows(study.config)
    return [*rows, *(name for name in study.given if name not in rows)]


def _ablation(study: Study) -> _Ablation:
    rows, names = ablation_rows(study.config), chosen(_ablation_names(study), study.rows)
    own = [name for name in names if name not in study.given]
    again = [name for name in own if not rows[name].trains]
    trained = [name for name in own if rows[name].trains]
    if again and "best" not in (*trained, *study.given):
        trained.insert(0, "best")
    models = study.models_given("best") if again and "best" in study.given else None
    return _Ablation(rows, names, trained, again, models)


def run_ablation(study: Study) -> Outcome:
    """Table 4. Rows that change the decoding alone are decoded again from the models of the first row.

    A system that is given under the name of a row stands for it; others come last.
    """
    plan = _ablation(study)
    rows, given = plan.rows, study.systems_given(plan.names)
    runs = study.train({_run_name(name): rows[name].of(study.config) for name in plan.trained})
    folders = {name: runs[_run_name(name)] for name in plan.trained}
    bases = folders.get("best", []) if plan.models is None else plan.models
    folders |= study.decode({name: rows[name].of(study.config) for name in plan.again}, bases)
    systems = {name: study.system(rows[name].label, some) for name, some in folders.items()}
    for system in given:
        systems[system.name] = replace(system, name=rows[system.name].label if system.name in rows else system.name)
    return tables.ablation({name: systems[name] for name in plan.names}, study.scored, study.paper)


def _run_name(row: str) -> str:
    return BASE if row == "best" else row


def run_search(study: Study) -> Outcome:
    """Table 2: each set in turn, the best value on dev is kept for the next. The test documents choose nothing."""
    sets = chosen(list(SEARCH), study.rows)
    best: dict[str, Changes] = {}
    tried: dict[str, tuple[System, float | None]] = {}
    for name in sets:
        found: dict[str, float] = {}
        for label, changes in SEARCH[name].items():
            run, config = _named(study.config, {**best, name: {label: changes}})
            system = study.system(run, study.train({run: config})[run])
            score = _chosen_by(system, config)
            tried[run] = (system, score)
            if score is not None:
                found[label] = score
        if found:
            winner = max(found, key=lambda label: found[label])
            best[name] = {winner: SEARCH[name][winner]}
    last, config = _named(study.config, best)
    rows: list[list[Cell]] = [
        [
            f"{run}{' ← chosen' if run == last else ''}",
            len(system.runs.get("dev", ())),
            *(system.percent("dev", measure) for measure in tables.MEASURES.values()),
            system.percent("dev", "f1", DISCONTINUOUS),
            None if score is None else 100 * score,
        ]
        for run, (system, score) in tried.items()
    ]
    columns = ["changed", "runs", "dev P", "dev R", "dev F1", "discontinuous F1", "chosen by"]
    settings = {path: value for some in best.values() for one in some.values() for path, value in one.items()}
    said = " ".join(f"--set {path}={value}" for path, value in settings.items())
    notes = (
        f"`{BASE}`: the settings as they are. Sets: {', '.join(sets)}, each in turn with the best of those before.",
        "Chosen on dev, so the dev score of the best flatters; test documents chose nothing.",
        f"The best: `{said}`",
    )
    series = {"chosen by": [None if score is None else 100 * score for _, score in tried.values()]}
    figure = Bars("Settings tried", "what dev chooses by, %", list(tried), series)
    return Outcome("Search (Table 2)", [Table("Dev scores", columns, rows, notes)], figure, {"best": settings})


def _named(config: Config, best: dict[str, Any]) -> tuple[str, Config]:
    """The name of a run with some changes, by those that change something, and its settings."""
    names = []
    for some in best.values():
        for label, changes in some.items():
            if (after := changed(config, changes)) != config:
                names.append(label)
                config = after
    return "+".join(names) or BASE, config


def _chosen_by(system: System, config: Config) -> float | None:
    """The measure that the settings choose the epoch by; None where every run failed."""
    every, gaps = system.percent("dev", "f1"), system.percent("dev", "f1", DISCONTINUOUS)
    if every is None:
        return None
    if config.train.best_by == "mean" and gaps is not None:
        return (every.mean + gaps.mean) / 200
    return every.mean / 100


def run_efficiency(study: Study) -> Outcome:
    """Table 7."""
    from gridner.experiment.efficiency import efficiency

    return efficiency(study, {W2NER: w2ner_of(study.config), TOE: study.config})


@dataclass(frozen=True, slots=True)
class Experiment:
    """What it is about, what it does, and which names --rows takes."""

    about: str
    run: Callable[[Study], Outcome]
    rows: Callable[[Study], Sequence[str]]


EXPERIMENTS = {
    "statistics": Experiment("the corpus (Table 1)", run_statistics, lambda _: ()),
    "search": Experiment("settings, chosen on dev (Table 2)", run_search, lambda _: list(SEARCH)),
    "comparison": Experiment(
        "TOE, W2NER and other systems, with a significance test (Table 3)", _of_systems(tables.comparison), _systems
    ),
    "ablation": Experiment("what each part brings (Table 4)", run_ablation, _ablation_names),
    "overlap": Experiment("discontinuous entities by overlap (Table 5)", _of_systems(tables.overlap), _systems),
    "errors": Experiment("kinds of errors (Table 6)", _of_systems(tables.errors), _systems),
    "efficiency": Experiment("speed (Table 7)", run_efficiency, lambda _: (W2NER, TOE)),
    "discontinuous": Experiment("discontinuous entities (Figure 4)", _of_systems(tables.discontinuous), _systems),
}


def check_call(names: Sequence[str], study: Study) -> None:
    """Find before the first training what of a call makes no sense: rows, and systems that cannot be read."""
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
    for name in study.given:
        if name not in every:
            raise UsageError(f"--system {name}: of no use to {', '.join(names)}, expected an experiment that compares")
    if "ablation" in names:
        _ablation(study)
    study.systems_given([row for row in every if study.rows is None or row in study.rows])


def run_experiment(name: str, study: Study) -> str:
    """Run one, write its table as Markdown and JSON and its figure as PNG, and return the Markdown.

    Where every training failed and nothing else was there to show, nothing is written, and the Markdown is empty.
    """
    if name not in EXPERIMENTS:
        raise UsageError(f"experiment {name!r}, expected one of {', '.join(EXPERIMENTS)}")
    outcome = EXPERIMENTS[name].run(study)
    failed = dict(study.failures)
    if failed and not study.done and not study.scored_given:
        return ""
    lines = [f"# {outcome.title}", ""]
    seeds = f"Seeds {', '.join(map(str, study.seeds))}. " if study.done else ""
    lines += [f"{seeds}Made by `{study.command}`.", ""] if study.command else []
    lines += ["| part | documents | sentences | entities | discontinuous |", "|---|---:|---:|---:|---:|"]
    facts = {part: one.about() for part, one in study.parts.items()}
    for part, about in facts.items():
        cells = (f"{about[key]:,}" for key in ("documents", "sentences", "entities", "discontinuous"))
        lines.append(f"| {part} | {' | '.join(cells)} |")
    lines += ["", *(table.markdown() for table in outcome.tables)]
    lines += [f"Failed: {run} ({why})." for run, why in failed.items()]
    lines += [f"- Note: {count:,} × {what}." for what, count, _ in study.notes]
    text = "\n".join(lines).rstrip() + "\n"
    data = {
        "experiment": name,
        "title": outcome.title,
        "command": study.command,
        "seeds": list(study.seeds),
        "data": facts,
        "settings": study.config.to_dict(),
        "tables": [table.plain() for table in outcome.tables],
        "failed": failed,
        "notes": {what: count for what, count, _ in study.notes},
        **outcome.about,
    }
    study.output.mkdir(parents=True, exist_ok=True)
    written: dict[str, Callable[[Path], None]] = {
        f"{name}.md": partial(write_text, text=text),
        f"{name}.json": partial(write_text, text=json.dumps(data, indent=1, ensure_ascii=False)),
        f"{name}.png": outcome.figure.draw,
    }
    for file, make in written.items():
        write_whole(study.output / file, make, folder=False, force=True)
    return text
