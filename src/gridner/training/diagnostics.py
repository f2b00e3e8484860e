"""After each epoch, beside the dev score: tune the candidate words, and measure whether TREM's feedback works."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gridner.inference.batches import plan_encoder_batches
from gridner.inference.engine import ENCODER_BATCH_PIECES
from gridner.inference.word_pieces import PieceTokenizer
from gridner.model.candidates import CandidateHead, PaddedCandidates, candidates_by_sentence, pad_candidates
from gridner.model.masks import make_word_mask
from gridner.model.toe import Batch, Toe
from gridner.model.trem import Attention, Words
from gridner.training.examples import Example, gold_words

ROUNDING = 1e-4  # of log-odds
SAMPLE = 64  # sentences on which TREM's feedback is measured


@torch.inference_mode()
def tune_candidate_offset(
    model: Toe, head: CandidateHead, examples: Sequence[Example], pieces: PieceTokenizer, recall: float
) -> dict[str, float]:
    """Set the head's offset so that at least `recall` of the entity words are candidates, and return its cost.

    Each type group has an offset of its own, set on the examples of that group. Then all offsets rise together, as long
    as each group keeps that share of its entity words, as candidates of any group. The result has the share of words
    that are candidates, and the share of cells in their grids.
    """
    odds, gold, groups = [], [], []
    for group, batch in _batches(model, examples, pieces):
        words = model.encoder(*batch)
        word_mask = make_word_mask(words, batch.lengths)
        odds += [
            row[mask].cpu().numpy() for row, mask in zip(head(words).float(), word_mask, strict=True)
        ]  # [n, groups]
        gold += [row[: len(example.words.words)] for row, example in zip(gold_words(group), group, strict=True)]
        groups += [example.group for example in group]
    offsets = head.offset.view(-1)
    by_group = {number: [at for at, group in enumerate(groups) if group == number] for number in sorted(set(groups))}
    for number, places in by_group.items():
        positive = np.concatenate([odds[at][gold[at], number] for at in places])
        offsets[number] = float(np.nextafter(_lowest_kept(positive, recall), np.float32(-np.inf)))
    if len(by_group) > 1:  # a word may be a candidate of several groups, so all offsets can rise
        spare = [
            _lowest_kept(
                np.concatenate([(odds[at][gold[at]] - offsets.cpu().numpy()).max(axis=1) for at in places]), recall
            )
            for places in by_group.values()
        ]
        offsets += max(0.0, float(min(spare)) - ROUNDING)
    chosen = [(row > offsets.cpu().numpy()).any(axis=1) for row in odds]
    counts = np.array([[len(row), int(row.sum())] for row in chosen])
    words_share, cells_share = (
        counts[:, 1].sum() / counts[:, 0].sum(),
        (counts[:, 1] ** 2).sum() / (counts[:, 0] ** 2).sum(),
    )
    return {
        "candidate recall": float(np.concatenate([row[mask] for row, mask in zip(chosen, gold, strict=True)]).mean()),
        "candidate words": float(words_share),
        "candidate cells": float(cells_share),
    }


def _lowest_kept(positive: NDArray[np.floating], recall: float) -> np.floating:
    """Return the value that `recall` of the values reach or exceed."""
    missed = math.floor(len(positive) * (1 - recall) + 1e-9)
    lowest: np.floating = np.sort(positive)[missed]
    return lowest


@torch.inference_mode()
def feedback_health(model: Toe, examples: Sequence[Example], pieces: PieceTokenizer) -> dict[str, float]:
    """Return, for each round, how much the words of a sentence differ, and how even TREM's attention is.

    The first is the share of the words' squared length that remains after subtracting their mean: 0 if all words have
    become one vector. The second is the entropy of the attention: 1 if it is even, 0 if it has collapsed.
    """
    if model.trem is None or model.rounds == 1:
        return {}
    differ: dict[str, list[float]] = {f"variance round {number + 1}": [] for number in range(model.rounds)}
    even: dict[str, list[float]] = {"entropy tags": [], "entropy words": []}
    hooks = [
        _watch(model, f"{role}.{kind}_attend", even[f"entropy {kind}"])
        for role in ("subject", "object")
        for kind in ("tags", "words")
    ]
    try:
        for _, batch in _batches(model, examples[:SAMPLE], pieces):
            for picked in _candidates(model, batch):
                word_mask = make_word_mask(picked.words, picked.counts)
                to_subjects, to_objects = model.to_subjects, model.to_objects
                first = Words(
                    picked.words if to_subjects is None else to_subjects(picked.words),
                    picked.words if to_objects is None else to_objects(picked.words),
                )
                for name, (words, _) in zip(differ, model.each_round(first, picked.positions, word_mask), strict=True):
                    differ[name] += [share for role in words for share in _variance(role, word_mask)]
    finally:
        for hook in hooks:
            hook.remove()
    return {name: float(np.mean(values)) for name, values in (differ | even).items() if values}


def _batches(model: Toe, examples: Sequence[Example], pieces: PieceTokenizer) -> Iterator[tuple[list[Example], Batch]]:
    model.eval()
    device = model.convolution.mlp.weight.device
    sizes = [example.words.piece_count for example in examples]
    for indices in plan_encoder_batches(sizes, most=ENCODER_BATCH_PIECES):
        group = [examples[index] for index in indices]
        arrays = pieces.collate([example.words for example in group])
        yield group, Batch(*(torch.from_numpy(array).to(device) for array in arrays))


def _candidates(model: Toe, batch: Batch) -> Iterator[PaddedCandidates]:
    """Yield the candidate words of the sentences that have at least two."""
    words, excess = model.read(batch)
    chosen = (excess > 0) & make_word_mask(words, batch.lengths)
    sentences = [sentence for sentence in candidates_by_sentence(words, chosen) if len(sentence.positions) > 1]
    if sentences:
        yield pad_candidates(sentences)


def _variance(words: Tensor, word_mask: Tensor) -> list[float]:
    shares = []
    for sentence, mask in zip(words, word_mask, strict=True):
        real = sentence[mask]
        shares.append(float((real - real.mean(dim=0)).square().sum() / real.square().sum()))
    return shares


def _watch(model: Toe, name: str, found: list[float]) -> Any:
    def note(module: Attention, inputs: tuple[Tensor, Tensor, Tensor], _: Tensor) -> None:
        queries, keys, word_mask = inputs
        weights = module.weights(queries, keys, word_mask)  # [B, heads, n, n]
        entropy = -(weights * weights.clamp_min(1e-30).log()).sum(dim=-1).mean(dim=1)  # [B, n]
        even = entropy / word_mask.sum(dim=1, keepdim=True).log()
        found.append(float(even[word_mask].mean()))

    return model.get_submodule(f"trem.{name}").register_forward_hook(note)
