"""What the benchmarks share: the machine's name, the best of several timings, a Markdown table."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path


def machine() -> str:
    """CPU model, cores and Python version."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line.partition(":")[2] for line in info.read_text().splitlines() if line.startswith("model name")]
        model = names[0].strip() if names else model
    return f"{model}, {os.cpu_count()} cores, {platform.python_implementation()} {platform.python_version()}"


def best(run: Callable[[], object], runs: int = 3) -> float:
    """CPU seconds of the quickest of several runs; other work on the machine disturbs it least."""
    seconds = []
    for _ in range(runs):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return min(seconds)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table: first column to the left, others to the right."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
