"""Arguments and options of the commands that score predictions: evaluate, compare, report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from gridner.cli.reading_options import ReadingOptions
from gridner.documents import Document
from gridner.errors import Notes

GoldArgument = Annotated[Path, typer.Argument(metavar="GOLD", help="The gold annotations.")]
PredictedFormatOption = Annotated[
    str | None, typer.Option("--pred-format", help="Format of the predictions, if it differs from --format.")
]
UnitOption = Annotated[
    Literal["sentence", "document"],
    typer.Option(
        help="What to resample. Documents give wider intervals; use them if the sentences of a document are alike."
    ),
]
SeedOption = Annotated[int, typer.Option(min=0, help="Seed of the resampling.")]
RoundsOption = Annotated[int, typer.Option(min=1, help="Bootstrap resamples for the intervals.")]


def read_predictions(
    gold: Sequence[Document], path: Path, reading: ReadingOptions, pred_format: str | None, notes: Notes
) -> list[Document]:
    """Read the predictions for the gold documents, in the order of these.

    A model of several corpora predicts types that a gold corpus does not annotate; the notes count these.
    """
    from gridner.scoring.evaluation import pair

    options = replace(reading, format=pred_format or reading.format)
    predictions = [
        predicted for _, predicted in pair(gold, options.documents(path, notes, activity="read", texts_from=gold))
    ]
    annotated = {entity.type for document in gold for entity in document.entities}
    for document in predictions:
        for entity in document.entities:
            if annotated and entity.type not in annotated:
                notes.add(
                    "predicted entity of a type that GOLD does not have, counts as wrong; choose types with --types",
                    f"{document.id}: {entity.type}",
                )
    return predictions
