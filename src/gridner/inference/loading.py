"""A recognizer from a model directory, with the engine that the directory is for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gridner.corpus.gazetteer import Lexicon, read_lexicon
from gridner.errors import UsageError
from gridner.inference.checkpoint import read_checkpoint
from gridner.inference.recognizer import Recognizer

SHIPPED = Path(__file__).parents[1] / "models" / "craft"


def load(
    model: str | Path | None = None, *, threads: int | None = None, lexicon: str | Path | None = None, **decoding: Any
) -> Recognizer:
    """A recognizer on a model, with its own decoding settings but for those given (such as `threshold=0.3`).

    Without a folder it is the model that comes with gridner: cells, biological processes and diseases in English.
    `lexicon` is a file of names beside those that the model has, a type, a tab and a name a line; with "none" it uses
    no names at all.
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
        return trained.recognizer(**decoding)
    from gridner.inference.onnx_engine import OnnxEngine

    settings = replace(checkpoint.config.decoding, **decoding)
    engine = OnnxEngine(Path(model), threads=threads)
    one_label = checkpoint.config.model.architecture == "w2ner"
    return Recognizer(
        engine, pieces, checkpoint.scheme, settings, one_label, checkpoint.calibration, checkpoint.lexicon
    )
