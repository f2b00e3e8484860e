"""The allocator: glibc gives large blocks back at once, and a training asks for the same ones again in the next step."""

from __future__ import annotations

import ctypes

TRIM_THRESHOLD, TOP_PAD, MMAP_MAX = -1, -2, -4  # the names that mallopt(3) has for them


def keep_memory() -> bool:
    """Ask glibc to keep what was freed. Page faults otherwise cost a quarter of a training on a CPU and more.

    Whether it could be asked: other systems have no such thing, and need none.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    return all(
        mallopt(name, value) == 1 for name, value in ((MMAP_MAX, 0), (TRIM_THRESHOLD, 2**31 - 1), (TOP_PAD, 2**28))
    )
