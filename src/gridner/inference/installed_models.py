"""The models that are installed: those in this package, and those that other packages bring.

A package brings models as folders `gridner_models/NAME`, each with a gridner.json. gridner reads these folders and runs
no code of the package.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from gridner.errors import FormatError, UsageError
from gridner.inference.checkpoint import MANIFEST

DEFAULT_MODEL = "medical"
OWN_MODELS = Path(__file__).parents[1] / "models"
NAMESPACE = "gridner_models"

Model = str | Path  # the name of an installed model, or a folder
Models = Model | Sequence[Model] | None  # None: the default model


def installed_models() -> dict[str, Path]:
    """Return the folders of the installed models by name. Where two have the same name, gridner's own comes first."""
    spec = find_spec(NAMESPACE)
    others = spec.submodule_search_locations if spec is not None else None
    folders: dict[str, Path] = {}
    for folder in (OWN_MODELS, *map(Path, others or ())):
        for manifest in sorted(folder.glob(f"*/{MANIFEST}")):
            folders.setdefault(manifest.parent.name, manifest.parent)
    return folders


def find_model(model: Model | None = None) -> Path:
    """Return the folder of a model. A folder that is a model comes before an installed model of the same name."""
    if model is None:
        return installed_models().get(DEFAULT_MODEL, OWN_MODELS / DEFAULT_MODEL)
    folder = Path(model)
    if (folder / MANIFEST).is_file():
        return folder
    installed = installed_models()
    if str(model) in installed:
        return installed[str(model)]
    if folder.exists():
        return folder  # reading it says what is wrong
    raise FormatError(
        f"{model}: not a gridner model, expected a folder with {MANIFEST} or an installed model: {', '.join(installed)}"
    )


def find_models(models: Models = None) -> dict[str, Path]:
    """Return the folders of one model or of several by name: that of the folder, unless two have the same."""
    wanted = [models] if models is None or isinstance(models, str | Path) else list(models)
    if not wanted:
        raise UsageError("no models, expected at least one")
    folders = [find_model(model) for model in wanted]
    paths = [folder.resolve() for folder in folders]
    if len(set(paths)) < len(paths):
        raise UsageError(f"models {', '.join(map(str, wanted))}: one of them twice; name each once")
    names = [path.name for path in paths]
    return dict(zip(names if len(set(names)) == len(names) else map(str, wanted), folders, strict=True))
