"""The device and the precision of a training."""

from __future__ import annotations

import subprocess
import sys

import torch

from gridner.errors import UsageError

BF16_PRODUCT = (
    "import torch; a = torch.ones(64, 64, dtype=torch.bfloat16, requires_grad=True); (a @ a).sum().backward()"
)


def device_of(wanted: str) -> torch.device:
    """Return the device that is asked for. `auto` is a GPU if there is one, else the CPU."""
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if wanted == "auto":
        return torch.device(next(name for name, is_available in available.items() if is_available))
    if not available[wanted]:
        raise UsageError(f"train.device is {wanted}, but torch finds none here; use auto or cpu")
    return torch.device(wanted)


def precision_of(wanted: str, device: torch.device) -> str:
    """Return the precision for Accelerate. `auto` is bf16 on a GPU that has it, else fp32."""
    if wanted == "auto":
        return "bf16" if device.type == "cuda" and torch.cuda.is_bf16_supported() else "no"
    if wanted == "bf16" and device.type == "cpu" and not cpu_survives_bf16():
        raise UsageError("train.precision is bf16, but bf16 crashes on this processor; use auto or fp32")
    if (wanted == "fp16" and device.type == "cpu") or (wanted != "fp32" and device.type == "mps"):
        raise UsageError(f"train.precision is {wanted}, expected auto or fp32 on {device.type}")
    return "no" if wanted == "fp32" else wanted


def cpu_survives_bf16() -> bool:
    """Try a bf16 matrix product in a process of its own.

    Some virtual machines announce instructions that they do not let a program run, and the first product kills it.
    """
    trial = subprocess.run([sys.executable, "-c", BF16_PRODUCT], capture_output=True, check=False)  # noqa: S603
    return trial.returncode == 0
