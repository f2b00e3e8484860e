"""One training in one or several processes: set up Accelerate, and leave the group of processes cleanly."""

from __future__ import annotations

import atexit
import gc
import os
import warnings
from datetime import timedelta

import torch
from accelerate import Accelerator, InitProcessGroupKwargs

TIMEOUT = timedelta(hours=12)  # for processes that wait while the first one scores dev


def is_first_process() -> bool:
    """Return whether this is the first of the processes that a launcher started, or the only one."""
    return os.environ.get("RANK", "0") == "0"


def accelerator_of(device: torch.device, precision: str) -> Accelerator:
    """Return an Accelerator, which joins the group of processes if a launcher started several."""
    if os.environ.get("WORLD_SIZE", "1") != "1":
        import torch.distributed.nn.functional  # noqa: F401  # imported later, its defaults would keep the group alive
    accelerator = Accelerator(
        cpu=device.type == "cpu",
        mixed_precision=precision,
        kwargs_handlers=[InitProcessGroupKwargs(timeout=TIMEOUT)],
    )
    if accelerator.num_processes > 1:
        atexit.register(_leave_group)
        warnings.filterwarnings("ignore", message="Grad strides do not match bucket view strides")  # costs a copy
    return accelerator


def _leave_group() -> None:
    """Leave the group when the program ends. If a process just exits, the others abort.

    The group stops its threads with its last reference. A thread that frees a tensor while Python shuts down would
    crash the process.
    """
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
        gc.collect()  # the wrapped network refers to itself and to the group
