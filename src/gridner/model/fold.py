"""The network as it predicts: the scores of `Toe`, up to rounding, from fewer and smaller matrix products.

Linear maps in a row are one matrix, what the rounds share is computed once, TREM's two roles go through one product.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional

from gridner.model.affine import Affine, OfParts, accumulate, diagonal, linear, with_one
from gridner.model.convolution import Convolution, positions
from gridner.model.copredictor import CoPredictor
from gridner.model.encoder import Encoder
from gridner.model.fold_lstm import FoldedLstm, OnnxLstm
from gridner.model.fold_trem import FoldedFeedback
from gridner.model.toe import Batch, Toe

PARTS = 4  # of the pair tensor's channels, one after another: less memory, and more of it in the cache
FARTHEST = 256  # words apart; the distances beyond share its bucket


@torch.no_grad()
def fold(model: Toe, *, portable: bool = False) -> Folded:
    """The network for prediction, with weights of its own: it stays as it is when the model is trained on.

    If `portable` it is for export: nothing is done for torch's sake alone, and nothing depends on a shape.
    """
    return Folded(model, portable).eval().requires_grad_(False)


class Folded(nn.Module):
    """All of `Toe`. The words of Eq. 2 never appear: what is made of them is made of H."""

    def __init__(self, model: Toe, portable: bool) -> None:
        super().__init__()
        bias = model.convolution.gain.bias
        same = diagonal(torch.ones_like(bias), torch.zeros_like(bias))
        subjects, objects = (
            same if layer is None else linear(layer)
            for layer in (model.to_subjects, model.to_objects)  # Eq. 2
        )
        trem, hidden = model.trem, linear(model.predictor.grid_hidden)
        parts = 1 if portable and not model.convolution.chained else len(model.convolution.dilated)
        self.words = FoldedEncoder(model.encoder, portable)
        self.objects = None if model.to_objects is None else objects.matrix()
        self.gains = gains(model.convolution, subjects)
        self.grid = FoldedConvolution(model.convolution, portable)
        if trem is not None:
            hidden = linear(trem.maps).then(hidden)
        self.hidden = OfParts(hidden, parts=parts, portable=portable)  # MLP_2's first layer
        self.predictor = FoldedPredictor(model.predictor, subjects, objects)
        self.feedbacks = 0
        if trem is not None and trem.subject is not None and trem.object is not None:
            roles, norm = (trem.subject, trem.object), trem.subject.norm
            self.feedbacks = model.rounds - 1
            self.tags = OfParts(linear(trem.maps), parts=parts, portable=portable)
            self.feedback = FoldedFeedback(roles, (subjects, objects), portable)
            self.next_gains = gains(model.convolution, diagonal(norm.weight, norm.bias))

    def forward(self, batch: Batch) -> Tensor:
        """Scores [B, n, n, labels]; those of cells past a sentence's length mean nothing."""
        return self.tag(self.words(batch), batch.lengths)

    def tag(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Scores from word vectors H, each with a one at its end [B, n, width + 1]."""
        real = torch.arange(words.shape[1], device=words.device) < lengths.unsqueeze(1)  # [B, n]
        cells = (real.unsqueeze(1) & real.unsqueeze(2)).unsqueeze(-1)  # [B, n, n, 1]
        inside, places = cells.to(words.dtype), self.grid.places(words.shape[1])
        objects = words[..., :-1] if self.objects is None else words @ self.objects
        q = self.grid(words @ self.gains, objects, places, inside)
        nothing = torch.zeros_like(inside)
        if self.feedbacks:
            outside = nothing.masked_fill(~cells, -torch.inf)  # added, it hides padding from a maximum
            keys = self.feedback.keys(words, real)
            for _ in range(self.feedbacks):
                subjects, objects = self.feedback(self.tags(q, outside), keys, real)
                q = self.grid(with_one(subjects) @ self.next_gains, objects, places, inside)
        scores: Tensor = self.predictor(self.hidden(q, nothing), words)
        return scores


class FoldedEncoder(nn.Module):
    """Eq. 1, with whole rows picked rather than elements, and the BiLSTM's words first in time."""

    def __init__(self, encoder: Encoder, portable: bool) -> None:
        super().__init__()
        self.layers = encoder.layers
        self.language_model = copy.deepcopy(encoder.language_model)
        self.context = OnnxLstm(encoder) if portable else FoldedLstm(encoder)

    def forward(self, batch: Batch) -> Tensor:
        """Words H, each with a one at its end [B, n, width + 1]."""
        every = self.language_model(
            input_ids=batch.pieces, attention_mask=batch.piece_mask.long(), output_hidden_states=self.layers > 1
        )
        states = (
            torch.stack(every.hidden_states[-self.layers :]).mean(dim=0) if self.layers > 1 else every.last_hidden_state
        )
        row = torch.arange(states.shape[0], device=states.device)
        rows = batch.word_pieces.transpose(0, 1) + (row * states.shape[1]).unsqueeze(1)  # [n, B, m], of all pieces
        words = functional.embedding(rows, states.flatten(0, 1)).amax(dim=2)  # [n, B, width of the language model]
        context: Tensor = self.context(words, batch.lengths)
        return context


def gains(convolution: Convolution, before: Affine) -> nn.Parameter:
    """From words to CLN's gain and, behind it, CLN's bias after MLP_1; the words first go through `before`."""
    weight = linear(convolution.mlp).weight[: convolution.gain.in_features]
    bias = linear(convolution.bias).then(Affine(weight, torch.zeros_like(weight[0])))
    return before.then(linear(convolution.gain).beside(bias)).matrix()


class FoldedConvolution(nn.Module):
    """Equations 3 to 5."""

    def __init__(self, convolution: Convolution, portable: bool) -> None:
        super().__init__()
        self.portable = portable
        self.width = convolution.gain.in_features
        widths = [self.width, convolution.distances.embedding_dim, convolution.regions.embedding_dim]
        mlp = linear(convolution.mlp)
        pairs, distances, regions = torch.split(mlp.weight, widths)
        bucket, region = (each[FARTHEST] for each in positions(2 * FARTHEST + 1, pairs.device))  # i − j: 256 to −256
        by_distance, by_region = convolution.distances.weight @ distances, convolution.regions.weight @ regions
        self.places_of = nn.Parameter(by_distance[bucket] + by_region[region] + mlp.bias)
        self.pairs = nn.ParameterList(part.T.clone() for part in self._chunks(pairs.T))
        self.dilated = copy.deepcopy(convolution.dilated)
        self.chained = convolution.chained

    def _chunks(self, x: Tensor) -> tuple[Tensor, ...]:
        return (x,) if self.portable else x.chunk(PARTS, dim=-1)

    def places(self, n: int) -> Tensor:
        """What E^wp, E^gp and the bias of MLP_1 give for the cells of n words [n, n, channels]."""
        place = torch.arange(n, device=self.places_of.device)
        return functional.embedding((place - place.unsqueeze(1)).clamp(-FARTHEST, FARTHEST) + FARTHEST, self.places_of)

    def forward(self, gains: Tensor, objects: Tensor, places: Tensor, inside: Tensor) -> Iterator[Tensor]:
        """Gains [B, n, width + channels], objects [B, n, width], inside [B, n, n, 1] give Q, a dilation at a time."""
        size, n, _ = objects.shape
        gain, bias = gains[..., : self.width], gains[..., self.width :]
        normed = functional.layer_norm(objects, (self.width,))
        total = (places + bias.unsqueeze(2)).flatten(1, 2)
        for g, o, weight in zip(self._chunks(gain), self._chunks(normed), self.pairs, strict=True):
            v = g.unsqueeze(2) * o.unsqueeze(1)  # Eq. 3, but for the bias
            total = accumulate(total, v.flatten(1, 2), weight, portable=self.portable)
        c = functional.gelu(total).view(size, n, n, -1).mul_(inside)  # Eq. 4
        if self.portable and not self.chained:
            q = torch.cat([convolution(c.permute(0, 3, 1, 2)) for convolution in self.dilated], dim=1)
            yield functional.gelu(q).permute(0, 2, 3, 1)
            return
        for convolution in self.dilated:
            output = functional.gelu(convolution(c.permute(0, 3, 1, 2))).permute(0, 2, 3, 1)  # Eq. 5
            if self.chained:
                c = output = output * inside
            yield output


class FoldedPredictor(nn.Module):
    """Equations 12 to 14, after MLP_2's first layer."""

    def __init__(self, predictor: CoPredictor, subjects: Affine, objects: Affine) -> None:
        """`subjects` and `objects` make Eq. 2's words of H."""
        super().__init__()
        self.grid_out = copy.deepcopy(predictor.grid_out)
        self.subject = subjects.then(linear(predictor.subject)).matrix()
        self.object = objects.then(linear(predictor.object)).matrix()
        self.bilinear = Affine(predictor.bilinear.weight.T, predictor.from_object.weight.flatten()).matrix()
        self.from_subject = Affine(predictor.from_subject.weight.T, predictor.from_object.bias).matrix()

    def forward(self, hidden: Tensor, words: Tensor) -> Tensor:
        """Hidden [B, n, n, hidden] and H with ones [B, n, width + 1] give scores [B, n, n, labels]."""
        size, n, _ = words.shape
        s = with_one(functional.gelu(words @ self.subject))  # [B, n, biaffine + 1]
        o = functional.gelu(words @ self.object)
        rows = (s @ self.bilinear).view(size, -1, o.shape[-1])  # [B, i × label, biaffine]
        products = torch.baddbmm((s @ self.from_subject).view(size, -1, 1), rows, o.transpose(1, 2))
        by_grid: Tensor = self.grid_out(functional.gelu(hidden))
        return by_grid + products.view(size, n, -1, n).transpose(2, 3)
