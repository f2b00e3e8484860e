"""The paper's loss: cross-entropy for any number of tags a cell, with the threshold y_0 = 0."""

from __future__ import annotations

import torch
from torch import Tensor


def cell_loss(scores: Tensor, gold: Tensor, lengths: Tensor) -> Tensor:
    """The sum of the loss over the real cells; divide it by their number, sum of lengths².

    Scores and gold are [B, n, n, labels], gold boolean. For a cell with scores y and gold tags P the loss is
    log(1 + Σ_{l ∉ P} e^{y_l}) + log(1 + Σ_{l ∈ P} e^{−y_l}).
    """
    real = torch.arange(scores.shape[1], device=scores.device) < lengths.unsqueeze(1)
    cells = real.unsqueeze(1) & real.unsqueeze(2)
    y, tags = scores[cells], gold[cells]  # [real cells, labels]
    absent = torch.cat((y.masked_fill(tags, -torch.inf), y.new_zeros(len(y), 1)), dim=-1).logsumexp(dim=-1)
    tagged = tags.any(dim=-1)  # elsewhere the second term is log 1
    wrong = (-y[tagged]).masked_fill(~tags[tagged], -torch.inf)
    present = torch.cat((wrong, y.new_zeros(len(wrong), 1)), dim=-1).logsumexp(dim=-1)
    return absent.sum() + present.sum()
