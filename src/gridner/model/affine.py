"""Affine maps as values: one after another, or side by side, they are one matrix."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import NamedTuple

import torch
from torch import Tensor, nn


class Affine(NamedTuple):
    """x ↦ x @ weight + bias."""

    weight: Tensor  # [in, out]
    bias: Tensor

    def then(self, after: Affine) -> Affine:
        """Another map on what this one gives."""
        return Affine(self.weight @ after.weight, self.bias @ after.weight + after.bias)

    def beside(self, other: Affine) -> Affine:
        """Another map on the same input, its output behind this one's."""
        return Affine(torch.cat((self.weight, other.weight), dim=1), torch.cat((self.bias, other.bias)))

    def matrix(self) -> nn.Parameter:
        """The same for inputs with a one at their end: [in + 1, out]. A bias would cost a copy of the output."""
        return nn.Parameter(torch.cat((self.weight, self.bias.unsqueeze(0))))


def with_one(x: Tensor) -> Tensor:
    """[..., in] → [..., in + 1]."""
    return torch.cat((x, torch.ones_like(x[..., :1])), dim=-1)


def linear(layer: nn.Linear) -> Affine:
    """What a layer does."""
    return Affine(layer.weight.T, layer.weight.new_zeros(len(layer.weight)) if layer.bias is None else layer.bias)


def diagonal(weight: Tensor, bias: Tensor) -> Affine:
    """What the last step of a layer norm does: each channel by itself."""
    return Affine(torch.diag(weight), bias)


def accumulate(total: Tensor, x: Tensor, weight: Tensor, *, portable: bool) -> Tensor:
    """Total [B, m, out] + x [B, m, in] @ weight [in, out], in the place of the total unless `portable`.

    Torch is a fifth quicker with a product for each sentence than with one for all; exported, there is one.
    """
    return total + x @ weight if portable else total.baddbmm_(x, weight.expand(len(x), -1, -1))


class OfParts(nn.Module):
    """An affine map of a grid that comes in parts: the sum of a product for each, with no concatenation."""

    def __init__(self, whole: Affine, *, parts: int, portable: bool) -> None:
        super().__init__()
        self.weights = nn.ParameterList(part.clone() for part in whole.weight.chunk(parts))
        self.bias = nn.Parameter(whole.bias.clone())
        self.portable = portable

    def forward(self, parts: Iterable[Tensor], plus: Tensor) -> Tensor:
        """Parts [B, n, n, channels] give [B, n, n, out]; `plus` [B, n, n, 1] is added."""
        if self.portable:
            first, *others = (part @ weight for part, weight in zip(parts, self.weights, strict=True))
            total: Tensor = reduce(torch.add, others, first + self.bias) + plus
            return total
        total = (plus + self.bias).flatten(1, 2)
        for part, weight in zip(parts, self.weights, strict=True):
            total = accumulate(total, part.flatten(1, 2), weight, portable=False)
        return total.view(*plus.shape[:3], -1)
