"""Compare gridner's sentence splitter with others on annotated corpora.

    pip install "gridner[splitters]"
    python benchmarks/splitters.py corpus/train corpus/dev corpus/test

A boundary is the first character of a sentence that is not white space. An entity is cut if a boundary lies inside it.
Speed is CPU time of one thread over text that the process has not seen, the best of several fresh processes, because
some splitters cache texts. The script skips splitters that are not installed.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
from bisect import bisect_right
from importlib import metadata
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

from contenders import CONTENDERS, Starts, installed_size, time_fresh
from gridner import Document, read
from measure import machine, table

SPACE = re.compile(r"\s*")
UNDER_SPLIT = re.compile(r"[a-z)]\. (?=[A-Z][a-z]+ [a-z])")
BLANK_LINE = re.compile(r"(?<=\S)[^\S\n]*\n[^\S\n]*\n\s*(?=\S)")
COLUMNS = (60, 80)


def wrap(text: str, width: int) -> str:
    """Turn spaces into line ends so that lines have at most `width` characters; offsets stay the same."""
    characters = list(text)
    start, space = 0, -1
    for place, character in enumerate(text):
        if place - start >= width and space >= start:
            characters[space] = "\n"
            start = space + 1
        if character == " ":
            space = place
        elif character == "\n":
            start = place + 1
    return "".join(characters)


def boundaries(starts: Starts, text: str) -> list[int]:
    """Return where sentences after the first begin, without white space."""
    places = (match.end() for start in starts(text) if (match := SPACE.match(text, start)))
    first = len(text) - len(text.lstrip())
    return sorted({place for place in places if first < place < len(text)})


def count_cut(documents: list[Document], places: list[list[int]], *, discontinuous: bool = False) -> int:
    """Count the entities with a boundary inside."""
    count = 0
    for document, found in zip(documents, places, strict=True):
        for entity in document.entities:
            after = bisect_right(found, entity.start)
            if after < len(found) and found[after] < entity.end:
                count += len(entity.fragments) > 1 or not discontinuous
    return count


def measure(package: str, documents: list[Document], runs: int) -> dict[str, Any]:
    """Return all figures of one splitter."""
    starts = CONTENDERS[package]()
    places = [boundaries(starts, document.text) for document in documents]
    lengths = [
        len(document.text[a:b].split())
        for document, found in zip(documents, places, strict=True)
        for a, b in pairwise([0, *found, len(document.text)])
    ]
    result: dict[str, Any] = {
        "version": metadata.version(package),
        "cut": count_cut(documents, places),
        "cut discontinuous": count_cut(documents, places, discontinuous=True),
        "sentences": len(lengths),
        "words": {
            "mean": statistics.mean(lengths),
            "p95": sorted(lengths)[int(0.95 * len(lengths))],
            "max": max(lengths),
        },
    }
    for what, pattern in (("under-split", UNDER_SPLIT), ("blank lines", BLANK_LINE)):
        wanted = [{match.end() for match in pattern.finditer(document.text)} for document in documents]
        missed = sum(len(ends.difference(found)) for ends, found in zip(wanted, places, strict=True))
        result[what] = {"not split": missed, "of": sum(map(len, wanted))}
    for width in COLUMNS:
        wrapped = [boundaries(starts, wrap(document.text, width)) for document in documents]
        pairs = [(set(old), set(new)) for old, new in zip(places, wrapped, strict=True)]
        result[f"wrapped at {width}"] = {
            "cut": count_cut(documents, wrapped),
            "added": sum(len(new - old) for old, new in pairs),
            "lost": sum(len(old - new) for old, new in pairs),
        }
    texts = [document.text for document in documents]
    times = time_fresh(package, texts, runs)
    characters = sum(map(len, texts))
    result["characters/s"] = characters / times.first_pass
    result["characters/s again"] = characters / times.second_pass
    result["import s"], result["first call s"] = times.imported, times.first_call
    result["bytes"] = installed_size(package)
    return result


def show(results: dict[str, dict[str, Any]], documents: list[Document]) -> None:
    """Print three Markdown tables: cuts and lengths, wrapped text, cost."""
    entities = [entity for document in documents for entity in document.entities]
    discontinuous = sum(len(entity.fragments) > 1 for entity in entities)
    characters = sum(len(document.text) for document in documents)
    print(f"{len(documents)} documents, {characters:,} characters, {len(entities):,} entities", end=", ")
    print(f"{discontinuous:,} of them discontinuous;")
    probes = next(iter(results.values()))
    print(f"{probes['under-split']['of']:,} places of the under-splitting probe", end=", ")
    print(f"{probes['blank lines']['of']:,} blank lines.\n")

    def share(count: int, of: int) -> str:
        return f"{count:,} ({count / max(1, of):.2%})"

    head = ["splitter", "entities cut", "discontinuous cut", "sentences", "words: mean", "p95", "max"]
    rows = [
        [f"{name} {found['version']}", share(found["cut"], len(entities))]
        + [share(found["cut discontinuous"], discontinuous), f"{found['sentences']:,}"]
        + [f"{found['words']['mean']:.1f}", found["words"]["p95"], found["words"]["max"]]
        + [share(found[what]["not split"], found[what]["of"]) for what in ("under-split", "blank lines")]
        for name, found in results.items()
    ]
    head += ["under-split", "blank lines missed"]
    print(table(head, rows), end="\n\n")
    columns = [(width, what) for width in COLUMNS for what in ("cut", "added", "lost")]
    head = ["splitter", *(f"{width}: {'entities ' * (what == 'cut')}{what}" for width, what in columns)]
    rows = [
        [name, *(f"{found[f'wrapped at {width}'][what]:,}" for width, what in columns)]
        for name, found in results.items()
    ]
    print(table(head, rows), end="\n\n")
    ours = results["gridner"]["characters/s"]
    head = [
        "splitter",
        "M characters/s",
        "of gridner's",
        "same text again",
        "import, ms",
        "first call, ms",
        "size, MB",
    ]
    rows = [
        [name, f"{found['characters/s'] / 1e6:.2f}", f"{found['characters/s'] / ours:.2f}"]
        + [f"{found['characters/s again'] / 1e6:.2f}"]
        + [f"{found[f'{what} s'] * 1e3:.0f}" for what in ("import", "first call")]
        + [f"{found['bytes'] / 1e6:.2f}"]
        for name, found in results.items()
    ]
    print(table(head, rows))


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare gridner's sentence splitter with others.")
    parser.add_argument("corpus", nargs="+", type=Path, help="corpora with entities, counted together")
    parser.add_argument("--format", default="auto", help="format of the corpora (default: guessed from the path)")
    parser.add_argument("--runs", type=int, default=3, help="runs of each timing; the best one counts (default: 3)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of Markdown")
    options = parser.parse_args()
    documents = [document for path in options.corpus for document in read(path, options.format)]
    results, missing = {}, []
    for package in CONTENDERS:
        if find_spec(package) is None:
            missing.append(package)
        else:
            results[package] = measure(package, documents, options.runs)
    if options.json:
        print(json.dumps({"machine": machine(), "results": results, "not installed": missing}, indent=2))
        return
    print(f"{machine()}\n")
    show(results, documents)
    for package in missing:
        print(f"\n{package}: skipped, not installed; pip install 'gridner[splitters]'")


if __name__ == "__main__":
    main()
