"""Models that no training made, for tests of what is done with models."""

from __future__ import annotations

import numpy as np

from gridner.config import config_from
from gridner.errors import Notes
from gridner.inference.checkpoint import Checkpoint
from gridner.model.trained_model import TrainedModel
from gridner.tagging.tags import TagScheme, TypeGroup
from gridner.training.initialization import fresh
from support.small import part, tiny_config

TYPES = ("Drug", "Sign")


def untrained(architecture: str) -> TrainedModel:
    """A network whose every weight matters and whose scores lie on both sides of 0."""
    data = tiny_config().to_dict()
    if architecture == "w2ner":
        data["model"] |= {"architecture": "w2ner", "trem": False, "tags": "NNW+THW"}
    else:
        data["model"] |= {"layers": 2, "rounds": 3, "candidates": architecture in ("candidates", "groups")}
    config = config_from(data, "tests")
    groups = (TypeGroup("a", TYPES[:2]), TypeGroup("b", TYPES[1:])) if architecture == "groups" else ()
    scheme = TagScheme(TYPES, config.model.tags, groups)
    start = fresh(config, scheme, part().sentences, seed=3, notes=Notes())
    random = np.random.default_rng(1)
    for parameter in start.model.parameters():
        noise = random.normal(0, 0.3, tuple(parameter.shape)).astype(np.float32)
        parameter.data += parameter.data.new_tensor(noise)
    if start.model.candidates is not None:
        start.model.candidates.offset.fill_(-0.1)
        if groups:
            start.model.candidates.offset[1] = 1.0
    start.model.predictor.from_object.bias.data[: len(scheme.labels)] += 6
    checkpoint = Checkpoint(
        config=config,
        types=TYPES,
        groups=groups,
        language_model=start.language_model,
        max_pieces=start.pieces.max_pieces,
        version="0.1.0",
    )
    return TrainedModel(start.model.eval(), checkpoint, start.pieces, "# A card\n")
