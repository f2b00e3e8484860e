import pytest
import torch
from torch import nn

from gridner.model.dropout import Dropout, quicken


@pytest.mark.parametrize("p", [0.1, 0.33, 0.5, 0.9])
def test_so_many_are_dropped_and_the_mean_stays(p: float) -> None:
    torch.manual_seed(1)
    x = torch.ones(1_000_001)  # not a multiple of four
    y = Dropout(p)(x)
    assert (y == 0).float().mean().item() == pytest.approx(p, abs=0.003)
    assert y.mean().item() == pytest.approx(1, abs=0.01)
    assert len(y.unique()) == 2


def test_neighbours_are_dropped_apart() -> None:
    torch.manual_seed(1)
    dropped = (Dropout(0.5)(torch.ones(400_000)) == 0).view(-1, 4).float()
    together = torch.corrcoef(dropped.T)
    assert (together - torch.eye(4)).abs().max() < 0.01


def test_gradients_pass_where_values_do() -> None:
    x = torch.ones(100, requires_grad=True)
    y = Dropout(0.5)(x)
    y.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, y.detach())


def test_a_seed_fixes_the_mask() -> None:
    masks = []
    for _ in range(2):
        torch.manual_seed(3)
        masks.append(Dropout(0.3)(torch.ones(50)))
    assert torch.equal(*masks)


@pytest.mark.parametrize("x", [torch.ones(0), torch.ones(2, 3, dtype=torch.float64)])
def test_any_shape_and_type_is_kept(x: torch.Tensor) -> None:
    y = Dropout(0.5)(x)
    assert (y.shape, y.dtype) == (x.shape, x.dtype)


def test_prediction_drops_nothing() -> None:
    x = torch.ones(10)
    assert torch.equal(Dropout(0.5).eval()(x), x)
    assert torch.equal(Dropout(0.0)(x), x)


def test_every_plain_dropout_of_a_model_is_made_quick() -> None:
    inner = nn.Sequential(nn.Dropout(0.4), nn.Dropout2d(0.1))
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.2), inner)
    quicken(model)
    assert [type(child) for child in model] == [nn.Linear, Dropout, nn.Sequential]
    assert [type(child) for child in inner] == [Dropout, nn.Dropout2d]
    assert inner[0].p == 0.4
