"""gridner report"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from gridner.cli.common import (
    ExceptIdsOption,
    FormatOption,
    IdsOption,
    LenientOption,
    Reading,
    SentencesOption,
    TextsOption,
    TypesOption,
    print_notes,
)
from gridner.cli.evaluate import GoldArgument, PredictedFormatOption, SeedOption, UnitOption
from gridner.documents import Document
from gridner.errors import Notes


def report(
    gold: GoldArgument,
    predicted: Annotated[Path, typer.Argument(metavar="PRED", help="The predictions.")],
    second: Annotated[
        Path | None, typer.Argument(metavar="[PRED_B]", help="Predictions of another system, to compare with.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file to write.")] = Path("report.html"),
    title: Annotated[str | None, typer.Option(help="Its heading (default: the names of the files).")] = None,
    no_text: Annotated[
        bool, typer.Option("--no-text", help="Without any source text or document ids, to be shared.")
    ] = False,
    format: FormatOption = "auto",
    pred_format: PredictedFormatOption = None,
    texts: TextsOption = None,
    ids: IdsOption = None,
    except_ids: ExceptIdsOption = None,
    types: TypesOption = None,
    sentences: SentencesOption = "auto",
    unit: UnitOption = "sentence",
    rounds: Annotated[int, typer.Option(min=1, help="Bootstrap resamples for the intervals.")] = 1000,
    seed: SeedOption = 0,
    lenient: LenientOption = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Write a page to look at: scores with intervals, and every sentence with what is right, missed and wrong in it.

    One HTML file that needs no network. Filters by type, kind and error, a search, and keys to step through the errors.

    Examples:

        gridner report gold predictions --format brat

        gridner report gold toe.jsonl w2ner.jsonl --format brat --pred-format jsonl --output toe-w2ner.html

        gridner report gold predictions --no-text --output to-share.html

    """
    from gridner.evaluate import pair
    from gridner.formats.files import check_output, write_text, write_whole
    from gridner.report_html import Report, page
    from gridner.significance import bootstrap

    check_output(output, folder=False, force=force)
    notes = Notes()
    reading = Reading(format, texts, ids, except_ids, types, sentences, lenient)
    how = replace(reading, format=pred_format or reading.format)
    paths = [predicted] if second is None else [predicted, second]
    golds = list(reading.documents(gold, notes, what="read"))
    found: list[list[Document]] = []
    for path in paths:
        found.append([answer for _, answer in pair(golds, how.documents(path, notes, what="read", known=golds))])
    built = Report(tuple(str(path) if not no_text else "AB"[n] for n, path in enumerate(paths)), with_text=not no_text)
    for document, *answers in zip(golds, *found, strict=True):
        built.add(document, answers)
    intervals = [
        {name: bootstrap(one, name, unit=unit, rounds=rounds, seed=seed) for name in one.slices}
        for one in built.evaluations
    ]
    heading = title or (
        "A gridner report" if no_text else f"{' and '.join(path.name for path in paths)} against {gold.name}"
    )
    text = page(heading, built.data(intervals))
    write_whole(output, lambda part: write_text(part, text), folder=False, force=force)
    typer.echo(f"{output}: {len(built.sentences):,} sentences, {len(text) / 2**20:.1f} MB", err=True)
    print_notes(notes)
