"""The co-predictor: an MLP on the grid and a biaffine classifier on the words, added. Equations 12 to 14.

The softmax of Eq. 14 contradicts the multi-label loss and is left out: a tag is predicted where its score exceeds 0.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from gridner.model.dropout import Dropout


class CoPredictor(nn.Module):
    """Grid and words → the score of each label in each cell."""

    def __init__(self, *, grid_width: int, width: int, hidden: int, biaffine: int, labels: int, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.grid_hidden = nn.Linear(grid_width, hidden)  # MLP_2
        self.grid_out = nn.Linear(hidden, labels)
        self.subject = nn.Linear(width, biaffine)  # MLP_3
        self.object = nn.Linear(width, biaffine)  # MLP_4
        self.bilinear = nn.Linear(biaffine, labels * biaffine, bias=False)  # U: rows (label, object)
        self.from_subject = nn.Linear(biaffine, labels, bias=False)  # W, the half on s_i
        self.from_object = nn.Linear(biaffine, labels)  # W, the half on o_j, and b

    def forward(self, grid: Tensor, subjects: Tensor, objects: Tensor) -> Tensor:
        """Return scores [B, n, n, labels] of a grid [B, n, n, grid_width], subjects and objects [B, n, width]."""
        return self.by_grid(grid) + self.by_words(subjects, objects)

    def by_grid(self, grid: Tensor) -> Tensor:
        """Return the scores [B, n, n, labels] of MLP_2 on the grid [B, n, n, grid_width]."""
        scores: Tensor = self.grid_out(self.dropout(functional.gelu(self.grid_hidden(self.dropout(grid)))))
        return scores

    def by_words(self, subjects: Tensor, objects: Tensor) -> Tensor:
        """Return the scores [B, n, n, labels] of the biaffine classifier on words [B, n, width]."""
        s = self.dropout(functional.gelu(self.subject(self.dropout(subjects))))  # [B, n, biaffine]
        o = self.dropout(functional.gelu(self.object(self.dropout(objects))))
        size, n, width = o.shape
        rows = self.bilinear(s).view(size, -1, width)  # [B, i × label, biaffine]
        products = (rows @ o.transpose(1, 2)).view(size, n, -1, n).transpose(2, 3)  # [B, i, j, label]
        scores: Tensor = products + self.from_subject(s).unsqueeze(2) + self.from_object(o).unsqueeze(1)
        return scores
