import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from gridner.model.loss import cell_loss, one_label_loss


def test_w2ners_loss_is_the_softmax_of_each_real_cell() -> None:
    random = np.random.default_rng(1)
    scores = random.normal(size=(2, 3, 3, 5))
    gold = random.random((2, 3, 3, 4)) < 0.2
    lengths = (3, 2)
    expected = 0.0
    for row, length in enumerate(lengths):
        for i in range(length):
            for j in range(length):
                y = scores[row, i, j]
                tags = [label for label in range(4) if gold[row, i, j, label]]
                label = tags[0] if tags else 4  # "none" comes last
                expected -= y[label] - math.log(sum(math.exp(one) for one in y))
    found = one_label_loss(torch.from_numpy(scores), torch.from_numpy(gold), torch.tensor(lengths))
    assert float(found) == pytest.approx(expected)


@pytest.mark.parametrize(("loss", "extra"), [(cell_loss, 0), (one_label_loss, 1)])
def test_labels_that_a_sentence_does_not_know_have_no_part_in_its_loss(loss: Callable[..., Tensor], extra: int) -> None:
    random = np.random.default_rng(2)
    known = torch.tensor([[True, False, True, False], [False, True, True, True]])
    scores = torch.from_numpy(random.normal(size=(2, 3, 3, 4 + extra))).requires_grad_()
    gold = torch.from_numpy(random.random((2, 3, 3, 4)) < 0.4)
    lengths = torch.tensor([3, 2])
    found = loss(scores, gold, lengths, known)
    found.backward()  # type: ignore[no-untyped-call]
    assert scores.grad is not None
    expected = 0.0
    for row in range(2):
        own = [*torch.nonzero(known[row]).flatten().tolist(), *([4] if extra else [])]
        assert not scores.grad[row, :, :, :4][..., ~known[row]].any()
        alone = scores.detach()[row : row + 1][..., own], gold[row : row + 1][..., known[row]], lengths[row : row + 1]
        expected += float(loss(*alone))
    assert float(found.detach()) == pytest.approx(expected)


@pytest.mark.parametrize(("loss", "extra"), [(cell_loss, 0), (one_label_loss, 1)])
def test_to_know_all_labels_changes_nothing(loss: Callable[..., Tensor], extra: int) -> None:
    scores, gold = torch.randn(2, 3, 3, 4 + extra), torch.rand(2, 3, 3, 4) < 0.3
    everything = torch.ones(2, 4, dtype=torch.bool)
    lengths = torch.tensor([3, 1])
    assert torch.equal(loss(scores, gold, lengths), loss(scores, gold, lengths, everything))
