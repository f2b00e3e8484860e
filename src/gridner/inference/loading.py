"""A recognizer from a model directory, with the engine that the directory is for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from gridner.config import DecodingConfig, config_from
from gridner.corpus.gazetteer import Lexicon, read_lexicon
from gridner.errors import UsageError
from gridner.inference.checkpoint import read_checkpoint
from gridner.inference.cores import at_most_cores
from gridner.inference.recognizer import Recognizer

SHIPPED = Path(__file__).parents[1] / "models" / "craft"


def load(
    model: str | Path | None = None, *, threads: int | None = None, lexicon: str | Path | None = None, **decoding: Any
) -> Recognizer:
    """A recognizer on a model, with its own decoding settings but for those given (such as `threshold=0.3`).

    Without a folder it is the model that comes with gridner: cells, biological processes and diseases in English.
    `lexicon` is a file of names beside those that the model has, a type, a tab and a name a line; with "none" it uses
    no names at all. `threads` is at most the number of cores. A setting that makes no sense is a UsageError.
    """
    recognizer = _load(SHIPPED if model is None else model, threads, decoding)
    if lexicon == "none":
        recognizer.lexicon = Lexicon()
    elif lexicon is not None:
        more = read_lexicon(lexicon)
        if strange := sorted(set(more.types) - set(recognizer.scheme.types)):
            raise UsageError(
                f"{lexicon}: names of {', '.join(strange)}, expected those of {', '.join(recognizer.scheme.types)}"
            )
        if not recognizer.decoding.name_bonus:
            raise UsageError(
                f"{lexicon}: the model's decoding.name_bonus is 0, so names change nothing, "
                "expected one that gridner tune --lexicon chose"
            )
        recognizer.lexicon |= more
    return recognizer


def _load(model: str | Path, threads: int | None, decoding: Mapping[str, Any]) -> Recognizer:
    checkpoint, pieces = read_checkpoint(model)
    settings = _changed(checkpoint.config.decoding, decoding)
    if threads is not None:
        threads = at_most_cores(threads, "threads")
    if not checkpoint.exported:
        try:
            from gridner.model.trained import TrainedModel
        except ImportError as error:
            raise UsageError(
                f"{model}: a model on torch, but {error.name} is missing, expected pip install 'gridner[train]' "
                "or the folder that gridner export makes of it"
            ) from None
        trained = TrainedModel.load(model)
        if threads is not None:
            import torch

            torch.set_num_threads(threads)  # of the whole process: torch has no other way
        return trained.recognizer(**{name: getattr(settings, name) for name in decoding})
    from gridner.inference.onnx_engine import OnnxEngine

    engine = OnnxEngine(Path(model), threads=threads)
    one_label = checkpoint.config.model.architecture == "w2ner"
    return Recognizer(
        engine, pieces, checkpoint.scheme, settings, one_label, checkpoint.calibration, checkpoint.lexicon
    )


def _changed(settings: DecodingConfig, changes: Mapping[str, Any]) -> DecodingConfig:
    """Return the settings with changes, which are checked like those of a file."""
    plain: dict[str, Any] = {}
    for name, value in changes.items():
        number = isinstance(value, Real) and not isinstance(value, bool)  # of numpy, too
        plain[name] = (int(value) if isinstance(value, Integral) else float(value)) if number else value
    finds_nothing = type(plain.get("threshold")) is not bool and plain.get("threshold") == 1
    checked = {**plain, "threshold": 0.5} if finds_nothing else plain  # a file has no use for 1, a sweep may end there
    found = config_from({"decoding": {**asdict(settings), **checked}}, "gridner.load").decoding
    return replace(found, threshold=1.0) if finds_nothing else found
