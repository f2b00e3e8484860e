"""Affine maps as values: one after another, or side by side, they are one matrix."""

from __future__ import annotations

from collections.abc import Iterator
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


class OfParts(nn.Module):
    """An affine map of a grid that comes in parts: the sum of a product for each, with no concatenation."""

    def __init__(self, whole: Affine, parts: int) -> None:
        super().__init__()
        self.weights = nn.ParameterList(part.clone() for part in whole.weight.chunk(parts))
        self.bias = nn.Parameter(whole.bias.clone())

    def forward(self, parts: Iterator[Tensor], instead: Tensor | None = None) -> Tensor:
        """Parts [B, n, n, channels] give [B, n, n, out]; `instead` [B, n, n, 1] takes the place of the bias."""
        first = next(parts)
        start = self.bias if instead is None else instead.view(-1, 1)
        total = torch.addmm(start, first.flatten(0, 2), self.weights[0])
        for part, weight in zip(parts, self.weights[1:], strict=True):
            total = total.addmm_(part.flatten(0, 2), weight)
        return total.view(*first.shape[:3], -1)
