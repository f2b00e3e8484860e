"""The network that a training starts from: around a pretrained encoder, around a tiny one, or a gridner model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from gridner.config import Config
from gridner.corpus.gazetteer import Lexicon
from gridner.errors import Notes
from gridner.inference.checkpoint import check_same_sizes
from gridner.inference.word_pieces import PieceTokenizer
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
from gridner.model.trained_model import TrainedModel
from gridner.tagging.tags import LINK_TAGS, TagScheme
from gridner.text.alignment import Sentence

OF_GROUPS = ("candidates.out", "candidates.offset")
Pairs = list[tuple[int, int]]  # numbers of the same label or group in the new and in the old network
OF_LABELS = ("predictor.grid_out", "predictor.bilinear", "predictor.from_subject", "predictor.from_object")


@dataclass(frozen=True, slots=True)
class Start:
    """A network before its first step."""

    model: Toe
    pieces: PieceTokenizer
    language_model: dict[str, Any]  # configuration of the encoder
    encoder: str  # name of the encoder
    lexicon: Lexicon = field(default_factory=Lexicon)  # gazetteer of the model that it continues


def fresh(config: Config, scheme: TagScheme, sentences: Sequence[Sentence], *, seed: int, notes: Notes) -> Start:
    """Return a new network around the encoder that the settings name."""
    torch.manual_seed(seed)
    if config.model.encoder == "tiny":
        tokenizer = tiny_tokenizer([[word.text for word in sentence.words] for sentence in sentences])
        language_model = tiny_language_model(tokenizer.get_vocab_size())
    else:
        tokenizer = load_tokenizer(config.model.encoder, notes=notes)
        language_model = load_language_model(config.model.encoder)
    pieces = PieceTokenizer(tokenizer, max_pieces=max_pieces(language_model))
    model = _built(config, scheme, language_model)
    return Start(model, pieces, language_model_config(language_model), config.model.encoder)


def continued(config: Config, scheme: TagScheme, init: Path, *, seed: int, notes: Notes) -> Start:
    """Return a network that continues a gridner model.

    Labels keep their weights by name. New labels start with new weights.
    """
    old = TrainedModel.load(init)
    check_same_sizes(old.checkpoint.config, config, where=str(init))
    torch.manual_seed(seed)
    model = _built(config, scheme, old.model.encoder.language_model)
    for name in old.checkpoint.types:
        if name not in scheme.types:
            notes.add(f"type of {init} that the training corpus does not have, dropped", name)
    before = old.checkpoint.scheme
    groups = _same_groups(before, scheme)
    labels = _same_labels(before, scheme, groups)
    no_label = int(config.model.architecture == "w2ner")  # one more label, the last
    if no_label:
        labels.append((len(scheme.labels), len(before.labels)))
    tensors = model.state_dict()
    for name, tensor in old.model.state_dict().items():
        if name.startswith(OF_LABELS):
            _copy_rows(
                tensor, tensors[name], labels, counts=(len(before.labels) + no_label, len(scheme.labels) + no_label)
            )
        elif name.startswith(OF_GROUPS):
            _copy_rows(tensor, tensors[name], groups, counts=(len(before.groups), len(scheme.groups)))
        else:
            tensors[name].copy_(tensor)
    model.load_state_dict(tensors)
    name, lexicon = old.checkpoint.config.model.encoder, old.checkpoint.lexicon
    return Start(model, old.pieces, dict(old.checkpoint.language_model), name, lexicon)


def _copy_rows(old: torch.Tensor, new: torch.Tensor, pairs: Pairs, *, counts: tuple[int, int]) -> None:
    """Copy the rows of the paired labels or groups. `counts` are the numbers of labels or groups, old and new."""
    if pairs:
        from_rows, to_rows = old.reshape(counts[0], -1), new.view(counts[1], -1)
        to_rows[[a for a, _ in pairs]] = from_rows[[b for _, b in pairs]]


def _built(config: Config, scheme: TagScheme, language_model: torch.nn.Module) -> Toe:
    labels, groups = len(scheme.labels), len(scheme.groups)
    return build(config.model, language_model=language_model, labels=labels, groups=groups)


def _same_groups(before: TagScheme, after: TagScheme) -> Pairs:
    """Return which old group each new group continues: that of its name, else the one that shares most types.

    If the old model has one group, all new groups continue it.
    """
    names = {group.name: number for number, group in enumerate(before.groups)}
    found = []
    for number, group in enumerate(after.groups):
        shared = [len(set(group.types) & set(other.types)) for other in before.groups]
        if group.name in names and group.name:
            found.append((number, names[group.name]))
        elif len(before.groups) == 1 or max(shared):
            found.append((number, shared.index(max(shared))))
    return found


def _same_labels(before: TagScheme, after: TagScheme, groups: Pairs) -> Pairs:
    """Return which old label each new label continues: links by their group, head and tail by the name of the type."""
    found = [(after.labels.index(label), place) for place, label in enumerate(before.labels) if label in after.labels]
    links = [tag for tag in LINK_TAGS if tag in after.channels]
    paired = [(after.channels[tag].start + a, before.channels[tag].start + b) for tag in links for a, b in groups]
    return list(dict.fromkeys((*found, *paired)))
