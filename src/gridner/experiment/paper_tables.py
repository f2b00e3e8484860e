"""Build Tables 3 to 6 and Figure 4 of the paper from scored systems, for dev and for test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gridner.experiment import paper_results
from gridner.experiment.bar_chart import Bars
from gridner.experiment.markdown_table import Cell, Marked, Table
from gridner.experiment.paper_results import Corpus, Triple
from gridner.experiment.systems import System
from gridner.scoring.evaluation import ALL, BLOCKS, DISCONTINUOUS, ERRORS, IN_DISCONTINUOUS, Evaluation
from gridner.scoring.matching import OVERLAPS
from gridner.scoring.serialization import ERROR_LABELS
from gridner.scoring.significance import Unit, compare_runs, p_value_of_runs, spread

MEASURES = {"P": "precision", "R": "recall", "F1": "f1"}
SLICES = {ALL: "all", DISCONTINUOUS: "discontinuous only"}
LEVEL = 0.05
UNITS: tuple[Unit, ...] = ("sentence", "document")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an experiment: tables and a figure."""

    title: str
    tables: Sequence[Table]
    figure: Bars
    about: Mapping[str, object] = field(default_factory=dict)  # more facts for the JSON file


def score_columns(part: str) -> list[str]:
    """Return the headings of `score_cells`."""
    return [f"{part} {name}" for name in (*MEASURES, "discontinuous F1")]


def score_cells(system: System, part: str) -> list[Cell]:
    """Return precision, recall and F1 of all entities, and the F1 of discontinuous entities."""
    return [
        *(system.percent(part, measure) for measure in MEASURES.values()),
        system.percent(part, "f1", DISCONTINUOUS),
    ]


def scores(
    title: str,
    systems: Sequence[System],
    parts: Sequence[str],
    *,
    published: Mapping[str, tuple[Triple, Triple]] | None = None,
) -> Table:
    """Return a table of the scores of systems, and below them those of the paper on dev and test, if `published`."""
    columns = ["", "runs", *(name for part in parts for name in score_columns(part))]
    rows: list[list[Cell]] = [
        [system.name, system.runs_on(parts), *(cell for part in parts for cell in score_cells(system, part))]
        for system in systems
    ]
    for name, triples in (published or {}).items():
        row: list[Cell] = [f"{name}, the paper", None]
        for part in parts:
            row += [*triples[part == "test"], None]
        rows.append(row)
    return Table(title, columns, rows)


def significance(systems: Sequence[System], parts: Sequence[str]) -> list[Table]:
    """Compare the first system with each other one. Return no table if there is nothing to compare."""
    rows: list[list[Cell]] = []
    for other in systems[1:]:
        for part in parts:
            a, b = systems[0].runs.get(part), other.runs.get(part)
            for slice, label in SLICES.items() if a and b else ():
                if systems[0].percent(part, "f1", slice) is None and other.percent(part, "f1", slice) is None:
                    continue
                tests = [compare_runs(b or [], a or [], slice, unit=unit) for unit in UNITS]
                seeds = p_value_of_runs(
                    [run.score(slice).f1 for run in a or []], [run.score(slice).f1 for run in b or []]
                )
                stars = "*" * sum(test.p < LEVEL for test in tests)
                rows.append(
                    [
                        f"{systems[0].name} against {other.name}",
                        part,
                        label,
                        _pooled(tests[0].f1_b, a or []),
                        _pooled(tests[0].f1_a, b or []),
                        Marked(100 * tests[0].difference, f"{100 * tests[0].difference:+.2f} {stars}".rstrip()),
                        *(Marked(test.p, f"{test.p:.4f}") for test in tests),
                        None if seeds is None else Marked(seeds, f"{seeds:.3f}"),
                    ]
                )
    notes = (
        "Paired approximate randomization with 10,000 rounds. F1 is computed from the summed counts of all runs. "
        f"* one p < {LEVEL}, ** both.",
        "Sentences of one document repeat its names and are not independent, so p by documents is more cautious. "
        "With few documents it cannot be small.",
        "p by seeds: how often a random split of the runs separates the mean F1 as much. With three runs per system, "
        "it is at least 0.1.",
    )
    columns = [
        "",
        "part",
        "entities",
        "first F1",
        "second F1",
        "difference",
        *(f"p by {unit}s" for unit in UNITS),
        "p by seeds",
    ]
    return [Table("Significance", columns, rows, notes)] if rows else []


def _pooled(f1: float, runs: Sequence[Evaluation]) -> Cell:
    """Return the F1 of the summed counts in percent; of a single run with its spread."""
    return spread([100 * f1]) if len(runs) == 1 else 100 * f1


def comparison(systems: Sequence[System], parts: Sequence[str], corpus: Corpus | None) -> Outcome:
    """Return Table 3: the scores of the systems and tests of significance."""
    published: dict[str, tuple[Triple, Triple]] = {}
    if corpus:
        nothing: Triple = (None, None, None)
        published = {
            name: (paper_results.COMPARISON_DEV.get(name, {}).get(corpus, nothing), row[corpus])
            for name, row in paper_results.COMPARISON.items()
            if row[corpus] != nothing
        }
    tables = [scores("Scores", systems, parts, published=published), *significance(systems, parts)]
    return Outcome("Comparison (Table 3)", tables, _score_bars("Exact match", systems, parts))


def ablation(systems: Mapping[str, System], parts: Sequence[str], corpus: Corpus | None) -> Outcome:
    """Return Table 4: the scores of each row of the ablation."""
    published = {}
    if corpus:
        published = {
            systems[name].name: (dev[corpus], test[corpus])
            for name, (test, dev) in paper_results.ABLATION.items()
            if name in systems
        }
    rows = list(systems.values())
    tables = [scores("Scores", rows, parts, published=published), *significance(rows, parts)]
    names = [system.name for system in rows]
    series = {
        f"{part}, {label}": [system.percent(part, "f1", slice) for system in rows]
        for part in parts
        for slice, label in SLICES.items()
    }
    return Outcome("Ablation (Table 4)", tables, Bars("Ablation", "F1, %", names, series))


def overlap(systems: Sequence[System], parts: Sequence[str], corpus: Corpus | None) -> Outcome:
    """Return Table 5: discontinuous entities by how they overlap with others."""
    rows: list[list[Cell]] = []
    for part in parts:
        golds = next((system.runs[part][0] for system in systems if part in system.runs), None)
        if golds is not None:
            counts = [golds.score(f"overlap:{name}") for name in OVERLAPS]
            rows.append([f"gold entities, {part}", None, *(score.tp + score.fn for score in counts)])
        for system in systems:
            if part in system.runs:
                cells = [system.percent(part, "f1", f"overlap:{name}") for name in OVERLAPS]
                rows.append([f"{system.name}, {part}", len(system.runs[part]), *cells])
    for name, values in paper_results.OVERLAP.items() if corpus else ():
        rows.append([f"{name}, test, the paper", None, *values[corpus]])  # type: ignore[index]
    table = Table("F1 of discontinuous entities by overlap", ["", "runs", *OVERLAPS], rows)
    last = parts[-1]
    series = {system.name: [system.percent(last, "f1", f"overlap:{name}") for name in OVERLAPS] for system in systems}
    return Outcome(
        "Overlap (Table 5)", [table], Bars(f"Discontinuous entities of {last} by overlap", "F1, %", OVERLAPS, series)
    )


def errors(systems: Sequence[System], parts: Sequence[str], corpus: Corpus | None) -> Outcome:
    """Return Table 6: the kinds of errors, in percent of each block."""
    tables = []
    for part in parts:
        no_paper_cell: list[Cell] = [None] if corpus else []
        rows: list[list[Cell]] = [["runs", *(len(system.runs.get(part, ())) for system in systems), *no_paper_cell]]
        for block in BLOCKS:
            shares = [system.errors(part, block) for system in systems]
            for place, (error, label) in enumerate(ERROR_LABELS.items()):
                published = [paper_results.ERRORS[block][corpus][place]] if corpus else []
                rows.append([f"{block}: {label}", *(share.get(error) for share in shares), *published])
            totals = [share.get("total") for share in shares]
            rows.append([f"{block}: number of errors", *totals, *no_paper_cell])
        columns = [
            "% of the errors",
            *(system.name for system in systems),
            *(["TOE, test, the paper"] if corpus else []),
        ]
        notes = ("A block counts all errors in sentences with such a gold entity; its shares sum to 100.",)
        tables.append(Table(f"Errors on {part}", columns, rows, notes))
    last = parts[-1]
    series = {
        f"{system.name}, {block}": [system.errors(last, block).get(error) for error in ERRORS]
        for system in systems
        for block in ("all", "discontinuous")
    }
    groups = [label.replace(", ", ",\n") for label in ERROR_LABELS.values()]
    return Outcome("Errors (Table 6)", tables, Bars(f"Errors on {last}", "% of the block's errors", groups, series))


def discontinuous(systems: Sequence[System], parts: Sequence[str], corpus: Corpus | None) -> Outcome:
    """Return Figure 4: sentences with a discontinuous entity, and discontinuous entities alone."""
    columns = ["", "runs"]
    for part in parts:
        columns += [f"{part} sentences with gaps F1", *(f"{part} discontinuous {name}" for name in MEASURES)]
    rows: list[list[Cell]] = []
    for system in systems:
        row: list[Cell] = [system.name, system.runs_on(parts)]
        for part in parts:
            row.append(system.percent(part, "f1", IN_DISCONTINUOUS))
            row += [system.percent(part, measure, DISCONTINUOUS) for measure in MEASURES.values()]
        rows.append(row)
    notes = ["The paper's Figure 4 is a picture without numbers."] if corpus else []
    groups = [f"{part}, {label}" for part in parts for label in ("sentences with gaps", "discontinuous only")]
    series = {
        system.name: [
            system.percent(part, "f1", slice) for part in parts for slice in (IN_DISCONTINUOUS, DISCONTINUOUS)
        ]
        for system in systems
    }
    return Outcome(
        "Discontinuous entities (Figure 4)",
        [Table("Scores", columns, rows, notes), *significance(systems, parts)],
        Bars("Discontinuous entities", "F1, %", groups, series),
    )


def _score_bars(title: str, systems: Sequence[System], parts: Sequence[str]) -> Bars:
    groups = [f"{part}, {label}" for part in parts for label in SLICES.values()]
    series = {
        system.name: [system.percent(part, "f1", slice) for part in parts for slice in SLICES] for system in systems
    }
    return Bars(title, "F1, %", groups, series)
