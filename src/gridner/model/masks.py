"""Masks of a padded batch, true for what is real: of words [B, n] and of the cells of the grid [B, n, n]."""

from __future__ import annotations

import torch
from torch import Tensor


def make_word_mask(words: Tensor, lengths: Tensor) -> Tensor:
    """Return the mask [B, n] of the words [B, n, …], of which the first `lengths` [B] are real."""
    return torch.arange(words.shape[1], device=words.device) < lengths.unsqueeze(1)


def make_grid_mask(word_mask: Tensor) -> Tensor:
    """Return the mask [B, n, n] of the cells of a grid whose words have the mask [B, n]."""
    return word_mask.unsqueeze(1) & word_mask.unsqueeze(2)
