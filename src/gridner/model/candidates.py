"""Candidate words: a small head chooses the words that may be part of an entity, and the grid has only these."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

HIDDEN = 64
START_THRESHOLD = 0.01  # probability that makes a word a candidate, until dev gives a better one
RANDOM_SHARE = 0.05  # of the other words are candidates in training, so that the network sees easy words too
MOST_SHARE = 0.5  # of a sentence's words, at most, are candidates outside entities in training; bounds the memory
NOISE = 1.0  # standard deviation of the noise on priorities, where a sentence has more than that
WANTED_BONUS = 1000.0  # added to the priority of wanted words, so that they come first


class CandidateHead(nn.Module):
    """Word vectors → the log-odds that a word is part of an entity, for each group of types.

    `offset` is the log-odds above which a word is a candidate: a scalar, or [groups] if there are several groups. It is
    tuned on dev and saved with the weights.
    """

    offset: Tensor

    def __init__(self, *, width: int, groups: int = 1) -> None:
        super().__init__()
        self.hidden = nn.Linear(width, HIDDEN)
        self.out = nn.Linear(HIDDEN, groups)
        start = math.log(START_THRESHOLD / (1 - START_THRESHOLD))
        self.register_buffer("offset", torch.full((groups,) if groups > 1 else (), start))

    def forward(self, words: Tensor) -> Tensor:
        """Return log-odds [B, n, groups] of the words H [B, n, width]."""
        log_odds: Tensor = self.out(functional.gelu(self.hidden(words)))
        return log_odds

    def excess(self, log_odds: Tensor) -> Tensor:
        """Return by how much the log-odds [B, n, groups] exceed the offset, the most of all groups: [B, n]."""
        if log_odds.shape[-1] == 1:
            return log_odds.squeeze(-1) - self.offset
        return (log_odds - self.offset).amax(dim=-1)


class Candidates(NamedTuple):
    """The candidate words of one sentence."""

    words: Tensor  # [m, width], their H
    positions: Tensor  # [m], their positions in the sentence, ascending


class PaddedCandidates(NamedTuple):
    """The candidates of B sentences, at most m each, padded with zeros."""

    words: Tensor  # [B, m, width]
    positions: Tensor  # [B, m]
    counts: Tensor  # [B]


def candidates_by_sentence(words: Tensor, chosen: Tensor) -> Iterator[Candidates]:
    """Yield the candidates of each sentence: the words H [B, n, width] for which `chosen` [B, n] is true."""
    for sentence_words, sentence_chosen in zip(words, chosen, strict=True):
        positions = sentence_chosen.nonzero().squeeze(1)
        yield Candidates(sentence_words[positions], positions)


def pad_candidates(sentences: Sequence[Candidates]) -> PaddedCandidates:
    """Return sentences padded to one length."""
    return PaddedCandidates(
        words=pad_sequence([sentence.words for sentence in sentences], batch_first=True),
        positions=pad_sequence([sentence.positions for sentence in sentences], batch_first=True),
        counts=torch.tensor([len(sentence.positions) for sentence in sentences], device=sentences[0].words.device),
    )


@torch.no_grad()
def choose_for_training(excess: Tensor, gold: Tensor, word_mask: Tensor) -> Tensor:
    """Return a mask [B, n] of the candidates in training: words of entities, hard ones, and a few random ones.

    `excess` [B, n] is by how much the log-odds exceed the offset, `gold` [B, n] is true for words of entities,
    `word_mask` [B, n] for real words. A sentence has at least one candidate, and at most `MOST_SHARE` of its words
    outside entities.
    """
    wanted = (excess > 0) | (torch.rand_like(excess) < RANDOM_SHARE)
    priority = excess + NOISE * torch.randn_like(excess) + WANTED_BONUS * wanted
    rank = priority.masked_fill(gold | ~word_mask, -torch.inf).argsort(dim=1, descending=True).argsort(dim=1)
    most = (word_mask.sum(dim=1) * MOST_SHARE).ceil().unsqueeze(1)
    others = (wanted & (rank < most)) | ((rank == 0) & ~gold.any(dim=1, keepdim=True))
    return (gold | others) & word_mask
