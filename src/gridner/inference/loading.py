"""A recognizer from a model folder, with the engine that the folder is for."""

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
from gridner.inference.onnx_engine import OnnxEngine
from gridner.inference.recognizer import Recognizer

SHIPPED = Path(__file__).parents[1] / "models" / "craft"


def load(
    model: str | Path | None = None, *, threads: int | None = None, lexicon: str | Path | None = None, **decoding: Any
) -> Recognizer:
    """Load a model. Keyword arguments such as `threshold=0.3` replace its decoding settings.

    Without a folder, gridner loads its own model: cells, biological processes and diseases in English. `lexicon` is a
    TSV gazetteer, `TYPE<tab>name` per line, that is added to the names of the model; "none" disables both. `threads` is
    at most the number of cores. A setting that makes no sense raises UsageError.
    """
    folder = SHIPPED if model is None else Path(model)
    checkpoint, tokenizer = read_checkpoint(folder)
    settings = _with_changes(checkpoint.config.decoding, decoding)
    threads = None if threads is None else at_most_cores(threads, "threads")
    if checkpoint.exported:
        engine = OnnxEngine(folder, threads=threads)
        recognizer = Recognizer.from_checkpoint(checkpoint, engine=engine, tokenizer=tokenizer, decoding=settings)
    else:
        recognizer = _load_on_torch(folder, threads, settings)
    if lexicon == "none":
        recognizer.lexicon = Lexicon()
    elif lexicon is not None:
        recognizer.lexicon |= _matching_lexicon(lexicon, recognizer)
    return recognizer


def _load_on_torch(folder: Path, threads: int | None, settings: DecodingConfig) -> Recognizer:
    try:
        from gridner.model.trained import TrainedModel
    except ImportError as error:
        raise UsageError(
            f"{folder}: a model on torch, but {error.name} is missing; install it with: pip install 'gridner[train]', "
            "or use the folder that gridner export makes of it"
        ) from None
    model = TrainedModel.load(folder)
    if threads is not None:
        import torch

        torch.set_num_threads(threads)  # of the whole process: torch has no other way
    return model.recognizer(**asdict(settings))


def _matching_lexicon(path: str | Path, recognizer: Recognizer) -> Lexicon:
    """Return the names in a file, which must be of the model's types."""
    lexicon = read_lexicon(path)
    if unknown := sorted(set(lexicon.types) - set(recognizer.scheme.types)):
        raise UsageError(
            f"{path}: names of {', '.join(unknown)}, expected those of {', '.join(recognizer.scheme.types)}"
        )
    if not recognizer.decoding.name_bonus:
        raise UsageError(
            f"{path}: the model's decoding.name_bonus is 0, so names change nothing; "
            "choose a bonus with gridner tune --lexicon"
        )
    return lexicon


def _with_changes(settings: DecodingConfig, changes: Mapping[str, Any]) -> DecodingConfig:
    """Return the settings with changes, which are checked like those of a file."""
    plain: dict[str, Any] = {}
    for name, value in changes.items():
        is_number = isinstance(value, Real) and not isinstance(value, bool)  # of numpy, too
        plain[name] = (int(value) if isinstance(value, Integral) else float(value)) if is_number else value
    finds_nothing = type(plain.get("threshold")) is not bool and plain.get("threshold") == 1
    checked = {**plain, "threshold": 0.5} if finds_nothing else plain  # a file has no use for 1, a sweep may end there
    changed = config_from({"decoding": {**asdict(settings), **checked}}, "gridner.load").decoding
    return replace(changed, threshold=1.0) if finds_nothing else changed
