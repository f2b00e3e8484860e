"""Two settings of a process without which training on a CPU takes several times as long."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch

TRIM_THRESHOLD, TOP_PAD, MMAP_MAX = -1, -2, -4  # the names that mallopt(3) has for them


@contextmanager
def flush_denormals(device: torch.device) -> Iterator[None]:
    """Treat denormal numbers as zero within the context, if the device is a CPU.

    Moments of AdamW that fade away become denormal, and a processor is many times slower on them. Threads inherit this
    from the thread that starts them, so enter the context before torch starts any.
    """
    if device.type != "cpu":
        yield
        return
    before = sys.float_info.min / 4 == 0
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


def keep_freed_memory() -> bool:
    """Ask glibc to keep freed memory: a step asks for the same large blocks again, and page faults are slow.

    This is for the whole process and cannot be undone, so only commands call it. Returns whether the system took it;
    other systems than glibc have no such setting and need none.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    return all(
        mallopt(name, value) == 1 for name, value in ((MMAP_MAX, 0), (TRIM_THRESHOLD, 2**31 - 1), (TOP_PAD, 2**28))
    )
