"""The tag representation embedding module (TREM): the grid in tag space and its feedback to the words. Eq. 6 to 11."""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from gridner.model.dropout import Dropout

Residual = Literal["words", "tags"]


class Words(NamedTuple):
    """The words in their two roles, H_s and H_o, each [B, n, width]."""

    subjects: Tensor
    objects: Tensor


class Trem(nn.Module):
    """Q → TF, and TF → the subjects and objects of the next round. With `feedback=False` it has only the first part."""

    def __init__(
        self,
        *,
        grid_width: int,
        width: int,
        maps: int,
        map_width: int,
        heads: int,
        dropout: float,
        residual: Residual,
        feedback: bool,
    ) -> None:
        super().__init__()
        self.maps = nn.Linear(grid_width, maps * map_width)  # M_num maps, concatenated
        role = FeedbackToWords if residual == "words" else FeedbackToTags
        tag_width = maps * map_width
        self.subject = role(tag_width=tag_width, width=width, heads=heads, dropout=dropout) if feedback else None
        self.object = role(tag_width=tag_width, width=width, heads=heads, dropout=dropout) if feedback else None

    def forward(self, grid: Tensor) -> Tensor:
        """Return TF [B, n, n, maps × map_width], the grid Q [B, n, n, grid_width] in tag space. Eq. 6 and 7."""
        tags: Tensor = self.maps(grid)
        return tags

    def feedback(self, tags: Tensor, before: Words, first: Words, word_mask: Tensor) -> Words:
        """Return the words of the next round.

        `tags` is TF [B, n, n, maps × map_width], `before` has the words that entered this round, `first` those of
        Eq. 2, and `word_mask` [B, n] is true for real words.
        """
        if self.subject is None or self.object is None:
            raise RuntimeError("a TREM with one round has no feedback")
        over_objects = masked_max(tags, word_mask.unsqueeze(1), dim=2)
        over_subjects = masked_max(tags, word_mask.unsqueeze(2), dim=1)
        return Words(
            self.subject(over_objects, before.subjects, first.subjects, word_mask),
            self.object(over_subjects, before.objects, first.objects, word_mask),
        )


def masked_max(grid: Tensor, mask: Tensor, *, dim: int) -> Tensor:
    """Return the maximum [B, n, width] of a grid [B, n, n, width] over the real words of dimension `dim`."""
    return grid.masked_fill(~mask.unsqueeze(-1), torch.finfo(grid.dtype).min).amax(dim=dim)


class FeedbackToWords(nn.Module):
    """Pooled tags → the words of one role: adds a correction to the words that entered the round.

    A learned vector scales the correction. It starts at 0, so that training begins with uncorrected words.
    """

    def __init__(self, *, tag_width: int, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.recover = nn.Linear(tag_width, width)
        self.tags_attend = Attention(width=width, heads=heads)
        self.tags_norm = nn.LayerNorm(width)
        self.words_attend = Attention(width=width, heads=heads)
        self.words_norm = nn.LayerNorm(width)
        self.norm = nn.LayerNorm(width)
        self.scale = nn.Parameter(torch.zeros(width))
        self.dropout = Dropout(dropout)

    def forward(self, pooled: Tensor, before: Tensor, first: Tensor, word_mask: Tensor) -> Tensor:
        """Return the words of the next round [B, n, width].

        Pooled tags are [B, n, tag_width], the words `before` this round and the `first` ones of Eq. 2 [B, n, width].
        """
        recovered = self.recover(pooled)  # Eq. 8
        attended = self.tags_attend(recovered, recovered, word_mask)  # Eq. 9
        among_tags = self.tags_norm(recovered + self.dropout(attended))
        attended = self.words_attend(among_tags, first, word_mask)  # Eq. 10
        with_words = self.words_norm(among_tags + self.dropout(attended))
        result: Tensor = self.norm(before) + self.scale * self.dropout(with_words)  # Eq. 11
        return result


class FeedbackToTags(nn.Module):
    """The other reading of Eq. 11, for comparison: the residual is on the recovered tags, not on the words."""

    def __init__(self, *, tag_width: int, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.recover = nn.Linear(tag_width, width)
        self.tags_attend = Attention(width=width, heads=heads)
        self.words_attend = Attention(width=width, heads=heads)
        self.norm = nn.LayerNorm(width)
        self.dropout = Dropout(dropout)

    def forward(self, pooled: Tensor, before: Tensor, first: Tensor, word_mask: Tensor) -> Tensor:  # noqa: ARG002
        """Return the words of the next round [B, n, width]; `before` is not used."""
        recovered = self.recover(pooled)  # Eq. 8
        among_tags = self.dropout(self.tags_attend(recovered, recovered, word_mask))  # Eq. 9
        with_words = self.dropout(self.words_attend(among_tags, first, word_mask))  # Eq. 10
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

    def forward(self, queries: Tensor, keys: Tensor, word_mask: Tensor) -> Tensor:
        """Return [B, n, width] from queries and keys [B, n, width] and the `word_mask` [B, n] of the keys."""
        weights, value = self._weights_and_values(queries, keys, word_mask)
        attended = weights.to(value.dtype) @ value
        result: Tensor = self.out(attended.transpose(1, 2).flatten(2))
        return result

    def weights(self, queries: Tensor, keys: Tensor, word_mask: Tensor) -> Tensor:
        """Return the attention weights [B, heads, n (queries), n (keys)], for diagnostics."""
        return self._weights_and_values(queries, keys, word_mask)[0]

    def _weights_and_values(self, queries: Tensor, keys: Tensor, word_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return weights [B, heads, n, n] and values [B, heads, n, width of a head].

        In bf16 on a CPU, two products are faster than `scaled_dot_product_attention` for as few words as a grid has.
        """
        query = self._heads(self.query(queries))
        key, value = (self._heads(half) for half in self.key_value(keys).chunk(2, dim=-1))
        logits = query @ key.transpose(2, 3) / query.shape[-1] ** 0.5
        return logits.masked_fill(~word_mask[:, None, None, :], -torch.inf).softmax(dim=-1), value

    def _heads(self, words: Tensor) -> Tensor:
        return words.view(*words.shape[:2], self.heads, -1).transpose(1, 2)  # [B, heads, n, width of a head]
