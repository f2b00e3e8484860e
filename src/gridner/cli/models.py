"""gridner models"""

from __future__ import annotations

from typing import Any

from gridner.cli.printing import print_json
from gridner.cli.shared_options import JsonOption


def models(as_json: JsonOption = False) -> None:
    """List the installed models: what they find, how well, language, size and licence.

    Use one with --model NAME, or several with --model A --model B.

    Examples:
    ```
    gridner models
    gridner models --json
    ```

    """
    from gridner.inference.installed_models import DEFAULT_MODEL, installed_models
    from gridner.inference.model_info import describe_model

    found: list[dict[str, Any]] = []
    for name, folder in installed_models().items():
        size = sum(path.stat().st_size for path in folder.iterdir())
        about = {"name": name, "default": name == DEFAULT_MODEL, "bytes": size, "folder": str(folder)}
        found.append({**about, **describe_model(folder)})
    if as_json:
        print_json(found)
        return
    for model in found:
        _print_model(model)


def _print_model(model: dict[str, Any]) -> None:
    from gridner.inference.model_description import TypeAbout

    head = f"{model['name']}{' (default)' * model['default']}"
    print(f"{head}: {model['description']}" if model.get("description") else head)
    for one in model["types"]:
        print(f"  {TypeAbout(**one)}")
    for part in ("test", "dev"):
        if scores := model[f"{part} F1"]:
            print(f"  F1 on {part}: {', '.join(f'{name} {f1:.1f}' for name, f1 in scores.items())}")
            break
    language, licence = (model.get(key, "unknown") for key in ("language", "license"))
    print(f"  language {language}, {model['bytes'] / 1e6:.0f} MB, {model['engine']}, licence {licence}")
