"""Two settings of the machine that cost a training on a CPU most of its time where they are wrong."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch

TRIM_THRESHOLD, TOP_PAD, MMAP_MAX = -1, -2, -4  # the names that mallopt(3) has for them


@contextmanager
def quick(device: torch.device) -> Iterator[None]:
    """On a CPU: numbers too small to matter are zero while it lasts, and freed memory is kept.

    Moments of AdamW that fade away become such numbers, and on them a processor is many times slower. Threads take the
    rounding over from the one that starts them, so this comes before torch has any.
    """
    if device.type != "cpu":
        yield
        return
    before = sys.float_info.min / 4 == 0
    torch.set_flush_denormal(True)
    keep_memory()
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


def keep_memory() -> bool:
    """Ask glibc to keep what was freed: a step asks for the same large blocks again, and page faults cost.

    Whether it could be asked: other systems have no such thing, and need none.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    return all(
        mallopt(name, value) == 1 for name, value in ((MMAP_MAX, 0), (TRIM_THRESHOLD, 2**31 - 1), (TOP_PAD, 2**28))
    )
