"""The network that a training starts from: a pretrained encoder, a tiny one, or a gridner model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from gridner.config import Config
from gridner.corpus.gazetteer import Lexicon
from gridner.errors import Notes, UsageError
from gridner.inference.batches import Pieces
from gridner.inference.checkpoint import check_same_sizes
from gridner.model.build import build
from gridner.model.language_model import (
    language_model_config,
    load_language_model,
    load_tokenizer,
    max_pieces,
    tiny_language_model,
    tiny_tokenizer,
)
from gridner.model.toe import Toe
from gridner.model.trained import TrainedModel
from gridner.tagging.tags import TagScheme
from gridner.text.sentences import Sentence

OF_LABELS = ("predictor.grid_out", "predictor.bilinear", "predictor.from_subject", "predictor.from_object")


@dataclass(frozen=True, slots=True)
class Start:
    """A network before its first step."""

    model: Toe
    pieces: Pieces
    language_model: dict[str, Any]  # settings of the encoder
    encoder: str  # its name
    lexicon: Lexicon = field(default_factory=Lexicon)  # names that it knows already


def fresh(config: Config, scheme: TagScheme, sentences: Sequence[Sentence], *, seed: int, notes: Notes) -> Start:
    """A new network around the encoder that the settings name."""
    torch.manual_seed(seed)
    if config.model.encoder == "tiny":
        tokenizer = tiny_tokenizer([[word.text for word in sentence.words] for sentence in sentences])
        language_model = tiny_language_model(tokenizer.get_vocab_size())
    else:
        tokenizer = load_tokenizer(config.model.encoder, notes=notes)
        language_model = load_language_model(config.model.encoder)
    pieces = Pieces(tokenizer, max_pieces=max_pieces(language_model))
    model = build(config.model, language_model=language_model, labels=len(scheme.labels))
    return Start(model, pieces, language_model_config(language_model), config.model.encoder)


def continued(config: Config, scheme: TagScheme, init: Path, *, seed: int, notes: Notes) -> Start:
    """A network that goes on from a gridner model. What belongs to a label goes with its name; new labels are new."""
    old = TrainedModel.load(init)
    check_same_sizes(old.checkpoint.config, config, where=str(init))
    torch.manual_seed(seed)
    model = build(config.model, language_model=old.model.encoder.language_model, labels=len(scheme.labels))
    for name in old.checkpoint.types:
        if name not in scheme.types:
            notes.add(f"type of {init} that the training corpus does not have, dropped", name)
    before, after = _outputs(old.checkpoint.scheme, config), _outputs(scheme, config)
    shared = [(after.index(label), before.index(label)) for label in before if label in after]
    tensors = model.state_dict()
    for name, tensor in old.model.state_dict().items():
        if name.startswith(OF_LABELS):
            new = tensors[name].view(len(after), -1)
            new[[a for a, _ in shared]] = tensor.view(len(before), -1)[[b for _, b in shared]]
        else:
            tensors[name].copy_(tensor)
    model.load_state_dict(tensors)
    name, lexicon = old.checkpoint.config.model.encoder, old.checkpoint.lexicon
    return Start(model, old.pieces, dict(old.checkpoint.language_model), name, lexicon)


def _outputs(scheme: TagScheme, config: Config) -> list[str]:
    return [*scheme.labels, *(["none"] if config.model.architecture == "w2ner" else [])]


def precision_of(wanted: str, device: torch.device) -> str:
    """What Accelerate is to use. On the CPU fp32 is the only safe choice; some processors die of bf16."""
    if device.type != "cuda":
        if wanted not in ("auto", "fp32"):
            raise UsageError(f"train.precision is {wanted}, expected auto or fp32 on {device.type}")
        return "no"
    if wanted == "auto":
        return "bf16" if torch.cuda.is_bf16_supported() else "no"
    return "no" if wanted == "fp32" else wanted


def device_of(wanted: str) -> torch.device:
    """The device that is asked for, if it is there."""
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if wanted == "auto":
        return torch.device(next(name for name, is_there in there.items() if is_there))
    if not there[wanted]:
        raise UsageError(f"train.device is {wanted}, expected auto or cpu: torch finds none here")
    return torch.device(wanted)
