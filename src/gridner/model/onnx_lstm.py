"""The BiLSTM as a single ONNX node with both directions and sentence lengths. For export only."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gridner.model.encoder import Encoder


class PortableLstm(nn.Module):
    """Computes what `Encoder.context` does, but is 0 past the end of a sentence."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        both = (encoder.forwards, encoder.backwards)
        self.hidden = encoder.forwards.hidden_size
        names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
        weights, recurrent, *biases = (
            torch.stack([_iofc(lstm.get_parameter(name)) for lstm in both]) for name in names
        )
        self.weights = nn.Parameter(weights)
        self.recurrent = nn.Parameter(recurrent)
        self.biases = nn.Parameter(torch.cat(biases, dim=1))

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Words [B, n, width of the language model] and lengths [B] give H [B, n, width]."""
        size, n, _ = words.shape
        (found,) = torch.onnx.ops.symbolic_multi_out(
            "LSTM",
            (words.transpose(0, 1), self.weights, self.recurrent, self.biases, lengths.int()),
            {"hidden_size": self.hidden, "direction": "bidirectional"},
            dtypes=(words.dtype,),
            shapes=((n, 2, size, self.hidden),),
        )
        return found.permute(2, 0, 1, 3).flatten(2, 3)


def _iofc(weights: Tensor) -> Tensor:
    """Reorder the gates from torch's order (input, forget, cell, output) to that of ONNX."""
    i, f, c, o = weights.chunk(4)
    return torch.cat((i, o, f, c))
