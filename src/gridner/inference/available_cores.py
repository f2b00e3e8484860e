"""The number of cores that this process may use, which bounds threads and processes."""

from __future__ import annotations

import os

from gridner.errors import UsageError


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def at_most_cores(count: int, option: str) -> int:
    """Return the count, or the number of cores if that is less: more gains nothing, and far more stalls a machine."""
    if type(count) is not int or count < 1:
        raise UsageError(f"{option} is {count!r:.40}, expected an integer from 1")
    return min(count, usable_cores())
