"""The tag representation embedding module: the grid in tag space, and its feedback to the words. Equations 6 to 11."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn


class Words(NamedTuple):
    """Words in their two roles, each [B, n, width]."""

    subjects: Tensor
    objects: Tensor


class Trem(nn.Module):
    """Q → TF, and TF → the next round's subjects and objects. With one round there is no feedback."""

    def __init__(self, *, grid_width: int, width: int, maps: int, map_width: int, heads: int, feedback: bool) -> None:
        super().__init__()
        self.maps = nn.Linear(grid_width, maps * map_width)  # M_num maps, concatenated
        self.subject = Feedback(tag_width=maps * map_width, width=width, heads=heads) if feedback else None
        self.object = Feedback(tag_width=maps * map_width, width=width, heads=heads) if feedback else None

    def forward(self, grid: Tensor) -> Tensor:
        """Q [B, n, n, grid_width] in tag space: TF [B, n, n, maps × map_width], Eq. 6 and 7."""
        tags: Tensor = self.maps(grid)
        return tags

    def feedback(self, tags: Tensor, words: Words, mask: Tensor) -> Words:
        """The next round's words from TF, the words of Eq. 2, and which words are real [B, n]."""
        if self.subject is None or self.object is None:
            raise RuntimeError("a module of one round has no feedback")
        over_objects = masked_max(tags, mask.unsqueeze(1), dim=2)
        over_subjects = masked_max(tags, mask.unsqueeze(2), dim=1)
        return Words(self.subject(over_objects, words.subjects, mask), self.object(over_subjects, words.objects, mask))


def masked_max(grid: Tensor, mask: Tensor, *, dim: int) -> Tensor:
    """The maximum of a grid [B, n, n, width] over the words of one dimension that are real, [B, n, width]."""
    return grid.masked_fill(~mask.unsqueeze(-1), torch.finfo(grid.dtype).min).amax(dim=dim)


class Feedback(nn.Module):
    """From pooled tags to words of one role."""

    def __init__(self, *, tag_width: int, width: int, heads: int) -> None:
        super().__init__()
        self.recover = nn.Linear(tag_width, width)
        self.tags_attend = Attention(width=width, heads=heads)
        self.words_attend = Attention(width=width, heads=heads)
        self.norm = nn.LayerNorm(width)

    def forward(self, pooled: Tensor, words: Tensor, mask: Tensor) -> Tensor:
        """Pooled tags [B, n, tag_width], words [B, n, width] and mask [B, n] give [B, n, width]."""
        recovered = self.recover(pooled)  # H^(t), Eq. 8
        among_tags = self.tags_attend(recovered, recovered, mask)  # Eq. 9
        with_words = self.words_attend(among_tags, words, mask)  # Eq. 10
        result: Tensor = self.norm(recovered + with_words)  # Eq. 11
        return result


class Attention(nn.Module):
    """Multi-head attention over the real words of a sentence."""

    def __init__(self, *, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)

    def forward(self, queries: Tensor, keys: Tensor, mask: Tensor) -> Tensor:
        """Queries and keys [B, n, width] and the mask of the keys [B, n] give [B, n, width]."""
        size, n, width = queries.shape

        def split(words: Tensor) -> Tensor:
            return words.view(size, n, self.heads, width // self.heads).transpose(1, 2)

        query = split(self.query(queries))
        key, value = (split(part) for part in self.key_value(keys).split(width, dim=-1))
        attended = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask[:, None, None, :])
        result: Tensor = self.out(attended.transpose(1, 2).reshape(size, n, width))
        return result
