"""TREM's feedback as it predicts, for `fold`."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from gridner.model.affine import Affine, linear, with_one
from gridner.model.trem import Feedback

LEAST_KEYS = 16  # torch's attention is two to three times slower with fewer


class Keys(NamedTuple):
    """What attention reads: first for the subjects of B sentences, then for their objects."""

    key: Tensor  # [2 × B, heads, n, width of a head]
    value: Tensor
    mask: Tensor  # [2 × B, 1, 1, n]


class FoldedFeedback(nn.Module):
    """Equations 8 to 11 for subjects and objects together, as [2, B, n, …]."""

    def __init__(self, roles: tuple[Feedback, Feedback], words: tuple[Affine, Affine], portable: bool) -> None:
        """`words` make Eq. 2's words of H."""
        super().__init__()
        self.heads, self.width = roles[0].tags_attend.heads, roles[0].recover.out_features
        self.portable = portable
        kind = OnnxProducts if portable else Products
        self.of_tags = kind(_of_tags(role) for role in roles)
        self.query = kind(linear(role.tags_attend.out).then(linear(role.words_attend.query)).matrix() for role in roles)
        self.key_value = kind(
            word.then(linear(role.words_attend.key_value)).matrix() for role, word in zip(roles, words, strict=True)
        )
        self.out = kind(linear(role.words_attend.out).weight for role in roles)
        self.norm = copy.deepcopy(roles[1].norm)

    def keys(self, words: Tensor, real: Tensor) -> Keys:
        """Those of Eq. 10, the same in every round, from H with ones [B, n, width + 1]."""
        return self._keys(self.key_value(words.expand(2, -1, -1, -1)), real)

    def forward(self, tags: Tensor, keys: Keys, real: Tensor) -> tuple[Tensor, Tensor]:
        """TF [B, n, n, tags], −∞ where there is padding, gives the next round's words, each [B, n, width].

        Those of the subjects come without the last step of the layer norm, gain and bias.
        """
        width = self.width
        pooled = torch.stack((tags.amax(dim=2), tags.amax(dim=1))).masked_fill_(~real.unsqueeze(-1), 0)
        of_tags = self.of_tags(with_one(pooled))  # Eq. 8
        query, key_value, residual = torch.split(of_tags, [width, 2 * width, width], dim=-1)
        among_tags = self._attend(query, self._keys(key_value, real))  # Eq. 9
        with_words = self._attend(self.query(with_one(among_tags)), keys)  # Eq. 10
        total = self.out(with_words, plus=residual)
        subjects, objects = functional.layer_norm(total, (width,)).unbind()  # Eq. 11
        return subjects, torch.addcmul(self.norm.bias, objects, self.norm.weight)

    def _keys(self, key_value: Tensor, real: Tensor) -> Keys:
        both, mask = key_value.flatten(0, 1), real.repeat(2, 1)
        if not self.portable and real.shape[1] < LEAST_KEYS:
            more = LEAST_KEYS - real.shape[1]
            both, mask = functional.pad(both, (0, 0, 0, more)), functional.pad(mask, (0, more))
        key, value = torch.split(both, self.width, dim=-1)
        return Keys(self._heads(key), self._heads(value), mask[:, None, None, :])

    def _heads(self, words: Tensor) -> Tensor:
        return words.view(*words.shape[:2], self.heads, -1).transpose(1, 2)

    def _attend(self, query: Tensor, keys: Keys) -> Tensor:
        q = self._heads(query.flatten(0, 1))
        attended = functional.scaled_dot_product_attention(q, keys.key, keys.value, attn_mask=keys.mask)
        return attended.transpose(1, 2).reshape(query.shape)


def _of_tags(role: Feedback) -> Tensor:
    """From pooled tags to the query, key and value of Eq. 9, and the residual of Eq. 11 with the bias of Eq. 10."""
    recover = linear(role.recover)
    residual = Affine(recover.weight, recover.bias + role.words_attend.out.bias)
    attended = linear(role.tags_attend.query).beside(linear(role.tags_attend.key_value))
    return recover.then(attended).beside(residual).matrix()


class Products(nn.Module):
    """A product for the subjects and one for the objects, with weights [in, out] each, at once."""

    def __init__(self, both: Iterable[Tensor]) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.stack(list(both)))

    def forward(self, x: Tensor, plus: Tensor | None = None) -> Tensor:
        """[2, B, n, in] gives [2, B, n, out]; `plus` is added."""
        flat = x.flatten(1, 2)
        if plus is None:
            return torch.bmm(flat, self.weights).view(*x.shape[:3], -1)
        return torch.baddbmm(plus.flatten(1, 2), flat, self.weights).view(plus.shape)


class OnnxProducts(nn.Module):
    """The same one after the other, as what ONNX Runtime does in 8 bits is a product with a matrix."""

    def __init__(self, both: Iterable[Tensor]) -> None:
        super().__init__()
        self.weights = nn.ParameterList(weight.clone() for weight in both)

    def forward(self, x: Tensor, plus: Tensor | None = None) -> Tensor:
        """Likewise."""
        found = torch.stack([some @ weight for some, weight in zip(x.unbind(), self.weights, strict=True)])
        return found if plus is None else found + plus
