"""gridner: discontinuous named-entity recognition.

import gridner
recognizer = gridner.load()
document = recognizer("pain in left arm and shoulder")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gridner.documents import Document, Entity, Fragment
from gridner.errors import FormatError, GridnerError, InvalidError, MismatchError, Notes, OutputError, UsageError
from gridner.formats import FORMATS, read, write
from gridner.scoring.evaluation import Evaluation, Score, evaluate

if TYPE_CHECKING:
    from gridner.config import read_config
    from gridner.inference.loading import load
    from gridner.inference.recognizer import Recognizer
    from gridner.model.trained_model import TrainedModel
    from gridner.scoring.significance import compare
    from gridner.training import train

__version__ = "0.2.0"

__all__ = [
    "FORMATS",
    "Document",
    "Entity",
    "Evaluation",
    "FormatError",
    "Fragment",
    "GridnerError",
    "InvalidError",
    "MismatchError",
    "Notes",
    "OutputError",
    "Recognizer",
    "Score",
    "TrainedModel",
    "UsageError",
    "__version__",
    "compare",
    "evaluate",
    "load",
    "read",
    "read_config",
    "train",
    "write",
]

# Imported at first use: they need numpy, an engine or torch, which reading, writing and scoring do not.
_LAZY = {
    "Recognizer": "gridner.inference.recognizer",
    "TrainedModel": "gridner.model.trained_model",
    "compare": "gridner.scoring.significance",
    "load": "gridner.inference.loading",
    "read_config": "gridner.config",
    "train": "gridner.training",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'gridner' has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
