"""Candidate words: a small head says which words can be part of an entity, and the grid is built over these alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

HIDDEN = 64
START_THRESHOLD = 0.01  # probability of a candidate, until one is chosen on dev
RANDOM_SHARE = 0.05  # of the other words that are candidates in training, so that the network sees easy ones as well
MOST_SHARE = 0.5  # of a sentence's words that are candidates in training beside those of entities; bounds the memory
NOISE = 1.0  # deviation of the random part of a word's rank where there are more
FIRST = 1000.0  # added to the rank of words that are to be candidates


class CandidateHead(nn.Module):
    """Word vectors → the log-odds that a word is part of an entity, for each group of types.

    `offset` has the log-odds at which a word becomes a candidate: one number, or one for each of several groups. It is
    chosen on dev and belongs to the weights.
    """

    offset: Tensor

    def __init__(self, *, width: int, groups: int = 1) -> None:
        super().__init__()
        self.hidden = nn.Linear(width, HIDDEN)
        self.out = nn.Linear(HIDDEN, groups)
        start = math.log(START_THRESHOLD / (1 - START_THRESHOLD))
        self.register_buffer("offset", torch.full((groups,) if groups > 1 else (), start))

    def forward(self, words: Tensor) -> Tensor:
        """Words H [B, n, width] give log-odds [B, n, groups]."""
        odds: Tensor = self.out(functional.gelu(self.hidden(words)))
        return odds

    def excess(self, log_odds: Tensor) -> Tensor:
        """Return how far the log-odds [B, n, groups] exceed the offset in the group where they do most [B, n]."""
        if log_odds.shape[-1] == 1:
            return log_odds.squeeze(-1) - self.offset
        return (log_odds - self.offset).amax(dim=-1)


class Candidates(NamedTuple):
    """The candidate words of one sentence."""

    words: Tensor  # H of the candidates [m, width]
    positions: Tensor  # their places in the sentence [m], ascending


class Group(NamedTuple):
    """The candidates of B sentences, at most m each, padded with zeros."""

    words: Tensor  # [B, m, width]
    positions: Tensor  # [B, m]
    counts: Tensor  # [B]


def each_sentence(words: Tensor, chosen: Tensor) -> Iterator[Candidates]:
    """Yield the chosen words [B, n] of H [B, n, width], sentence by sentence."""
    for row, mask in zip(words, chosen, strict=True):
        positions = mask.nonzero().squeeze(1)
        yield Candidates(row[positions], positions)


def group(sentences: Sequence[Candidates]) -> Group:
    """Put sentences into one batch."""
    counts = torch.tensor([len(one.positions) for one in sentences], device=sentences[0].words.device)
    words = pad_sequence([one.words for one in sentences], batch_first=True)
    return Group(words, pad_sequence([one.positions for one in sentences], batch_first=True), counts)


@torch.no_grad()
def choose_for_training(excess: Tensor, gold: Tensor, mask: Tensor) -> Tensor:
    """Return which words [B, n] are candidates in training: those of entities, hard ones and some at random.

    `excess` [B, n] is how far the log-odds exceed the offset, `gold` says which words are part of an entity, `mask`
    which are real. Every sentence has at least one candidate, and of words outside entities at most `MOST_SHARE`.
    """
    wanted = (excess > 0) | (torch.rand_like(excess) < RANDOM_SHARE)
    priority = excess + NOISE * torch.randn_like(excess) + FIRST * wanted
    rank = priority.masked_fill(gold | ~mask, -torch.inf).argsort(dim=1, descending=True).argsort(dim=1)
    most = (mask.sum(dim=1) * MOST_SHARE).ceil().unsqueeze(1)
    others = (wanted & (rank < most)) | ((rank == 0) & ~gold.any(dim=1, keepdim=True))
    return (gold | others) & mask
