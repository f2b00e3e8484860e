"""Options that several commands have in common, apart from the reading options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gridner.errors import plural
from gridner.inference.available_cores import usable_cores

ModelOption = Annotated[
    Path | None, typer.Option("--model", "-m", help="An installed model (see gridner models) or a model folder.")
]
ModelsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--model", "-m", help="An installed model (see gridner models) or a model folder; several if repeated."
    ),
]
LexiconOption = Annotated[
    str | None,
    typer.Option(
        "--lexicon",
        metavar="FILE",
        help="TSV gazetteer, a type and a name per line, used beside the model's own; none disables both.",
    ),
]
TrainLexiconOption = Annotated[
    Path | None,
    typer.Option("--lexicon", help="TSV gazetteer, a type and a name per line; saved with the model."),
]
OwnNamesOption = Annotated[
    bool, typer.Option("--own-names", help="Add the names of the training corpus to the gazetteer.")
]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Change a setting, such as train.epochs=5; repeatable."),
]
FlatOption = Annotated[
    bool,
    typer.Option(
        "--flat", help="Keep only contiguous entities without overlaps; bridge gaps of up to --max-gap words."
    ),
]
MaxGapOption = Annotated[
    int | None, typer.Option("--max-gap", min=0, help="Drop entities with a gap of more words than this.")
]
AboutOption = Annotated[
    Path | None,
    typer.Option("--about", metavar="FILE", help="TOML file that describes the types (see gridner describe)."),
]
NoTextOption = Annotated[
    bool, typer.Option("--no-text", help="Leave source text and document ids out of the report, to share it.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def limit_to_cores(option: str, count: int | None, processes: int = 1) -> int | None:
    """Return the requested threads or processes, at most one per core in all; print it if that is fewer."""
    most = max(1, usable_cores() // processes)
    if count is None or count <= most:
        return count
    typer.echo(f"{option} {count:,}: only {plural(usable_cores(), 'core')} available, using {most:,}", err=True)
    return most
