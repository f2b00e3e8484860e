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
    facts: dict[str, Any] = {"python": platform.python_version(), "system": platform.platform(), "versions": {}}
    for name in PACKAGES:
        try:
            facts["versions"][name] = version(name)
        except PackageNotFoundError:
            facts["versions"][name] = None
    try:
        facts["model"] = _describe(model)
    except GridnerError as error:
        if model is not None:
            raise
        facts["model"] = {"error": str(error)}  # of the shipped model: worth a bug report
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
    from gridner.inference.about import TypeAbout

    return f"{TypeAbout(**type_about)}" + (f" ({type_about['corpus']})" if type_about["corpus"] else "")


def _to_text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} = {entry}" for key, entry in value.items())
    return ", ".join(value) if isinstance(value, list) else f"{value:,}" if isinstance(value, int) else str(value)


def _describe(model: Path | None) -> dict[str, Any]:
    from gridner.inference.installed import find_model
    from gridner.inference.model_info import describe_model

    facts = describe_model(find_model(model))
    return {"folder": str(model) if model else "the one that comes with gridner", **facts}
