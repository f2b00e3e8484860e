"""Build the network from its settings, around any language model that transformers loads."""

from __future__ import annotations

from torch import nn

from gridner.config import ModelConfig
from gridner.errors import UsageError
from gridner.model.candidates import CandidateHead
from gridner.model.convolution import Convolution
from gridner.model.copredictor import CoPredictor
from gridner.model.encoder import Encoder
from gridner.model.toe import Toe
from gridner.model.trem import Trem

START_SCORE = -5.0  # of all tags: almost no cell has a tag, and a network that starts there learns sooner


def build(config: ModelConfig, *, language_model: nn.Module, labels: int, groups: int = 1) -> Toe:
    """Return a network for `labels` labels in `groups` groups of types. W2NER has one more score, for "none"."""
    available = getattr(language_model.config, "num_hidden_layers", config.layers)
    if config.layers > available:
        raise UsageError(f"model.layers is {config.layers}, expected at most {available}: the encoder has no more")
    w2ner = config.architecture == "w2ner"
    convolution_width = config.channels * len(config.dilations)
    grid_width = config.maps * config.map_width if config.trem else convolution_width
    trem = Trem(
        grid_width=convolution_width,
        width=config.width,
        maps=config.maps,
        map_width=config.map_width,
        heads=config.heads,
        dropout=config.trem_dropout,
        residual=config.residual,
        feedback=config.rounds > 1,
    )
    predictor = CoPredictor(
        grid_width=grid_width,
        width=config.width,
        hidden=config.hidden,
        biaffine=config.biaffine,
        labels=labels + w2ner,
        dropout=config.predictor_dropout,
    )
    nn.init.constant_(predictor.from_object.bias[:labels], START_SCORE)
    return Toe(
        encoder=Encoder(
            language_model=language_model, width=config.width, layers=config.layers, dropout=config.word_dropout
        ),
        candidates=CandidateHead(width=config.width, groups=groups) if config.candidates else None,
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
        predictor=predictor,
        width=config.width,
        rounds=config.rounds,
        project=not w2ner,
    )
