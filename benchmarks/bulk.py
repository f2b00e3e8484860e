"""Measure bulk prediction in one process, in several processes, and on Ray with one and two workers.

    python benchmarks/bulk.py corpus/dev --format brat --sentences 100000 --words 16

Each sentence is a document, and the corpus is repeated until there are enough. The first row is one process with all
threads, the default of `gridner predict`. Ratios compare with one process and one thread of the same run.
"""

from __future__ import annotations

import argparse
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import cycle, islice
from pathlib import Path

from gridner import Document, Notes, read
from gridner.inference.parallel import PredictionTask, predict_in_processes
from gridner.text import align
from measure import machine, table


def documents_of(corpus: Path, format: str, count: int, words: int | None) -> list[Document]:
    """Return `count` sentences, each as a document of at most `words` words."""
    sentences = [
        document.text[one.start : one.words[:words][-1].end]
        for document in read(corpus, format)
        for one in align(document).sentences
    ]
    return [Document(f"s{number}", text) for number, text in enumerate(islice(cycle(sentences), count))]


def seconds(run: Callable[[], Iterable[Document]]) -> tuple[float, float, int]:
    """Return the seconds until the first document, the seconds for the others, and the number of entities."""
    began = time.perf_counter()
    answers = iter(run())
    entities = len(next(answers).entities)
    first = time.perf_counter()
    entities += sum(len(document.entities) for document in answers)
    return first - began, time.perf_counter() - first, entities


def on_ray(documents: list[Document], workers: int) -> Iterator[Document]:
    """Predict with Ray Data and a pool of recognizers."""
    from gridner.integrations import ray as gridner_ray

    dataset = gridner_ray.from_documents(documents)
    return gridner_ray.to_documents(
        gridner_ray.predict(dataset, PredictionTask(threads=1), workers=workers), notes=Notes(), batch_size=512
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--format", default="auto")
    parser.add_argument("--sentences", type=int, default=100_000)
    parser.add_argument("--words", type=int, help="cut sentences after this many words (default: do not cut)")
    parser.add_argument("--no-ray", action="store_true")
    options = parser.parse_args()
    documents = documents_of(options.corpus, options.format, options.sentences, options.words)
    cores = os.cpu_count() or 1
    runs: dict[str, Callable[[], Iterable[Document]]] = {
        f"one process, {cores} threads": lambda: PredictionTask().predict(
            PredictionTask().load(), documents, notes=Notes()
        ),
        "one process, 1 thread": lambda: PredictionTask(threads=1).predict(
            PredictionTask(threads=1).load(), documents, notes=Notes()
        ),
        f"{cores} processes": lambda: predict_in_processes(
            PredictionTask(threads=1), documents, workers=cores, notes=Notes()
        ),
    }
    if not options.no_ray:
        from gridner.integrations.ray import connect

        connect()
        logging.getLogger("ray").setLevel(logging.ERROR)
        runs |= {f"Ray, {n} worker{'s' * (n > 1)}": lambda n=n: on_ray(documents, n) for n in (1, 2)}  # type: ignore[misc]
    print(f"{machine()}; {len(documents):,} sentences.\n", flush=True)
    rows, speeds, found = [], {}, set()
    for name, run in runs.items():
        start, rest, entities = seconds(run)
        speeds[name] = len(documents) / (start + rest)
        base = speeds.get("one process, 1 thread", speeds[name])
        found.add(entities)
        rows.append([name, f"{start:.0f}", f"{speeds[name]:,.1f}", f"{speeds[name] / base:.2f}", f"{entities:,}"])
        print(f"{name}: {speeds[name]:,.1f} sentences/s", flush=True)
    rows[0][3] = f"{speeds[next(iter(speeds))] / speeds['one process, 1 thread']:.2f}"
    columns = ["", "until the first, s", "sentences/s", "of one thread", "entities"]
    print(f"\n{table(columns, rows)}")
    if len(found) > 1:
        print(f"\nThey do not agree: {found}")


if __name__ == "__main__":
    main()
