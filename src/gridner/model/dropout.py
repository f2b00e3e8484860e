"""Dropout whose mask a CPU draws quickly; torch draws a number of 53 bits for each element, one after another."""

from __future__ import annotations

import torch
from torch import Tensor, nn

BITS = 16


class Dropout(nn.Dropout):
    """`nn.Dropout` with a probability in steps of 2⁻¹⁶, four elements from one draw of 64 bits."""

    def forward(self, x: Tensor) -> Tensor:
        """Drop elements at random and scale the others, so that the expectation stays."""
        dropped = round(self.p * 2**BITS)
        if not self.training or not dropped:
            return x
        if x.device.type != "cpu":
            return super().forward(x)
        count = x.numel()
        draws = torch.empty(-(-count // 4), dtype=torch.int64).random_(-(2**63), None).view(torch.int16)
        kept = draws[:count].view(x.shape) >= dropped - 2 ** (BITS - 1)
        scale: Tensor = kept.to(x.dtype) * (2**BITS / (2**BITS - dropped))
        return x * scale


def quicken(model: nn.Module) -> None:
    """Replace every `nn.Dropout` of a model by this one."""
    for parent in list(model.modules()):
        for name, child in parent.named_children():
            if type(child) is nn.Dropout:
                setattr(parent, name, Dropout(child.p))
