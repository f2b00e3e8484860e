"""The BiLSTM as it predicts, for `fold`: on torch, and as a node of ONNX."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional

from gridner.model.affine import with_one
from gridner.model.encoder import Encoder


class FoldedLstm(nn.Module):
    """The BiLSTM: words [n, B, hidden] and lengths [B] give H, each word with a one at its end [B, n, width + 1]."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.forwards = copy.deepcopy(encoder.forwards)
        self.backwards = copy.deepcopy(encoder.backwards)
        self.forwards.batch_first = self.backwards.batch_first = False

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Each sentence is reversed within its own length."""
        n, size, _ = words.shape
        place = torch.arange(n, device=words.device).unsqueeze(1)
        row = torch.arange(size, device=words.device)
        mirror = torch.where(place < lengths, lengths - 1 - place, place) * size + row  # [n, B], of all words
        ahead, _ = self.forwards(words)
        back, _ = self.backwards(functional.embedding(mirror, words.flatten(0, 1)))
        back = functional.embedding(mirror.T, back.flatten(0, 1))
        return torch.cat((ahead.transpose(0, 1), back, torch.ones_like(back[..., :1])), dim=-1)


class OnnxLstm(FoldedLstm):
    """The same as a node of ONNX, which knows both directions and the lengths. Past a sentence's length it gives 0."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__(encoder)
        both = (encoder.forwards, encoder.backwards)
        self.hidden = encoder.forwards.hidden_size
        names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
        weights, recurrent, *biases = (torch.stack([_iofc(one.get_parameter(name)) for one in both]) for name in names)
        self.weights = nn.Parameter(weights)
        self.recurrent = nn.Parameter(recurrent)
        self.biases = nn.Parameter(torch.cat(biases, dim=1))

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """As torch computes it, but for export."""
        if not torch.onnx.is_in_onnx_export():
            return super().forward(words, lengths)
        n, size, _ = words.shape
        (found,) = torch.onnx.ops.symbolic_multi_out(
            "LSTM",
            (words, self.weights, self.recurrent, self.biases, lengths.int()),
            {"hidden_size": self.hidden, "direction": "bidirectional"},
            dtypes=(words.dtype,),
            shapes=((n, 2, size, self.hidden),),
        )
        return with_one(found.permute(2, 0, 1, 3).flatten(2, 3))


def _iofc(weights: Tensor) -> Tensor:
    """From torch's order of the gates (input, forget, cell, output) to that of ONNX."""
    i, f, c, o = weights.chunk(4)
    return torch.cat((i, o, f, c))
