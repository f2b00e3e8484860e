from typing import Any

import numpy as np
import pytest
import torch

from gridner.model.candidates import candidates_by_sentence, pad_candidates
from gridner.model.loss import cell_loss, word_loss
from gridner.model.masks import make_word_mask
from gridner.model.toe import Batch, Toe, TrainingOutput
from support import reference
from support.networks import EVERY, LABELS, SETTINGS, Setting, build, collate, sentence


def numpy_weights(model: Toe) -> dict[str, Any]:
    return {name: value.numpy() for name, value in model.state_dict().items()}


def predict(model: Toe, batch: Batch) -> tuple[list[list[int]], torch.Tensor]:
    """The candidate words of each sentence, and the scores of the grid over them."""
    words, excess = model.read(batch)
    chosen = (excess > 0) & make_word_mask(words, batch.lengths)
    sentences = list(candidates_by_sentence(words, chosen))
    return [sentence.positions.tolist() for sentence in sentences], model.tag(*pad_candidates(sentences))[-1]


@EVERY
@torch.no_grad()
def test_the_model_equals_the_reference(name: str) -> None:
    setting = SETTINGS[name]
    model = build(setting)
    pieces, words = sentence(7, seed=3)
    ids = torch.tensor([pieces])
    states = model.encoder.language_model(input_ids=ids, output_hidden_states=True).hidden_states
    weights = numpy_weights(model)
    vectors = reference.encode(weights, [layer[0].numpy() for layer in states[-setting.layers :]], words)
    places = [
        place for place, word in enumerate(vectors) if not setting.candidates or reference.is_candidate(weights, word)
    ]
    expected = reference.tag(
        weights,
        [vectors[place] for place in places],
        places,
        rounds=setting.rounds,
        dilations=setting.dilations,
        heads=3,
        trem=setting.trem,
        chained=setting.chained,
    )
    found_places, scores = predict(model, collate([(pieces, words)]))
    found = scores[0].numpy()
    assert found_places == [places]
    assert len(places) == 7 or (setting.candidates and 2 <= len(places) < 7)
    assert np.abs(found).max() > 0.1
    np.testing.assert_allclose(found, expected, atol=1e-9)


@EVERY
@torch.no_grad()
def test_a_sentence_alone_and_among_neighbours_has_the_same_scores(name: str) -> None:
    model = build(SETTINGS[name])
    sentences = [sentence(words, seed=words) for words in (1, 5, 9, 2)]
    places, together = predict(model, collate(sentences))
    for row, one in enumerate(sentences):
        if not (m := len(places[row])):
            continue  # a sentence without candidates has no grid
        alone_places, alone = predict(model, collate([one]))
        assert alone_places == [places[row]]
        torch.testing.assert_close(together[row, :m, :m], alone[0], atol=1e-10, rtol=0)


@EVERY
def test_gradients_reach_every_parameter(name: str) -> None:
    model = build(SETTINGS[name]).train()
    batch = collate([sentence(6, seed=1), sentence(4, seed=2)])
    gold_words = make_word_mask(torch.zeros(2, 6, 1), batch.lengths)  # all are candidates
    output = model([batch], [gold_words], cells=1000)
    (grid,) = output.grids
    gold = torch.rand(2, 6, 6, LABELS, generator=torch.Generator().manual_seed(0)) < 0.3
    loss = cell_loss(grid.scores[-1], gold, grid.counts)
    for log_odds in output.log_odds:
        for of_group in log_odds.unbind(dim=-1):
            loss = loss + word_loss(of_group, gold_words & (torch.arange(6) % 2 == 0), batch.lengths)
    loss.backward()  # type: ignore[no-untyped-call]
    used = [19, *range(1, 4), *range(10, 13)]  # distances that occur among six words
    for parameter_name, parameter in model.named_parameters():
        if "embeddings" in parameter_name:
            continue
        assert parameter.grad is not None, parameter_name
        grad = parameter.grad[used] if "distances" in parameter_name else parameter.grad
        grad = grad[1:] if "regions" in parameter_name else grad
        assert torch.isfinite(grad).all(), parameter_name
        if "bias_hh" not in parameter_name and "self.key.bias" not in parameter_name:  # softmax undoes a key's bias
            assert grad.abs().max() > 0, parameter_name


def test_dropout_acts_in_training_only() -> None:
    model = build(Setting(), dropout=0.5)
    batch = collate([sentence(5, seed=1)])

    def scores() -> torch.Tensor:
        output: TrainingOutput = model([batch], [torch.ones(1, 5, dtype=torch.bool)], cells=1000)
        return output.grids[0].scores

    assert torch.equal(scores(), scores())
    model.train()
    assert not torch.equal(scores(), scores())


def test_grid_dropout_keeps_or_drops_whole_channels_of_a_sentence() -> None:
    model = build(Setting(trem=False), dropout=0.5)
    convolution = model.convolution
    words = torch.randn(1, 4, 12, dtype=torch.double)
    concatenated = torch.cat(
        [
            convolution.gain(words).unsqueeze(2) * torch.nn.functional.layer_norm(words, (12,)).unsqueeze(1)
            + convolution.bias(words).unsqueeze(2),
            convolution.distances.weight[torch.tensor([[reference.bucket(i - j) for j in range(4)] for i in range(4)])][
                None
            ],
            convolution.regions.weight[torch.tensor([[2 if i >= j else 1 for j in range(4)] for i in range(4)])][None],
        ],
        dim=-1,
    )
    convolution.train()
    torch.manual_seed(5)
    found = convolution._mlp_of_pairs(words, words, torch.arange(4)[None])
    torch.manual_seed(5)
    kept = convolution.dropout(torch.ones(1, 1, concatenated.shape[-1], dtype=torch.double))
    torch.testing.assert_close(found, convolution.mlp(concatenated * kept.unsqueeze(2)))
    assert (kept == 0).any()


def test_the_loss_equals_its_double_sum() -> None:
    random = torch.Generator().manual_seed(0)
    scores = torch.randn(2, 4, 4, LABELS, dtype=torch.double, generator=random)
    gold = torch.rand(2, 4, 4, LABELS, generator=random) < 0.3
    lengths = torch.tensor([4, 2])
    expected = 0.0
    for row, n in enumerate(lengths.tolist()):
        for i in range(n):
            for j in range(n):
                positive = [float(y) for y, g in zip(scores[row, i, j], gold[row, i, j], strict=True) if g]
                negative = [float(y) for y, g in zip(scores[row, i, j], gold[row, i, j], strict=True) if not g]
                total = 1 + sum(np.exp(a - b) for a in negative for b in positive)
                total += sum(np.exp(a) for a in negative) + sum(np.exp(-b) for b in positive)
                expected += float(np.log(total))
    assert cell_loss(scores, gold, lengths).item() == pytest.approx(expected, abs=1e-10)
