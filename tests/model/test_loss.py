import math

import numpy as np
import pytest
import torch

from gridner.model.loss import one_label_loss


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
