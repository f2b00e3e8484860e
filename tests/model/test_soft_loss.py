"""The loss against teachers' probabilities, beside slow and obvious references."""

import math

import pytest
import torch
from torch.nn import functional

from gridner.model.loss import cell_loss, one_label_loss, soft_cell_loss, soft_one_label_loss

SIZES, LABELS = (4, 2), 3


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def random_grids(seed: int, *, none: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Scores, and log-odds of which about half are kept."""
    torch.manual_seed(seed)
    n = max(SIZES)
    scores = torch.randn(2, n, n, LABELS + none, dtype=torch.float64) * 3
    log_odds = torch.randn(2, n, n, LABELS, dtype=torch.float64) * 3
    log_odds[torch.rand_like(log_odds) < 0.6] = -torch.inf
    return scores, log_odds, torch.tensor(SIZES)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_soft_loss_is_the_sum_over_tags(seed: int, temperature: float) -> None:
    scores, log_odds, lengths = random_grids(seed)
    total = 0.0
    for sentence, size in enumerate(SIZES):
        for i in range(size):
            for j in range(size):
                for label in range(LABELS):
                    y, z = float(scores[sentence, i, j, label]), float(log_odds[sentence, i, j, label])
                    if z == -math.inf:
                        total -= math.log(1 - sigmoid(y))
                        continue
                    q, p = sigmoid(z / temperature), sigmoid(y / temperature)
                    total += temperature**2 * (-q * math.log(p) - (1 - q) * math.log(1 - p))
    found = soft_cell_loss(scores, log_odds, lengths, temperature=temperature)
    assert float(found) == pytest.approx(total)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_soft_loss_of_one_label_is_the_cross_entropy_of_each_cell(seed: int, temperature: float) -> None:
    scores, log_odds, lengths = random_grids(seed, none=1)
    groups = [[0, 1], [1, 2]]
    known = torch.zeros(2, LABELS, dtype=torch.bool)
    total = 0.0
    for group, own in enumerate(groups):
        known[group, own] = True
        for sentence, size in enumerate(SIZES):
            for i in range(size):
                for j in range(size):
                    z = [float(log_odds[sentence, i, j, label]) for label in own] + [0.0]
                    y = [float(scores[sentence, i, j, label]) for label in own] + [float(scores[sentence, i, j, -1])]
                    t = temperature if max(z[:-1]) > -math.inf else 1.0
                    q = [math.exp(value / t) / sum(math.exp(other / t) for other in z) for value in z]
                    p = [math.exp(value / t) / sum(math.exp(other / t) for other in y) for value in y]
                    total -= t**2 * sum(a * math.log(b) for a, b in zip(q, p, strict=True))
    found = soft_one_label_loss(scores, log_odds, lengths, temperature=temperature, known=known)
    assert float(found) == pytest.approx(total)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_soft_loss_is_least_where_the_student_says_what_the_teachers_say(temperature: float) -> None:
    log_odds = torch.tensor([[[[2.0, -1.0, 0.5]]]], dtype=torch.float64)
    lengths = torch.tensor([1])
    same = log_odds.clone().requires_grad_()
    soft_cell_loss(same, log_odds, lengths, temperature=temperature).backward()  # type: ignore[no-untyped-call]
    assert same.grad is not None
    assert same.grad.abs().max() < 1e-12
    both = functional.pad(log_odds, (0, 1)).requires_grad_()
    known = torch.ones(1, 3, dtype=torch.bool)
    soft_one_label_loss(both, log_odds, lengths, temperature=temperature, known=known).backward()  # type: ignore[no-untyped-call]
    assert both.grad is not None
    assert both.grad.abs().max() < 1e-12


def test_certain_teachers_are_like_gold() -> None:
    scores, _, lengths = random_grids(4, none=1)
    gold = torch.rand(2, 4, 4, LABELS) < 0.1
    gold[..., 1:] &= ~gold[..., :1]
    gold[..., 2] &= ~gold[..., 1]  # at most one tag a cell, as W2NER has
    log_odds = torch.where(gold, 40.0, -torch.inf).double()
    known = torch.ones(1, LABELS, dtype=torch.bool)
    soft = soft_one_label_loss(scores, log_odds, lengths, temperature=1.0, known=known)
    assert torch.allclose(soft, one_label_loss(scores, gold, lengths))
    single = soft_cell_loss(scores[..., :1], log_odds[..., :1], lengths, temperature=1.0)
    assert torch.allclose(single, cell_loss(scores[..., :1], gold[..., :1], lengths))
