"""Small networks with random weights, and batches for them."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from transformers import AutoModel, BertConfig

from gridner.model.candidates import CandidateHead
from gridner.model.convolution import Convolution
from gridner.model.copredictor import CoPredictor
from gridner.model.encoder import Encoder
from gridner.model.toe import Batch, Toe
from gridner.model.trem import Residual, Trem

LABELS = 4


@dataclass(frozen=True)
class Setting:
    rounds: int = 3
    trem: bool = True
    dilations: tuple[int, ...] = (1, 2, 3)
    chained: bool = False
    project: bool = True
    layers: int = 1
    maps: int = 4
    residual: Residual = "words"
    candidates: bool = False
    groups: int = 1


SETTINGS = {
    "toe": Setting(),
    "one round": Setting(rounds=1),
    "four rounds": Setting(rounds=4),
    "two dilations": Setting(rounds=2, dilations=(1, 2)),
    "six maps": Setting(rounds=2, maps=6),
    "mean of layers": Setting(rounds=1, layers=2),
    "eq. 11 on the tags": Setting(residual="tags"),
    "candidates": Setting(candidates=True),
    "candidates of three groups": Setting(candidates=True, groups=3),
    "without trem": Setting(trem=False),
    "w2ner": Setting(trem=False, chained=True, project=False),
    "w2ner with candidates": Setting(trem=False, chained=True, project=False, candidates=True),
}


def build(setting: Setting, dropout: float = 0.0) -> Toe:
    torch.manual_seed(1)
    width, channels, map_width = 12, 6, 3
    config = BertConfig(
        vocab_size=40,
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
    )
    trem = Trem(
        grid_width=channels * len(setting.dilations),
        width=width,
        maps=setting.maps,
        map_width=map_width,
        heads=3,
        dropout=dropout,
        residual=setting.residual,
        feedback=setting.rounds > 1,
    )
    model = Toe(
        encoder=Encoder(
            language_model=AutoModel.from_config(config, add_pooling_layer=False),  # type: ignore[no-untyped-call]
            width=width,
            layers=setting.layers,
            dropout=dropout,
        ),
        candidates=CandidateHead(width=width, groups=setting.groups) if setting.candidates else None,
        convolution=Convolution(
            width=width,
            distance_width=5,
            region_width=4,
            channels=channels,
            dilations=setting.dilations,
            dropout=dropout,
            chained=setting.chained,
        ),
        trem=trem if setting.trem else None,
        predictor=CoPredictor(
            grid_width=setting.maps * map_width if setting.trem else channels * len(setting.dilations),
            width=width,
            hidden=7,
            biaffine=5,
            labels=LABELS,
            dropout=dropout,
        ),
        width=width,
        rounds=setting.rounds,
        project=setting.project,
    ).double()
    with torch.no_grad():  # no weight may stay where its part of the network is silent
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
        model.eval()
        if model.candidates is not None:  # about half of the words
            odds = model.candidates(model.encoder(*collate([sentence(7, seed=3)])))
            model.candidates.offset.copy_(odds.mean() if setting.groups == 1 else odds.amax(dim=(0, 1)) - 0.05)
    return model


def sentence(words: int, seed: int) -> tuple[list[int], list[list[int]]]:
    """Pieces, and the places of each word's pieces."""
    random = np.random.default_rng(seed)
    pieces, places = [1], []
    for _ in range(words):
        count = int(random.integers(1, 4))
        places.append(list(range(len(pieces), len(pieces) + count)))
        pieces += random.integers(3, 40, size=count).tolist()
    return [*pieces, 2], places


def collate(sentences: list[tuple[list[int], list[list[int]]]]) -> Batch:
    p = max(len(pieces) for pieces, _ in sentences)
    n = max(len(words) for _, words in sentences)
    m = max(len(word) for _, words in sentences for word in words)
    ids, mask = torch.zeros(len(sentences), p, dtype=torch.long), torch.zeros(len(sentences), p, dtype=torch.bool)
    places = torch.zeros(len(sentences), n, m, dtype=torch.long)
    for row, (pieces, words) in enumerate(sentences):
        ids[row, : len(pieces)], mask[row, : len(pieces)] = torch.tensor(pieces), True
        for column, word in enumerate(words):
            places[row, column] = torch.tensor(word + word[:1] * (m - len(word)))
    return Batch(ids, mask, places, torch.tensor([len(words) for _, words in sentences]))


EVERY = pytest.mark.parametrize("name", SETTINGS)
