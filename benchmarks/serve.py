"""Measure the service under load, and the library in one process on the same texts.

    python benchmarks/serve.py corpus/dev --format brat

Texts are sentences of the corpus, one per request. The library reads all texts at once, then one after another. Then
1, 8 and 64 clients send requests to `gridner serve`, which runs in its own process; each client sends the next request
as soon as it has a response. Library and service alternate, so that both see the same machine. Then the script measures
overload, short requests beside one long text (latency, and its ratio to that without the long text), and memory over
many requests.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from random import Random
from statistics import median, quantiles

from gridner import Document, load, read
from gridner.inference.recognizer import Recognizer
from gridner.text import align
from measure import machine, table

CLIENTS = (1, 8, 64)
HEAD = "POST /v1/recognize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@dataclass
class Seen:
    """Responses, refusals, errors and latencies that the clients saw."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)  # of responses, in milliseconds
    statuses: Counter[int] = field(default_factory=Counter)

    @property
    def throughput(self) -> float:
        """Return responses per second."""
        return len(self.latencies) / self.seconds

    def at(self, percent: int) -> float:
        """Return a percentile of the latency."""
        return quantiles(self.latencies, n=100)[percent - 1] if len(self.latencies) > 1 else float("nan")


@contextlib.contextmanager
def service(threads: int, *options: str) -> Iterator[tuple[int, int]]:
    """Start the service, and yield its port and its process."""
    command = [sys.executable, "-m", "gridner", "serve", "--port", "0", "--threads", str(threads), *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        said = process.stderr.readline() if process.stderr else ""
        found = re.search(r":(\d+) ", said)
        if not found:
            raise SystemExit(f"the service did not start: {said}")
        yield int(found[1]), process.pid
    finally:
        process.terminate()
        process.communicate()


async def client(port: int, texts: Iterator[str], until: float, seen: Seen, most: list[int]) -> None:
    """Send requests one after another on one connection, until the time or the number of requests is used up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        while time.perf_counter() < until and most[0] > 0:
            most[0] -= 1
            body = json.dumps({"text": next(texts)}).encode()
            head = f"{HEAD}Content-Length: {len(body)}\r\n\r\n"
            began = time.perf_counter()
            writer.write(head.encode() + body)
            answer = (await reader.readuntil(b"\r\n\r\n")).decode()
            await reader.readexactly(int(re.search(r"content-length: (\d+)", answer)[1]))  # type: ignore[index]
            status = int(answer.split(" ", 2)[1])
            seen.statuses[status] += 1
            if status == 200:
                seen.latencies.append(1000 * (time.perf_counter() - began))
            else:
                await asyncio.sleep(0.1)  # a client that waits less than Retry-After says
    finally:
        writer.close()


async def load_with(
    port: int, clients: int, texts: Sequence[str], *, seconds: float = 1e9, requests: int = 10**9
) -> Seen:
    """Run several clients at once."""
    seen, shared, most = Seen(), cycle(texts), [requests]
    began = time.perf_counter()
    await asyncio.gather(*(client(port, shared, began + seconds, seen, most) for _ in range(clients)))
    seen.seconds = time.perf_counter() - began
    return seen


def at_once(recognizer: Recognizer, texts: Sequence[str], together: int = 512) -> float:
    """Return the texts per second of the library, with batches of a given size."""
    began = time.perf_counter()
    for _ in recognizer.pipe([Document(str(number), text) for number, text in enumerate(texts)], batch_size=together):
        pass
    return len(texts) / (time.perf_counter() - began)


def one_by_one(recognizer: Recognizer, texts: Sequence[str]) -> tuple[float, list[float]]:
    """Return the texts per second of the library, one text at a time, and the latencies."""
    times = []
    for text in texts:
        began = time.perf_counter()
        recognizer(text)
        times.append(time.perf_counter() - began)
    return len(texts) / sum(times), [1000 * one for one in times]


def megabytes(process: int) -> float:
    """Return the memory of a process."""
    return int(Path(f"/proc/{process}/status").read_text().partition("VmRSS:")[2].split()[0]) / 1024


def under_load(recognizer: Recognizer, texts: Sequence[str], threads: int, seconds: float, turns: int) -> str:
    """Return a table with throughput and latency by number of clients."""
    all_texts = list(texts)
    library: list[float] = []
    eights: list[float] = []
    singly: list[float] = []
    alone: list[float] = []
    seen: dict[int, list[Seen]] = {clients: [] for clients in CLIENTS}
    with service(threads) as (port, _):
        for _ in range(turns):
            library.append(at_once(recognizer, all_texts))
            eights.append(at_once(recognizer, all_texts, 8))
            speed, times = one_by_one(recognizer, all_texts[: max(50, len(all_texts) // 4)])
            singly.append(speed)
            alone += times
            for clients in CLIENTS:
                seen[clients].append(asyncio.run(load_with(port, clients, all_texts, seconds=seconds / turns)))
    cuts = quantiles(alone, n=100)
    rows = [
        ["library, all texts at once", f"{median(library):,.1f}", "1.00", "", ""],
        ["library, 8 at a time", f"{median(eights):,.1f}", f"{_ratio(eights, library):.2f}", "", ""],
        [
            "library, one after another",
            f"{median(singly):,.1f}",
            f"{_ratio(singly, library):.2f}",
            f"{cuts[49]:.0f}",
            f"{cuts[98]:.0f}",
        ],
    ]
    for clients, some in seen.items():
        every = Seen(latencies=[one for each in some for one in each.latencies])
        found = [each.throughput for each in some]
        row = [
            f"service, {clients} client{'s' * (clients > 1)}",
            f"{median(found):,.1f}",
            f"{_ratio(found, library):.2f}",
        ]
        rows.append([*row, f"{every.at(50):.0f}", f"{every.at(99):.0f}"])
        if any(set(each.statuses) - {200} for each in some):
            raise SystemExit(f"answers that are not 200: {[each.statuses for each in some]}")
    return table(["", "texts/s", "of the library", "p50, ms", "p99, ms"], rows)


def _ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    return median(a / b for a, b in zip(ours, theirs, strict=True))


def over_time(texts: Sequence[str], threads: int, requests: int) -> str:
    """Return a table with memory by number of requests."""
    rows = []
    with service(threads) as (port, process):
        done = 0
        for part in range(11):
            count = requests // 10 if part else min(500, requests // 10)  # the first part warms up
            asyncio.run(load_with(port, 16, texts, requests=count))
            done += count
            rows.append([f"{done:,}", f"{megabytes(process):,.0f}"])
    return table(["requests", "memory, MB"], rows)


def overload(texts: Sequence[str], threads: int, seconds: float, clients: int) -> str:
    """Return a table for the time before, during and after an overload."""
    rows = []
    with service(threads, "--queue", "64") as (port, process):
        for name, many in (
            ("before: 8 clients", 8),
            (f"overload: {clients} clients", clients),
            ("right after: 8 clients", 8),
        ):
            seen = asyncio.run(load_with(port, many, texts, seconds=seconds))
            refused = seen.statuses[503]
            others = sum(count for status, count in seen.statuses.items() if status not in (200, 503))
            row = [
                name,
                f"{seen.throughput:,.1f}",
                f"{seen.at(50):.0f}",
                f"{seen.at(99):.0f}",
                f"{refused:,}",
                f"{others:,}",
            ]
            rows.append([*row, f"{megabytes(process):,.0f}"])
    return table(["", "texts/s", "p50, ms", "p99, ms", "refused (503)", "other errors", "memory, MB"], rows)


def beside_a_long_text(texts: Sequence[str], threads: int, requests: int, characters: int, turns: int) -> str:
    """Return a table with the latency of one client's short requests, alone and beside one long text at a time."""
    short = [" ".join(text.split()[:2]) for text in texts]
    long = (" ".join(texts) + " ") * (1 + characters // sum(map(len, texts)))
    alone, beside = Seen(), Seen()
    with service(threads, "--max-seconds", "600") as (port, _):

        async def both() -> Seen:
            async def long_texts() -> None:
                await load_with(port, 1, [long[:characters]])

            background = asyncio.create_task(long_texts())
            seen = await load_with(port, 1, short, requests=requests // turns)
            if background.done():
                await background  # raises what went wrong
            background.cancel()
            return seen

        for _ in range(turns):
            alone.latencies += asyncio.run(load_with(port, 1, short, requests=requests // turns)).latencies
            beside.latencies += asyncio.run(both()).latencies
    rows = [
        [
            name,
            f"{seen.at(50):.0f}",
            f"{seen.at(99):.0f}",
            f"{seen.at(50) / alone.at(50):.1f}",
            f"{seen.at(99) / alone.at(99):.1f}",
        ]
        for name, seen in (("alone", alone), (f"beside one text of {characters:,} characters", beside))
    ]
    return table(["requests of two words", "p50, ms", "p99, ms", "ratio of p50", "ratio of p99"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--format", default="auto")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--texts", type=int, default=400)
    parser.add_argument("--seconds", type=float, default=60, help="seconds for each number of clients; 0 for none")
    parser.add_argument(
        "--turns",
        type=int,
        default=3,
        help="turns into which that time is divided; the library is measured between them",
    )
    parser.add_argument("--requests", type=int, default=20_000, help="requests of the memory test")
    parser.add_argument("--short", type=int, default=400, help="short requests beside a long text; 0 for none")
    parser.add_argument("--long", type=int, default=66_000, help="characters of the long text")
    parser.add_argument("--overload", type=int, default=300, help="clients of the overload test")
    options = parser.parse_args()
    sentences = [
        document.text[one.start : one.end]
        for document in read(options.corpus, options.format)
        for one in align(document).sentences
    ]
    Random(1).shuffle(sentences)
    texts = sentences[: options.texts]
    recognizer = load(threads=options.threads)
    words = sum(len(text.split()) for text in texts) / len(texts)
    print(f"{machine()}, {options.threads} threads; {len(texts)} sentences of {words:.1f} words between spaces.\n")
    at_once(recognizer, texts[:50])
    if options.seconds:
        print(under_load(recognizer, texts, options.threads, options.seconds, options.turns), flush=True)
        print(f"\n{overload(texts, options.threads, options.seconds / 3, options.overload)}", flush=True)
    if options.short:
        beside = beside_a_long_text(texts, options.threads, options.short, options.long, options.turns)
        print(f"\n{beside}", flush=True)
    if options.requests:
        short = [" ".join(text.split()[:16]) for text in texts]
        print(f"\nThe first 16 words of each:\n\n{over_time(short, options.threads, options.requests)}")


if __name__ == "__main__":
    main()
