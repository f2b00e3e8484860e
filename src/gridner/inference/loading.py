"""A recognizer from a model folder, with the engine that the folder is for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict
from numbers import Integral, Real
from pathlib import Path
from typing import Any, overload

from gridner.config import DecodingConfig, config_from
from gridner.corpus.gazetteer import Lexicon, read_lexicon
from gridner.errors import UsageError
from gridner.inference.available_cores import at_most_cores
from gridner.inference.averaged_models import averaged
from gridner.inference.checkpoint import read_checkpoint
from gridner.inference.installed_models import Model, Models, find_models
from gridner.inference.recognizer import Recognizer
from gridner.inference.several_models import CombinedRecognizer


@overload
def load(
    model: Model | None = None, *, threads: int | None = None, lexicon: str | Path | None = None, **decoding: Any
) -> Recognizer: ...


@overload
def load(
    model: Models,
    *,
    threads: int | None = None,
    lexicon: str | Path | None = None,
    average: bool = False,
    **decoding: Any,
) -> Recognizer | CombinedRecognizer: ...


def load(
    model: Models = None,
    *,
    threads: int | None = None,
    lexicon: str | Path | None = None,
    average: bool = False,
    **decoding: Any,
) -> Recognizer | CombinedRecognizer:
    """Load a model: the name of an installed one, a folder, or a list of them. None is the default model.

    Keyword arguments such as `threshold=0.3` replace the decoding settings. `lexicon` is a TSV gazetteer,
    `TYPE<tab>name` per line, that is added to the names of the model; "none" disables both. `threads` is at most the
    number of cores. A setting that makes no sense raises UsageError.

    Several models give the union of their entities, and each entity says in `meta["models"]` which of them found it.
    With `average`, models of the same types are one model with their mean probabilities.
    """
    loaded = {name: _load_one(folder, threads, decoding) for name, folder in find_models(model).items()}
    if lexicon == "none":
        for recognizer in loaded.values():
            recognizer.lexicon = Lexicon()
    elif lexicon is not None:
        _add_names(lexicon, loaded.values())
    if average:
        return averaged(loaded)
    return next(iter(loaded.values())) if len(loaded) == 1 else CombinedRecognizer(loaded)


def _load_one(folder: Path, threads: int | None, decoding: Mapping[str, Any]) -> Recognizer:
    checkpoint, tokenizer = read_checkpoint(folder)
    changes = _checked(decoding, checkpoint.config.decoding)
    threads = None if threads is None else at_most_cores(threads, "threads")
    if checkpoint.exported:
        from gridner.inference.onnx_engine import OnnxEngine  # here: importing ONNX Runtime starts a thread

        engine = OnnxEngine(folder, threads=threads)
        return Recognizer.from_checkpoint(checkpoint, engine=engine, tokenizer=tokenizer, **changes)
    return _load_on_torch(folder, threads, changes)


def _load_on_torch(folder: Path, threads: int | None, changes: Mapping[str, Any]) -> Recognizer:
    try:
        from gridner.model.trained_model import TrainedModel
    except ImportError as error:
        raise UsageError(
            f"{folder}: a model on torch, but {error.name} is missing; install it with: pip install 'gridner[train]', "
            "or use the folder that gridner export makes of it"
        ) from None
    model = TrainedModel.load(folder)
    if threads is not None:
        import torch

        torch.set_num_threads(threads)  # of the whole process: torch has no other way
    return model.recognizer(**changes)


def _add_names(path: str | Path, recognizers: Collection[Recognizer]) -> None:
    """Add the names in a file to the gazetteers of the models that have their types. Other types are an error."""
    names = read_lexicon(path)
    known = tuple(dict.fromkeys(type for recognizer in recognizers for type in recognizer.types))
    if unknown := sorted(set(names.types) - set(known)):
        raise UsageError(f"{path}: names of {', '.join(unknown)}, expected those of {', '.join(known)}")
    for recognizer in recognizers:
        lexicon = Lexicon((type, name) for type, name in names if type in recognizer.types)
        if lexicon and not any(tuning.name_bonus for tuning in recognizer.tunings):
            raise UsageError(
                f"{path}: the model's decoding.name_bonus is 0, so names change nothing; "
                "choose a bonus with gridner tune --lexicon"
            )
        recognizer.lexicon |= lexicon


def _checked(changes: Mapping[str, Any], settings: DecodingConfig) -> dict[str, Any]:
    """Return changes of the settings, checked like those of a file."""
    plain: dict[str, Any] = {}
    for name, value in changes.items():
        is_number = isinstance(value, Real) and not isinstance(value, bool)  # of numpy, too
        plain[name] = (int(value) if isinstance(value, Integral) else float(value)) if is_number else value
    finds_nothing = type(plain.get("threshold")) is not bool and plain.get("threshold") == 1
    checked = {**plain, "threshold": 0.5} if finds_nothing else plain  # a file has no use for 1, a sweep may end there
    changed = config_from({"decoding": {**asdict(settings), **checked}}, "gridner.load").decoding
    values = {name: getattr(changed, name) for name in changes}
    return {**values, "threshold": 1.0} if finds_nothing else values
