"""Measure how fast each format is read, how fast documents are aligned and scored, and the memory of reading.

    python benchmarks/read.py corpus/train

The script first writes the corpus in each format to a temporary folder. Times are CPU seconds, the best of several
runs. Peak memory is that of a fresh process that reads the corpus once, and ten copies of it with other ids.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from gridner import FORMATS, Document, Notes, evaluate, read, write
from gridner.text import align
from measure import best, machine, table

COPIES = 10
SUFFIXES = {"jsonl": ".jsonl", "w2ner": ".json", "inline": ".inline"}
# VmHWM belongs to the process alone. ru_maxrss does not: a child starts with its parent's peak.
_PEAK = """import sys
from gridner import read
documents = read(sys.argv[1], sys.argv[2])
kept = list(documents) if sys.argv[3] == "keep" else [sum(1 for _ in documents)] if sys.argv[3] == "stream" else []
status = open("/proc/self/status").read()
print(status.partition("VmHWM:")[2].split()[0])"""


def copies(documents: list[Document], times: int) -> Iterator[Document]:
    """Yield copies of the documents with other ids."""
    for number in range(times):
        for document in documents:
            yield replace(document, id=f"{number}-{document.id}")


def peak(path: Path, format: str, how: str) -> float | None:
    """Return the peak MB of a process that reads (stream), keeps all documents (keep) or only starts (start)."""
    if not Path("/proc/self/status").exists():
        return None
    command = [sys.executable, "-c", _PEAK, str(path), format, how]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return int(done.stdout) / 1024


def measure_format(documents: list[Document], format: str, folder: Path, runs: int) -> dict[str, Any]:
    """Write, read and time one format."""
    one = folder / f"one{SUFFIXES.get(format, '')}"
    many = folder / f"many{SUFFIXES.get(format, '')}"
    notes = Notes()
    write(documents, one, format, notes=notes)
    write(copies(documents, COPIES), many, format)
    found = list(read(one, format))
    seconds = best(lambda: sum(1 for _ in read(one, format)), runs)
    return {
        "documents": len(found),
        "entities": sum(len(document.entities) for document in found),
        "characters": sum(len(document.text) for document in found),
        "seconds": seconds,
        "not carried": {what: count for what, count, _ in notes},
        "peak MB": {
            "start": peak(one, format, "start"),
            "once": peak(one, format, "stream"),
            f"{COPIES} times": peak(many, format, "stream"),
            f"{COPIES} times, kept": peak(many, format, "keep"),
        },
    }


def measure_work(documents: list[Document], runs: int) -> dict[str, dict[str, Any]]:
    """Time `align`, and `evaluate` with the corpus against itself."""
    size = {
        "documents": len(documents),
        "entities": sum(len(document.entities) for document in documents),
        "characters": sum(len(document.text) for document in documents),
    }
    return {
        "align": size | {"seconds": best(lambda: [align(document) for document in documents], runs)},
        "evaluate": size | {"seconds": best(lambda: evaluate(documents, documents), runs)},
    }


def show(results: dict[str, dict[str, Any]]) -> None:
    """Return a table of speed and one of memory."""
    head = ["work", "documents", "documents/s", "million characters/s", "entities/s", "seconds"]
    rows = []
    for name, found in results.items():
        rates = {what: found[what] / found["seconds"] for what in ("documents", "characters", "entities")}
        row = [f"read {name}" if name in FORMATS else name, f"{found['documents']:,}", f"{rates['documents']:,.0f}"]
        rows.append([*row, f"{rates['characters'] / 1e6:.2f}", f"{rates['entities']:,.0f}", f"{found['seconds']:.3f}"])
    print(table(head, rows), end="\n\n")
    memory = {name: found["peak MB"] for name, found in results.items() if "peak MB" in found}
    head = ["peak memory, MB", *next(iter(memory.values()))]
    rows = [
        [name, *("unknown" if value is None else f"{value:.1f}" for value in found.values())]
        for name, found in memory.items()
    ]
    print(table(head, rows))
    for name, found in results.items():
        for what, count in found.get("not carried", {}).items():
            print(f"\n{name}: written with {count:,} × {what}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Time reading, aligning and scoring; measure the memory of reading.")
    parser.add_argument("corpus", nargs="+", type=Path, help="corpora with entities, measured together")
    parser.add_argument("--format", default="auto", help="format of the corpora (default: guessed from the path)")
    parser.add_argument("--runs", type=int, default=3, help="runs of each timing; the best one counts (default: 3)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of Markdown")
    options = parser.parse_args()
    documents = [document for path in options.corpus for document in read(path, options.format)]
    results: dict[str, dict[str, Any]] = {}
    for format in FORMATS:
        with tempfile.TemporaryDirectory() as folder:
            results[format] = measure_format(documents, format, Path(folder), options.runs)
    results |= measure_work(documents, options.runs)
    if options.json:
        print(json.dumps({"machine": machine(), "results": results}, indent=2))
        return
    print(f"{machine()}\n")
    show(results)


if __name__ == "__main__":
    main()
