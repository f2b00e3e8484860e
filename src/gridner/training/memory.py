"""Two settings of the machine that cost a training on a CPU most of its time where they are wrong."""

from __future__ import annotations

import ctypes

import torch

TRIM_THRESHOLD, TOP_PAD, MMAP_MAX = -1, -2, -4  # the names that mallopt(3) has for them


def prepare_cpu() -> None:
    """Call it before torch starts its threads, which take over how numbers are rounded."""
    torch.set_flush_denormal(True)  # moments of AdamW that fade away; on them a processor is many times slower
    keep_memory()


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
