"""The paper's loss, cross-entropy for any number of tags per cell with the threshold y_0 = 0; W2NER's; candidates'.

Each has a soft form, against the probabilities of teachers instead of gold tags.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from gridner.model.masks import make_grid_mask, make_word_mask


def cell_loss(scores: Tensor, gold: Tensor, lengths: Tensor, known: Tensor | None = None) -> Tensor:
    """Return the loss summed over the real cells; divide it by their number, the sum of lengths².

    Scores and gold are [B, n, n, labels], gold boolean. For a cell with scores y and gold tags P the loss is
    log(1 + Σ_{l ∉ P} e^{y_l}) + log(1 + Σ_{l ∈ P} e^{−y_l}). Where a sentence says nothing about some labels, `known`
    [B, labels] says which it knows; the others are in neither sum.
    """
    grid_mask = make_grid_mask(make_word_mask(scores, lengths))
    y, tags = scores[grid_mask], gold[grid_mask]  # [real cells, labels]
    left_out = tags
    if known is not None:
        known_labels = _known_in_cells(known, grid_mask)
        tags, left_out = tags & known_labels, tags | ~known_labels
    absent = torch.cat((y.masked_fill(left_out, -torch.inf), y.new_zeros(len(y), 1)), dim=-1).logsumexp(dim=-1)
    tagged = tags.any(dim=-1)  # elsewhere the second term is log 1
    wrong = (-y[tagged]).masked_fill(~tags[tagged], -torch.inf)
    present = torch.cat((wrong, y.new_zeros(len(wrong), 1)), dim=-1).logsumexp(dim=-1)
    return absent.sum() + present.sum()


def one_label_loss(scores: Tensor, gold: Tensor, lengths: Tensor, known: Tensor | None = None) -> Tensor:
    """Return W2NER's softmax cross-entropy, summed over the real cells.

    Scores are [B, n, n, labels + 1], the last for "none". A cell with several tags (two types on the same head and
    tail) keeps the first: one label is all that this architecture can say. `known` is as for `cell_loss`: the softmax
    is over the known labels and "none".
    """
    grid_mask = make_grid_mask(make_word_mask(scores, lengths))
    y, tags = scores[grid_mask], gold[grid_mask]
    if known is not None:
        known_labels = _known_in_cells(known, grid_mask)
        tags = tags & known_labels
        y = torch.cat((y[:, :-1].masked_fill(~known_labels, -torch.inf), y[:, -1:]), dim=-1)
    labels = torch.where(tags.any(dim=-1), tags.int().argmax(dim=-1), tags.shape[-1])
    return functional.cross_entropy(y, labels, reduction="sum")


def soft_cell_loss(scores: Tensor, log_odds: Tensor, lengths: Tensor, *, temperature: float) -> Tensor:
    """Return the sum over the real cells of the loss against teachers' probabilities; divide it as for `cell_loss`.

    Scores y are [B, n, n, labels]. `log_odds` z, of the same shape, are those of the teachers' probabilities; −∞ where
    the probability was too small to be kept. With the temperature T, q = σ(z / T) and u = y / T, a tag has the loss

        T² · (−q log σ(u) − (1 − q) log(1 − σ(u)))    where the teachers say something, least at y = z
        −log(1 − σ(y))                                elsewhere, the paper's loss of one absent tag

    T² keeps the size of the gradients, whatever the temperature is.
    """
    grid_mask = make_grid_mask(make_word_mask(scores, lengths))
    y, z = scores[grid_mask], log_odds[grid_mask]
    is_answered = z > -torch.inf
    u, q = y[is_answered] / temperature, torch.sigmoid(z[is_answered] / temperature)
    answered = functional.binary_cross_entropy_with_logits(u, q, reduction="sum")
    return temperature**2 * answered + functional.softplus(y[~is_answered]).sum()


def soft_one_label_loss(
    scores: Tensor, log_odds: Tensor, lengths: Tensor, *, temperature: float, known: Tensor
) -> Tensor:
    """Return the same for W2NER's softmax: scores are [B, n, n, labels + 1], the last for "none".

    "None" has the log-odds 0, so the target of a cell is softmax(z / T, 0), and its loss T² times the cross-entropy of
    softmax(y / T) with it. Where the teachers say nothing about a cell, the target is "none", at temperature 1.
    `known` [groups, labels] are the labels of each group of types: each group has a softmax of its own.
    """
    grid_mask = make_grid_mask(make_word_mask(scores, lengths))
    y, z = scores[grid_mask], functional.pad(log_odds[grid_mask], (0, 1))
    total = scores.new_zeros(())
    for group in known:
        labels = functional.pad(group, (0, 1), value=True)
        scores_of_group, log_odds_of_group = y[:, labels], z[:, labels]
        is_answered = (log_odds_of_group[:, :-1] > -torch.inf).any(dim=-1, keepdim=True)
        heat = torch.where(is_answered, temperature, 1.0)
        target = (log_odds_of_group / heat).softmax(dim=-1)
        total = total - (heat**2 * target * (scores_of_group / heat).log_softmax(dim=-1)).sum()
    return total


def word_loss(log_odds: Tensor, gold: Tensor, lengths: Tensor) -> Tensor:
    """Return the sum over the real words of the cross-entropy of "part of an entity".

    Both tensors are [B, n]; `gold` is boolean, or has the probabilities of teachers.
    """
    word_mask = make_word_mask(log_odds, lengths)
    y, target = log_odds[word_mask], gold[word_mask].to(log_odds.dtype)
    return functional.binary_cross_entropy_with_logits(y, target, reduction="sum")


def _known_in_cells(known: Tensor, grid_mask: Tensor) -> Tensor:
    """Return the rows of `known` [B, labels] for the real cells, [real cells, labels]."""
    return known[:, None, None].expand(*grid_mask.shape, -1)[grid_mask]
