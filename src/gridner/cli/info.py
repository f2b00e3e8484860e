"""gridner info"""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import typer

from gridner.cli.printing import print_json
from gridner.cli.shared_options import JsonOption
from gridner.errors import GridnerError

PACKAGES = ("gridner", "numpy", "onnxruntime", "tokenizers", "torch", "transformers", "accelerate", "onnx")


def info(
    model: Annotated[
        Path | None,
        typer.Argument(metavar="[MODEL]", help="A model folder (default: the one that comes with gridner)."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Versions, and what a model is: engine, types, settings, scores. For bug reports.

    Examples:

        gridner info

        gridner info model --json

    """
    facts: dict[str, Any] = {"python": platform.python_version(), "system": platform.platform(), "versions": {}}
    for name in PACKAGES:
        try:
            facts["versions"][name] = version(name)
        except PackageNotFoundError:
            facts["versions"][name] = None
    try:
        facts["model"] = _about(model)
    except GridnerError as error:
        if model is not None:
            raise
        facts["model"] = {"error": str(error)}  # of the one that should be there: what a bug report is about
    if as_json:
        print_json(facts)
        return
    print(f"Python {facts['python']} on {facts['system']}")
    print(", ".join(f"{name} {found or 'not installed'}" for name, found in facts["versions"].items()))
    for key, value in facts["model"].items():
        if key == "types":
            print("types:", *(_type_line(one) for one in value), sep="\n  ")
        else:
            print(f"{key}: {_said(value)}")


def _type_line(one: dict[str, str]) -> str:
    from gridner.inference.about import TypeAbout

    return f"{TypeAbout(**one)}" + (f" ({one['corpus']})" if one["corpus"] else "")


def _said(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} = {one}" for name, one in value.items())
    return ", ".join(value) if isinstance(value, list) else f"{value:,}" if isinstance(value, int) else str(value)


def _about(given: Path | None) -> dict[str, Any]:
    from gridner.inference.loading import SHIPPED
    from gridner.inference.model_info import describe_model

    facts = describe_model(SHIPPED if given is None else given)
    return {"folder": str(given) if given else "the one that comes with gridner", **facts}
