"""Device and precision: what a processor cannot do is refused before a training starts."""

from __future__ import annotations

import pytest
import torch

from gridner.errors import UsageError
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
