"""Device and precision: what a processor cannot do is refused before a training starts."""

from __future__ import annotations

import pytest
import torch

from gridner.errors import UsageError
from gridner.model.convolution import Convolution
from gridner.training import device
from gridner.training.device import device_of, precision_of

CPU = torch.device("cpu")


@pytest.mark.parametrize(("wanted", "precision"), [("auto", "no"), ("fp32", "no")])
def test_on_a_cpu_training_is_in_fp32_by_default(wanted: str, precision: str) -> None:
    assert precision_of(wanted, CPU) == precision


def test_bf16_on_a_cpu_follows_from_a_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "cpu_survives_bf16", lambda: True)
    assert precision_of("bf16", CPU) == "bf16"
    monkeypatch.setattr(device, "cpu_survives_bf16", lambda: False)
    with pytest.raises(UsageError, match=r"bf16 crashes on this processor; use auto or fp32"):
        precision_of("bf16", CPU)


def test_a_trial_that_crashes_does_not_take_the_process_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "BF16_PRODUCT", "import os, signal; os.kill(os.getpid(), signal.SIGILL)")
    assert not device.cpu_survives_bf16()
    monkeypatch.setattr(device, "BF16_PRODUCT", "pass")
    assert device.cpu_survives_bf16()


def test_a_missing_device_is_refused() -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(UsageError, match=r"train.device is cuda, but torch finds none here; use auto or cpu"):
        device_of("cuda")


def test_gradients_of_the_convolutions_in_bf16_are_those_in_fp32() -> None:
    if not device.cpu_survives_bf16():
        pytest.skip("bf16 crashes on this processor")
    torch.manual_seed(1)
    module = Convolution(
        width=16, distance_width=4, region_width=4, channels=80, dilations=(1, 2, 3), dropout=0.0, chained=False
    )
    for n in (16, 32):
        words, positions = torch.randn(2, n, 16), torch.arange(n).expand(2, n)
        gradients = []
        for bf16 in (False, True):
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
                module(words, words, positions, torch.ones(2, n, n, dtype=torch.bool)).float().square().sum().backward()
            gradients.append([convolution.weight.grad for convolution in module.dilated])
            module.zero_grad()
        for exact, rounded in zip(*gradients, strict=True):
            assert (exact - rounded).norm() < 0.05 * exact.norm()
