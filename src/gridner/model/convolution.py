"""The convolution module: word pairs by conditional layer normalization, positions, MLP_1, dilated convolutions.

Equations 3 to 5 of the paper, for B sentences of at most n words. A grid is [B, n, n, width]: row i is the subject
word, column j the object word.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

DISTANCES = 20  # of E^wp: 0 for padding, 1–9 and 10–18 for i − j by powers of two and sign, 19 for the word itself
REGIONS = 3  # of E^gp: padding, upper triangle, lower triangle with the diagonal
FARTHEST = 256  # distance in words; larger ones share its bucket


class Convolution(nn.Module):
    """Subject and object words [B, n, width] → the grid Q [B, n, n, channels × dilations]."""

    bucket_of: Tensor
    region_of: Tensor

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
        buckets = [distance_bucket(distance) for distance in range(-FARTHEST, FARTHEST + 1)]
        self.register_buffer("bucket_of", torch.tensor(buckets), persistent=False)
        regions = [0] + [2] * 9 + [1] * 9 + [2]  # of each bucket: i > j is the lower triangle
        self.register_buffer("region_of", torch.tensor(regions), persistent=False)
        nn.init.zeros_(self.gain.weight)
        nn.init.ones_(self.gain.bias)
        nn.init.zeros_(self.bias.weight)
        nn.init.zeros_(self.bias.bias)

    def forward(self, subjects: Tensor, objects: Tensor, positions: Tensor, grid_mask: Tensor) -> Tensor:
        """Return Q [B, n, n, channels × dilations].

        `subjects` and `objects` are [B, n, width], `positions` [B, n] the words' positions in the sentence, `grid_mask`
        [B, n, n] is true for real cells.
        """
        channel_mask = grid_mask.unsqueeze(1).to(subjects.dtype)  # [B, 1, n, n]
        pairs = functional.gelu(self._mlp_of_pairs(subjects, objects, positions))  # C, Eq. 4
        cells = pairs.permute(0, 3, 1, 2) * channel_mask
        outputs = []
        for convolution in self.dilated:
            output = functional.gelu(convolve(convolution, cells))  # Eq. 5
            if self.chained:
                cells = output = output * channel_mask
            outputs.append(output)
        return torch.cat(outputs, dim=1).permute(0, 2, 3, 1)

    def _mlp_of_pairs(self, subjects: Tensor, objects: Tensor, positions: Tensor) -> Tensor:
        """Return the linear layer of MLP_1 on [V; E^wp; E^gp], with 2-D dropout before it: [B, n, n, channels].

        V_ij = gain_i ⊙ norm(h_j) + bias_i (Eq. 3). The layer is linear and 2-D dropout keeps or drops a channel of the
        whole grid, so gain, bias and the two position tables are dropped and multiplied before they meet: only the
        first product needs all pairs.
        """
        width = subjects.shape[-1]
        keep = self.dropout(subjects.new_ones(subjects.shape[0], 1, self.mlp.in_features))
        widths = [width, self.distances.embedding_dim, self.regions.embedding_dim]
        weights, keeps = torch.split(self.mlp.weight, widths, dim=1), torch.split(keep, widths, dim=2)
        normed = functional.layer_norm(objects, (width,))
        gain, bias = self.gain(subjects) * keeps[0], self.bias(subjects) * keeps[0]  # [B, n, width]
        pairs = (gain.unsqueeze(2) * normed.unsqueeze(1)) @ weights[0].T  # [B, n, n, channels]
        by_region = (self.regions.weight[self.region_of] * keeps[2]) @ weights[2].T  # [B, DISTANCES, channels]
        by_distance = (self.distances.weight * keeps[1]) @ weights[1].T + by_region
        by_subject = (bias @ weights[0].T + self.mlp.bias).unsqueeze(2)  # [B, n, 1, channels]
        total: Tensor = pairs + self._look_up(by_distance, positions) + by_subject
        return total

    def _look_up(self, by_distance: Tensor, positions: Tensor) -> Tensor:
        """Return the rows of [B, DISTANCES, channels] for the distance i − j of each cell: [B, n, n, channels]."""
        distances = positions.unsqueeze(2) - positions.unsqueeze(1)
        buckets = self.bucket_of[distances.clamp(-FARTHEST, FARTHEST) + FARTHEST]  # [B, n, n]
        sentences = torch.arange(by_distance.shape[0], device=by_distance.device)[:, None, None]
        return functional.embedding(buckets + sentences * DISTANCES, by_distance.flatten(0, 1))


def convolve(convolution: nn.Module, cells: Tensor) -> Tensor:
    """Return the convolution of cells [B, channels, n, n], in float32 on a CPU.

    On a CPU, torch's bf16 gradients of dilated convolutions are wrong.
    """
    if torch.is_autocast_enabled("cpu"):
        with torch.autocast("cpu", enabled=False):
            return convolve(convolution, cells.float())
    result: Tensor = convolution(cells)
    return result


def distance_bucket(distance: int) -> int:
    """Return the bucket of E^wp, from 1 to 19, for a distance i − j."""
    if distance == 0:
        return 19
    power = min(9, abs(distance).bit_length())
    return power if distance > 0 else power + 9
