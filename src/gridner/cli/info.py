"""gridner info"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gridner.cli.printing import print_json
from gridner.cli.shared_options import JsonOption


def info(
    model: Annotated[
        Path | None,
        typer.Argument(metavar="MODEL", help="Installed model or model folder (default: the default model)."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show versions, and the engine, types, settings and scores of a model. Useful in bug reports.

    Examples:
    ```
    gridner info
    gridner info model --json
    ```

    """
    from gridner.inference.installation import describe_installation

    facts = describe_installation(model)
    if as_json:
        print_json(facts)
        return
    print(f"Python {facts['python']} on {facts['system']}")
    print(", ".join(f"{name} {installed or 'not installed'}" for name, installed in facts["versions"].items()))
    for key, value in facts["model"].items():
        if key == "types":
            print("types:", *(_type_line(type_about) for type_about in value), sep="\n  ")
        else:
            print(f"{key}: {_to_text(value)}")


def _type_line(type_about: dict[str, str]) -> str:
    from gridner.inference.model_description import TypeAbout

    return f"{TypeAbout(**type_about)}" + (f" ({type_about['corpus']})" if type_about["corpus"] else "")


def _to_text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} = {entry}" for key, entry in value.items())
    return ", ".join(value) if isinstance(value, list) else f"{value:,}" if isinstance(value, int) else str(value)
