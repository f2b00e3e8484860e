"""gridner report"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from gridner.cli.common import (
    ExceptIdsOption,
    FormatOption,
    IdsOption,
    LenientOption,
    NoTextOption,
    Reading,
    SentencesOption,
    TextsOption,
    TypesOption,
    print_notes,
    sentence_progress,
)
from gridner.cli.evaluate import GoldArgument, PredictedFormatOption, SeedOption, UnitOption, answers_of
from gridner.documents import Document
from gridner.errors import Notes, UsageError


def report(
    gold: GoldArgument,
    predicted: Annotated[Path, typer.Argument(metavar="PRED", help="The predictions.")],
    second: Annotated[
        Path | None, typer.Argument(metavar="[PRED_B]", help="Predictions of another system, to compare with.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file to write.")] = Path("report.html"),
    model: Annotated[
        Path | None,
        typer.Option(
            "--model", "-m", help="Show the grid of each sentence as this model sees it, with what it decodes."
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Its heading (default: the names of the files).")] = None,
    no_text: NoTextOption = False,
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

        gridner report gold predictions --model model

        gridner report gold predictions --no-text --output to-share.html

    """
    from gridner.files import check_output

    check_output(output, folder=False, force=force)
    notes = Notes()
    reading = Reading(format, texts, ids, except_ids, types, sentences, lenient)
    names = [predicted.name] if second is None else told_apart(predicted, second)
    paths = [predicted] if second is None else [predicted, second]
    golds = list(reading.documents(gold, notes, what="read"))
    found = [answers_of(golds, path, reading, pred_format, notes) for path in paths]
    write_report(
        output,
        golds,
        dict(zip(names, found, strict=True)),
        title=title or f"{' and '.join(names)} against {gold.name}",
        own_title=bool(title),
        no_text=no_text,
        model=model,
        unit=unit,
        rounds=rounds,
        seed=seed,
        force=force,
    )
    print_notes(notes)


def told_apart(a: Path, b: Path) -> list[str]:
    """Two paths by what differs in them: toe and w2ner for runs/toe/dev.jsonl and runs/w2ner/dev.jsonl."""
    if a.resolve() == b.resolve():
        raise UsageError(f"{b}: the same as the other predictions, expected those of another system")
    if a.name != b.name:
        return [a.name, b.name]
    one, other = (list(path.resolve().parts) for path in (a, b))
    for end in (0, -1):
        while min(len(one), len(other)) > 1 and one[end] == other[end]:
            del one[end], other[end]
    return ["/".join(one), "/".join(other)]


def write_report(
    output: Path,
    golds: Sequence[Document],
    found: Mapping[str, Sequence[Document]],
    *,
    title: str,
    own_title: bool = False,
    no_text: bool = False,
    model: Path | None = None,
    unit: Literal["sentence", "document"] = "sentence",
    rounds: int = 1000,
    seed: int = 0,
    force: bool = False,
) -> None:
    """Write the page of what one or two systems found, and say where it is.

    Without text neither the names of files nor a title that was not asked for are in it.
    """
    from gridner.files import write_text, write_whole
    from gridner.view.report import Report, page

    names = tuple("AB"[: len(found)]) if no_text else tuple(map(_as_text, found))
    built = Report(names, with_text=not no_text)
    grids = _grids(model, golds) if model is not None else [None] * len(golds)
    for document, seen, *answers in zip(golds, grids, *found.values(), strict=True):
        built.add(document, answers, seen)
    heading = "A gridner report" if no_text and not own_title else title
    text = page(_as_text(heading), built.data(unit=unit, rounds=rounds, seed=seed))
    write_whole(output, lambda part: write_text(part, text), folder=False, force=force)
    typer.echo(f"{output}: {len(built.sentences):,} sentences, {len(text) / 2**20:.1f} MB", err=True)


def _as_text(name: str) -> str:
    """A name that any file can have: one that is not UTF-8 comes with halves of characters."""
    return name.encode("utf-8", "replace").decode("utf-8")


def _grids(model: Path, golds: Sequence[Document]) -> Iterator[list[list[dict[str, Any]]]]:
    """How a model sees the sentences of each document."""
    from gridner.inference.loading import load
    from gridner.text.sentences import sentences_of
    from gridner.view.grid import grids

    recognizer = load(model)
    with sentence_progress("grids") as one:
        for document in golds:
            yield grids(recognizer, sentences_of(document), each=one)
