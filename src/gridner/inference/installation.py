"""The installation as plain data, for bug reports: Python, the system, package versions and a model."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from gridner.errors import GridnerError
from gridner.inference.installed_models import find_model
from gridner.inference.model_info import describe_model

PACKAGES = ("gridner", "numpy", "onnxruntime", "tokenizers", "torch", "transformers", "accelerate", "onnx")


def describe_installation(model: str | Path | None = None) -> dict[str, Any]:
    """Return Python, system, package versions, and what `describe_model` says of a model, or of the default model.

    If the default model cannot be read, its entry is the error: that is worth a bug report.
    """
    try:
        about_model = {
            "folder": str(model) if model else "the one that comes with gridner",
            **describe_model(find_model(model)),
        }
    except GridnerError as error:
        if model is not None:
            raise
        about_model = {"error": str(error)}
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "versions": {name: _version(name) for name in PACKAGES},
        "model": about_model,
    }


def _version(package: str) -> str | None:
    """Return the version of an installed package; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
