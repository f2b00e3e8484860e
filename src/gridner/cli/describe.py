"""gridner describe"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer


def describe(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model folder.")],
    about: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="TOML file with descriptions; without it, print one.")
    ] = None,
) -> None:
    """Describe in a model what it is for and what its types mean, with an example of each.

    gridner shows these texts in info and models, on the page of gridner serve, and when it finds nothing.

    Examples:
    ```
    gridner describe model > about.toml
    gridner describe model about.toml
    ```

    """
    from gridner.files import write_text, write_whole
    from gridner.inference.checkpoint import CARD, read_checkpoint, write_about
    from gridner.inference.installed_models import find_model
    from gridner.inference.model_card import described
    from gridner.inference.model_description import ModelAbout, read_about

    checkpoint, _ = read_checkpoint(find_model(model) if about is None else model)
    if about is None:
        old = checkpoint.about
        print(ModelAbout(old.description, old.language, old.license, checkpoint.described_types).to_toml(), end="")
        return
    words = read_about(about, checkpoint.types)
    card = model / CARD
    before = card.read_text(encoding="utf-8", errors="replace") if card.is_file() else ""
    _, after = described(checkpoint, before, words)
    write_about(model, words)
    if after != before:
        write_whole(card, partial(write_text, text=after), folder=False, force=True)
    typer.echo(f"{model}: {len(words.types)} of {len(checkpoint.types)} types described", err=True)
