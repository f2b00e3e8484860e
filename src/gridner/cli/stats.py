"""gridner stats"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gridner.cli.printing import new_table, notes_json, print_json, print_notes, print_table
from gridner.cli.reading_options import ReadingOptions, reading_options
from gridner.cli.shared_options import JsonOption

if TYPE_CHECKING:
    from gridner.corpus.statistics import Statistics
    from gridner.inference.candidate_oracle import CandidateOracle


@reading_options()
def stats(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="Files or folders to read; one column each.")],
    *,
    reading: ReadingOptions,
    paper: Annotated[
        Literal["cadec", "share13", "share14"] | None,
        typer.Option(help="Show Table 1 of the paper for this corpus as well."),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="Also show the candidate words of this model: their share, cells and oracle score."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Count a corpus: entities, types, overlaps, gaps, entities that cannot become mentions, the oracle score.

    Examples:
    ```
    gridner stats examples
    gridner stats craft/train craft/dev craft/test --format brat
    gridner stats cadec/original --texts cadec/text --types ADR --paper cadec
    gridner stats craft/dev --format brat --model trained
    ```

    """
    from gridner.corpus.statistics import PAPER, statistics
    from gridner.errors import Notes

    all_notes = [Notes() for _ in paths]
    columns = [
        statistics(reading.documents(path, notes, activity="count"), notes)
        for path, notes in zip(paths, all_notes, strict=True)
    ]
    oracles = _candidate_oracles(model, paths, reading)
    published = PAPER[paper] if paper else {}
    if as_json:
        corpora: list[dict[str, Any]] = [
            {"path": str(path), **column.to_json(), "notes": notes_json(notes)}
            for path, column, notes in zip(paths, columns, all_notes, strict=True)
        ]
        for corpus, candidates in zip(corpora, oracles, strict=False):
            corpus["candidates"] = candidates.to_dict()
        table_1 = {
            split: dict(zip(("sentences", "entities", "discontinuous"), counts, strict=True))
            for split, counts in published.items()
        }
        print_json({"corpora": corpora, **({"paper": {paper: table_1}} if paper else {})})
        return
    names = [path.name or str(path) for path in paths]
    names = names if len(set(names)) == len(names) else list(map(str, paths))
    _print_table(names, columns, oracles, published)
    for name, notes in zip(names, all_notes, strict=True):
        print_notes(notes, name if len(names) > 1 else "")


def _candidate_oracles(model: Path | None, paths: list[Path], reading: ReadingOptions) -> list[CandidateOracle]:
    if model is None:
        return []
    from gridner.errors import Notes
    from gridner.inference.candidate_oracle import candidate_oracle
    from gridner.inference.loading import load

    recognizer = load(model)
    return [candidate_oracle(recognizer, reading.documents(path, Notes(), activity="read")) for path in paths]


def _print_table(
    names: list[str],
    columns: list[Statistics],
    oracles: list[CandidateOracle],
    published: dict[str, tuple[int, int, int]],
) -> None:
    from gridner.corpus.statistics import percent

    table = new_table("", *names, *(f"{split} (paper)" for split in published))
    published_cells = {
        "sentences": [f"{sentences:,}" for sentences, _, _ in published.values()],
        "entities": [f"{entities:,}" for _, entities, _ in published.values()],
        "discontinuous": [f"{gaps:,}" for _, _, gaps in published.values()],
        "% discontinuous": [f"{percent(gaps, entities):.1f}" for _, entities, gaps in published.values()],
    }
    for label, cells in (*_rows(columns), *_candidate_rows(oracles)):
        table.add_row(label, *cells, *([""] * (len(columns) - len(cells))), *published_cells.get(label, []))
    print_table(table)
    if any(percent(sum(column.cut.values()), column.entities) > 10 for column in columns):
        typer.echo("More than 10 % of the entities cannot become mentions; check --sentences and the offsets.")


def _rows(columns: list[Statistics]) -> Iterator[tuple[str, list[str]]]:
    """Yield the label and the cells of each row; a heading has no cells."""
    from gridner.corpus.statistics import percent
    from gridner.scoring.matching import OVERLAPS
    from gridner.text.alignment import CutReason

    def share(part: int, total: int) -> str:
        return f"{part:,} ({percent(part, total):.1f} %)"

    yield "documents", [f"{column.documents:,}" for column in columns]
    yield "sentences", [f"{column.sentences:,}" for column in columns]
    yield "words", [f"{column.words:,}" for column in columns]
    yield "entities", [f"{column.entities:,}" for column in columns]
    yield "discontinuous", [f"{column.discontinuous:,}" for column in columns]
    yield "% discontinuous", [f"{percent(column.discontinuous, column.entities):.1f}" for column in columns]
    yield "sharing words with another", [share(column.overlapped, column.entities) for column in columns]
    yield "annotated more than once", [f"{column.repeated:,}" for column in columns]
    yield "types (of these, discontinuous)", []
    for name in sorted({name for column in columns for name in column.types}):
        yield f"  {name}", [f"{column.types[name]:,} ({column.discontinuous_types[name]:,})" for column in columns]
    yield "fragments", []
    for size in sorted({size for column in columns for size in column.fragments}):
        yield f"  {size}", [f"{column.fragments[size]:,}" for column in columns]
    yield "overlap of discontinuous", []
    for overlap in OVERLAPS:
        yield f"  {overlap}", [f"{column.overlaps[overlap]:,}" for column in columns]
    yield "words: mean / median / 95 % / max", []
    yield "  gaps", [_spread(column.gaps) for column in columns]
    yield "  entities", [_spread(column.entity_words) for column in columns]
    yield "  sentences", [_spread(column.sentence_words) for column in columns]
    yield "entities that cannot become mentions", []
    for reason in CutReason:
        yield f"  {reason.value}", [share(column.cut[reason.value], column.entities) for column in columns]
    scores = [column.oracle.score() for column in columns]
    yield "oracle P / R / F1", [" / ".join(f"{100 * x:.2f}" for x in (s.precision, s.recall, s.f1)) for s in scores]


def _candidate_rows(oracles: list[CandidateOracle]) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows of a model's candidate words."""
    if not oracles:
        return
    shares = [oracle.to_dict() for oracle in oracles]
    yield "candidate words of the model", []
    for share in ("words", "cells", "entity words"):
        yield f"  {share}", [f"{100 * corpus[share]:.2f} %" for corpus in shares]
    scores = [corpus["oracle"].values() for corpus in shares]
    yield "  oracle P / R / F1", [" / ".join(f"{100 * x:.2f}" for x in values) for values in scores]


def _spread(counts: Counter[int]) -> str:
    from gridner.corpus.statistics import summary

    lengths = summary(counts)
    return (
        f"{lengths['mean']:.1f} / {lengths['median']:g} / {lengths['p95']:g} / {lengths['max']:g}" if lengths else "–"
    )
