"""The convolution module: word pairs by conditional layer normalisation, positions, MLP_1, dilated convolutions.

Equations 3 to 5 of the paper, for B sentences of at most n words. A grid is [B, n, n, width]: row i is the subject
word, column j the object word.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

DISTANCES = 20  # of E^wp: 0 for padding, 1–9 and 10–18 for i − j by powers of two and sign, 19 for the word itself
REGIONS = 3  # of E^gp: padding, upper triangle, lower triangle with the diagonal


class Convolution(nn.Module):
    """Subject and object words → the grid Q."""

    def __init__(
        self,
        *,
        width: int,
        distance_width: int,
        region_width: int,
        channels: int,
        dilations: tuple[int, ...],
        dropout: float,
        chained: bool,
    ) -> None:
        super().__init__()
        self.gain = nn.Linear(width, width)
        self.bias = nn.Linear(width, width)
        self.distances = nn.Embedding(DISTANCES, distance_width)
        self.regions = nn.Embedding(REGIONS, region_width)
        self.dropout = nn.Dropout(dropout)
        self.mlp = nn.Linear(width + distance_width + region_width, channels)
        self.dilated = nn.ModuleList(
            nn.Conv2d(channels, channels, kernel_size=3, groups=channels, dilation=dilation, padding=dilation)
            for dilation in dilations
        )
        self.chained = chained  # W2NER: each convolution reads the one before it
        nn.init.zeros_(self.gain.weight)
        nn.init.ones_(self.gain.bias)
        nn.init.zeros_(self.bias.weight)
        nn.init.zeros_(self.bias.bias)

    def forward(self, subjects: Tensor, objects: Tensor, grid_mask: Tensor) -> Tensor:
        """Subjects and objects [B, n, width] and the mask [B, n, n] give Q [B, n, n, channels × dilations]."""
        mask = grid_mask.unsqueeze(1).to(subjects.dtype)  # [B, 1, n, n]
        cells = functional.gelu(self._mlp_of_pairs(subjects, objects)).permute(0, 3, 1, 2) * mask  # C, Eq. 4
        outputs = []
        for convolution in self.dilated:
            output = functional.gelu(convolution(cells))  # Eq. 5
            if self.chained:
                cells = output = output * mask
            outputs.append(output)
        return torch.cat(outputs, dim=1).permute(0, 2, 3, 1)

    def _mlp_of_pairs(self, subjects: Tensor, objects: Tensor) -> Tensor:
        """The linear layer of MLP_1 on [V; E^wp; E^gp], with 2-D dropout before it: [B, n, n, channels].

        V_ij = gain_i ⊙ norm(h_j) + bias_i (Eq. 3). The layer is linear and 2-D dropout keeps or drops a channel of the
        whole grid, so gain, bias and the two position tables are dropped and multiplied before they meet: only the
        first product needs all pairs.
        """
        size, n, width = subjects.shape
        keep = self.dropout(subjects.new_ones(size, 1, self.mlp.in_features))
        widths = [width, self.distances.embedding_dim, self.regions.embedding_dim]
        weights, keeps = torch.split(self.mlp.weight, widths, dim=1), torch.split(keep, widths, dim=2)
        normed = functional.layer_norm(objects, (width,))
        gain, bias = self.gain(subjects) * keeps[0], self.bias(subjects) * keeps[0]  # [B, n, width]
        pairs = (gain.unsqueeze(2) * normed.unsqueeze(1)) @ weights[0].T  # [B, n, n, channels]
        distance_rows = (self.distances.weight * keeps[1]) @ weights[1].T  # [B, 20, channels]
        region_rows = (self.regions.weight * keeps[2]) @ weights[2].T  # [B, 3, channels]
        tables = torch.cat((distance_rows, region_rows), dim=1)
        distances, regions = positions(n, subjects.device)
        each = torch.stack((distances, regions + distance_rows.shape[1]), dim=-1).view(n * n, 2)
        one_hot = tables.new_zeros(n * n, tables.shape[1]).scatter_(1, each, 1.0)  # as a product: its gradient is quick
        rows = (one_hot @ tables).view(size, n, n, -1)
        total: Tensor = pairs + rows + (bias @ weights[0].T + self.mlp.bias).unsqueeze(2)
        return total


def positions(n: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """The distance bucket and the region of every real cell, each [n, n]. (Padding is masked, so it needs none.)"""
    places = torch.arange(n, device=device)
    distance = places.unsqueeze(1) - places.unsqueeze(0)  # i − j
    power = torch.zeros_like(distance)
    for exponent in range(9):
        power = power + (distance.abs() >= 2**exponent)
    buckets = torch.where(distance > 0, power, power + 9)
    return torch.where(distance == 0, torch.full_like(buckets, 19), buckets), torch.where(distance >= 0, 2, 1)
