import pytest
import torch

from gridner.config import ModelConfig
from gridner.loss import cell_loss
from gridner.model.affine import with_one
from gridner.model.build import build as build_from_config
from gridner.model.fold import Folded, fold
from gridner.model.toe import Batch, Toe
from gridner.tags import TAG_SETS, TagScheme, TagSet
from test_toe import EVERY, SETTINGS, Setting, assert_alone_as_together, build, collate, sentence


def assert_same_scores(model: Toe, batch: Batch) -> None:
    found, expected = fold(model)(batch), model(batch)
    assert found.shape == expected.shape
    for row, n in enumerate(batch.lengths.tolist()):
        torch.testing.assert_close(found[row, :n, :n], expected[row, :n, :n], atol=1e-9, rtol=0)


@EVERY
@torch.no_grad()
def test_the_folded_network_gives_the_same_scores(name: str) -> None:
    assert_same_scores(build(SETTINGS[name]), collate([sentence(words, seed=words) for words in (7, 1, 4, 7)]))


@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize("words", [1, 15, 16, 17])
@torch.no_grad()
def test_any_number_of_rounds_and_words_is_the_same(rounds: int, words: int) -> None:
    assert_same_scores(build(Setting(rounds=rounds)), collate([sentence(words, seed=3), sentence(1, seed=4)]))


@torch.no_grad()
def test_words_that_are_far_apart_are_the_same() -> None:
    words = 290
    pieces = [1, *(3 + word % 37 for word in range(words)), 2]
    assert_same_scores(build(Setting(rounds=2)), collate([(pieces, [[1 + word] for word in range(words)])]))


@pytest.mark.parametrize("tags", TAG_SETS)
@torch.no_grad()
def test_any_tag_set_is_the_same(tags: TagSet) -> None:
    labels = TagScheme(("Sign", "Drug"), tags).labels
    language_model = build(Setting()).encoder.language_model
    config = ModelConfig(tags=tags, width=8, heads=2, channels=4, maps=2, map_width=3, hidden=5, biaffine=6)
    model = build_from_config(config, language_model=language_model, labels=len(labels)).double().eval()
    assert_same_scores(model, collate([sentence(6, seed=1), sentence(3, seed=2)]))


@EVERY
def test_a_sentence_alone_and_among_neighbours_has_the_same_scores(name: str) -> None:
    assert_alone_as_together(fold(build(SETTINGS[name])), (1, 5, 17, 2))


@EVERY
def test_training_on_does_not_change_it(name: str) -> None:
    model = build(SETTINGS[name])
    batch = collate([sentence(5, seed=1)])
    folded = fold(model)
    before = folded(batch)
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scores = model(batch)
    cell_loss(scores, torch.zeros_like(scores, dtype=torch.bool), batch.lengths).backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    assert torch.equal(folded(batch), before)
    model.eval()
    assert not torch.allclose(fold(model)(batch), before)


def test_it_has_no_dropout_and_nothing_to_train() -> None:
    model = build(Setting(), dropout=0.5).train()
    batch = collate([sentence(5, seed=1)])
    folded = fold(model)
    assert torch.equal(folded(batch), folded(batch))
    assert not any(parameter.requires_grad for parameter in folded.parameters())
    assert model.training


class Tagger(torch.nn.Module):
    def __init__(self, folded: Folded) -> None:
        super().__init__()
        self.folded = folded

    def forward(self, words: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        return self.folded.tag(words, lengths)


def words_of(lengths: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(sum(lengths))
    words = torch.randn(len(lengths), max(lengths), 12, dtype=torch.double, generator=random)
    return with_one(words), torch.tensor(lengths)


@pytest.mark.parametrize("name", ["toe", "w2ner"])
@torch.no_grad()
def test_what_follows_the_words_can_be_exported_for_any_shape(name: str) -> None:
    folded = fold(build(SETTINGS[name]), portable=True)
    size, most = torch.export.Dim("size", min=2), torch.export.Dim("most", min=2)
    shapes = {0: size, 1: most}, {0: size}
    exported = torch.export.export(Tagger(folded), words_of([6, 4]), dynamic_shapes=shapes).module()
    for lengths in ([3, 20, 2], [17, 18], [2, 2, 2, 2]):
        found, expected = exported(*words_of(lengths)), folded.tag(*words_of(lengths))
        for row, n in enumerate(lengths):
            torch.testing.assert_close(found[row, :n, :n], expected[row, :n, :n], atol=1e-10, rtol=0)
