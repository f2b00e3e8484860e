"""Helpers of the benchmarks: describe the machine, time a function, print a Markdown table."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path


def machine() -> str:
    """Return the CPU model, the number of cores and the Python version."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line.partition(":")[2] for line in info.read_text().splitlines() if line.startswith("model name")]
        model = names[0].strip() if names else model
    return f"{model}, {os.cpu_count()} cores, {platform.python_implementation()} {platform.python_version()}"


def best(run: Callable[[], object], runs: int = 3) -> float:
    """Return the CPU seconds of the fastest of several runs, which other work on the machine disturbs least."""
    seconds = []
    for _ in range(runs):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return min(seconds)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table: first column left-aligned, the others right-aligned."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
