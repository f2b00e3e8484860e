"""Measure the decoder on sparse and dense grids, its two algorithms, and plain recursion for comparison.

    python benchmarks/decode.py

Times are CPU seconds of one core, the best of several runs. `--part` runs one of the four parts.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from gridner.tagging.decoding import SPARSE, Decoded, decode
from gridner.tagging.tags import Relations, TagScheme
from gridner.text import Mention
from measure import best, machine, table

TYPES = ("Cell", "Disease", "Process")
SCHEME = TagScheme(TYPES)
Grid = NDArray[np.float32]


def sparse_grid(random: np.random.Generator, words: int) -> tuple[Grid, set[Mention]]:
    """Return a grid of probabilities with 0 to 3 mentions above the threshold, some discontinuous, and noise below."""
    mentions = set()
    for _ in range(random.integers(0, 4)):
        size = int(random.choice([1, 2, 3, 4], p=[0.45, 0.3, 0.15, 0.1]))
        spread = size + (int(random.integers(1, 4)) if size > 1 and random.random() < 0.15 else 0)
        first = int(random.integers(0, words - spread + 1))
        inner = random.choice(np.arange(first + 1, first + spread - 1), max(0, size - 2), replace=False).tolist()
        group_types = {first, first + spread - 1, *inner}
        mentions.add(Mention(TYPES[int(random.integers(3))], tuple(sorted(group_types))))
    gold = SCHEME.encode(sorted(mentions, key=lambda mention: mention.words), words)
    scores = np.where(gold, random.uniform(0.6, 1, gold.shape), random.beta(0.3, 20, gold.shape).clip(0, 0.49))
    return scores.astype(np.float32), mentions


def sparse(runs: int) -> dict[str, Any]:
    """Measure sentences per second over 10,000 grids of 16 words, from scores to mentions."""
    random = np.random.default_rng(1)
    grids = [sparse_grid(random, 16) for _ in range(10_000)]
    empty = sum(not mentions for _, mentions in grids)
    found = [set(decode(SCHEME.relations(grid), TYPES).mentions) for grid, _ in grids]
    missed = sum(len(mentions - got) for (_, mentions), got in zip(grids, found, strict=True))
    relations = [SCHEME.relations(grid) for grid, _ in grids]
    return {
        "mentions": sum(len(mentions) for _, mentions in grids),
        "grids without mentions": empty,
        "mentions missed": missed,
        "mentions decoded": sum(map(len, found)),
        "relations, sentences/s": len(grids) / best(lambda: [SCHEME.relations(grid) for grid, _ in grids], runs),
        "decode, sentences/s": len(grids) / best(lambda: [decode(one, TYPES) for one in relations], runs),
        "both, sentences/s": len(grids)
        / best(lambda: [decode(SCHEME.relations(grid), TYPES) for grid, _ in grids], runs),
    }


def dense(runs: int) -> list[dict[str, Any]]:
    """Measure full grids of 200 words."""
    random = np.random.default_rng(1)
    shape = (200, 200, len(SCHEME.labels))
    grids = {
        "all ones": np.ones(shape, dtype=np.float32),
        "random in (0.5, 1)": random.uniform(0.5001, 1, shape).astype(np.float32),
    }
    results = []
    for name, grid in grids.items():
        found = decode(SCHEME.relations(grid), TYPES)
        seconds = best(partial(decode, SCHEME.relations(grid), TYPES), runs)
        left_out = {"capped cells": found.capped_cells, "capped mentions": found.capped_mentions}
        results.append({"grid": name, "seconds": seconds, "mentions": len(found.mentions), **left_out})
    return results


def random_relations(random: np.random.Generator, words: int, density: float) -> Relations:
    """Return links and ends of one type, each present with probability `density`."""
    held = random.random((words, words, 2)) < density
    scores = np.where(held, random.uniform(0.51, 1, held.shape), 0.1).astype(np.float32)
    return Relations(links=scores[:, :, :1], ends=scores[:, :, 1:])


def decode_all(grids: list[Relations]) -> list[Decoded]:
    """Decode one grid after another."""
    return [decode(grid, TYPES) for grid in grids]


def crossover(runs: int) -> list[dict[str, Any]]:
    """Compare walking and sweeping over lengths and densities, and the bound that chooses between them."""
    random = np.random.default_rng(1)
    results = []
    for words in (8, 16, 32, 64, 128, 200):
        for density in (0.005, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8):
            grids = [random_relations(random, words, density) for _ in range(max(2, 400 // words))]
            load = float(np.mean([_load(one) for one in grids]))
            seconds = {}
            for way, bound in (("walk", float("inf")), ("sweep", -1.0), ("chosen", float(SPARSE))):
                with patch("gridner.tagging.decoding.SPARSE", bound):
                    seconds[way] = best(partial(decode_all, grids), runs)
            one = {way: time / len(grids) for way, time in seconds.items()}
            results.append({"words": words, "density": density, "load": load, **one})
    return results


def _load(relations: Relations) -> float:
    links = np.triu(relations.links[:, :, 0] > 0.5, 1).sum()
    tails = (np.triu(relations.ends[:, :, 0] > 0.5)).any(axis=0).sum()
    return float(links * tails / len(relations.links))


def enumerate_paths(relations: Relations, threshold: float = 0.5) -> int:
    """Count the paths from each head to its tail by plain recursion."""
    words = len(relations.links)
    after = [[m for m in range(i + 1, words) if relations.links[i, m, 0] > threshold] for i in range(words)]

    def walk(word: int, tail: int) -> int:
        return 1 if word == tail else sum(walk(m, tail) for m in after[word] if m <= tail)

    ends = ((i, j) for i in range(words) for j in range(i, words) if relations.ends[i, j, 0] > threshold)
    return sum(walk(head, tail) for head, tail in ends)


def growth(runs: int) -> list[dict[str, Any]]:
    """Compare plain recursion and the decoder on full grids of one type."""
    results = []
    for words in range(8, 19, 2):
        relations = Relations(np.ones((words, words, 1), np.float32), np.ones((words, words, 1), np.float32))
        seconds = {
            "recursion": best(partial(enumerate_paths, relations), runs),
            "decode": best(partial(decode, relations, TYPES), runs),
        }
        results.append({"words": words, "paths": enumerate_paths(relations), **seconds})
    return results


PARTS: dict[str, Callable[[int], Any]] = {"sparse": sparse, "dense": dense, "crossover": crossover, "growth": growth}


def show(value: float) -> str:
    """Format a number for a table."""
    if isinstance(value, str | int):
        return f"{value:,}" if isinstance(value, int) else value
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the decoder.")
    parser.add_argument("--part", choices=PARTS, action="append", help="run this part only; may be repeated")
    parser.add_argument("--runs", type=int, default=3, help="runs of each timing; the best one counts (default: 3)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of Markdown")
    options = parser.parse_args()
    results = {name: PARTS[name](options.runs) for name in options.part or PARTS}
    if options.json:
        print(json.dumps({"machine": machine(), "SPARSE": SPARSE, **results}, indent=2))
        return
    print(f"{machine()}\n\nTimes in seconds where nothing else is said. decode.SPARSE is {SPARSE}.")
    for name, found in results.items():
        rows = found if isinstance(found, list) else [found]
        print(f"\n{name}: {(PARTS[name].__doc__ or '').strip()}\n")
        print(table(list(rows[0]), [[show(cell) for cell in row.values()] for row in rows]))


if __name__ == "__main__":
    main()
