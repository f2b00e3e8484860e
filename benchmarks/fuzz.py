"""Damage valid input of every kind, read it, and count clean reads, one-line errors and crashes.

    python benchmarks/fuzz.py examples --mutations 2000

The script writes some documents in every format. Then it damages one file at a time with a seeded generator: it flips,
deletes and repeats bytes, truncates, swaps lines, changes numbers, and inserts values that break naive readers. It
reads each damaged corpus strictly, with `lenient` and with `repair`. A read is

    clean     all documents were read, and they can be written and read again without change
    skipped   the same, and bad records were counted (lenient only)
    error     a GridnerError with a message of one short line
    crash     anything else: another exception, a message of several lines, documents that do not survive writing,
              or a read of more than 70 seconds

`gazetteer` is the file of `--lexicon`. `service` sends damaged JSON to a running service; there, an error is a
response below 500, or 503, with a `detail` of one line; a crash is another response, or none. The exit code is 1 if
anything crashed; the script prints the seed and the number of the mutation, so that you can repeat it.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from gridner import FORMATS, Document, Notes, read, write
from gridner.corpus.flattening import flattened
from gridner.corpus.gazetteer import read_lexicon
from gridner.errors import GridnerError
from gridner.files import SKIPPED
from measure import machine, table
from serve import service

OUTCOMES = ("clean", "skipped", "error", "crash")
SLOW = 70.0  # seconds; a service answers within 60, whatever it is sent
LONGEST = 700  # characters of a message, its path included
NASTY = (
    *(b"", b"\0", b"\x1b[2J", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\r\n", b"\xc3", b"\xed\xa0\x80", b"\\ud800"),
    *(b"-1", b"0", b"1e999", b"NaN", b"9" * 40, b"2147483648", b"0.5", b"true", b"null", b"[]", b"{}", b'""'),
    *("é", "\u2028", "\u200b", "😀", "\u202e"),
    *(b"[" * 3000, b'{"a":' * 3000, b"<a>" * 3000, b"&lol;", b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"<!--", b"]]>"),
    *(
        b"../../x",
        b"/etc/passwd",
        b";",
        b"|",
        b"||",
        b"\t",
        b"T1",
        b"T999999999999",
        b"R1\tX Arg1:T1 Arg2:T9\n",
        b"#1\t",
    ),
)


def damaged(data: bytes, random: Random) -> bytes:
    """Return a copy of the bytes with one to four changes."""
    for _ in range(random.randint(1, 4)):
        data = random.choice(CHANGES)(data, random)
    return data


def _span(data: bytes, random: Random, longest: int = 60) -> tuple[int, int]:
    start = random.randrange(len(data) + 1)
    return start, min(len(data), start + random.randint(1, longest))


def _flip(data: bytes, random: Random) -> bytes:
    at, _ = _span(data[:-1], random)
    return data[:at] + bytes([random.randrange(256)]) + data[at + 1 :]


def _delete(data: bytes, random: Random) -> bytes:
    start, end = _span(data, random)
    return data[:start] + data[end:]


def _repeat(data: bytes, random: Random) -> bytes:
    start, end = _span(data, random, 400)
    return data[:end] + data[start:end] + data[end:]


def _truncate(data: bytes, random: Random) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _insert(data: bytes, random: Random) -> bytes:
    chosen = random.choice(NASTY)
    start, end = _span(data, random, 8)
    return data[:start] + (chosen.encode() if isinstance(chosen, str) else chosen) + data[random.choice((start, end)) :]


def _swap_lines(data: bytes, random: Random) -> bytes:
    lines = data.split(b"\n")
    first, second = random.randrange(len(lines)), random.randrange(len(lines))
    lines[first], lines[second] = lines[second], lines[first]
    return b"\n".join(lines)


def _change_token(data: bytes, random: Random) -> bytes:
    """Replace a number, or a string in quotes, by something else."""
    tokens = list(re.finditer(rb'\d+|"[^"\n]{0,80}"|>[^<\n]{1,80}<', data))
    if not tokens:
        return data
    token = random.choice(tokens)
    other = random.choice((*NASTY[10:22], random.choice(tokens)[0], str(random.randrange(5000)).encode()))
    return data[: token.start()] + other + data[token.end() :]


CHANGES: tuple[Callable[[bytes, Random], bytes], ...] = (
    *(_flip, _delete, _repeat, _truncate, _insert, _swap_lines),
    *(_change_token, _change_token, _change_token),  # gets past the first check of a reader most often
)


@dataclass(frozen=True)
class Target:
    """Input that can be damaged and read."""

    name: str
    path: Path
    read: Callable[[Path, str], str]  # with a mode; returns the outcome of a read without an error
    modes: tuple[str, ...] = ("strict", "lenient", "repair")

    def files(self) -> list[Path]:
        """Return the files that are damaged."""
        return sorted(file for file in self.path.rglob("*") if file.is_file()) if self.path.is_dir() else [self.path]


def read_format(name: str) -> Callable[[Path, str], str]:
    """Return a function that reads a corpus in a format and checks that what it reads can be kept."""

    def outcome(path: Path, mode: str) -> str:
        notes = Notes()
        documents = list(read(path, name, lenient=mode == "lenient", repair=mode == "repair", notes=notes))
        with tempfile.TemporaryDirectory() as folder:
            write(documents, Path(folder) / "again.jsonl")
            if list(read(Path(folder) / "again.jsonl")) != documents:
                raise AssertionError("documents changed when they were written and read again")
        return "skipped" if notes[SKIPPED] else "clean"

    return outcome


def read_gazetteer(path: Path, _: str) -> str:
    """Read a gazetteer."""
    read_lexicon(path)
    return "clean"


def targets(corpus: list[Document], folder: Path) -> Iterator[Target]:
    """Write the corpus in each format."""
    for name in FORMATS:
        if name == "parquet":  # is only written
            continue
        documents = [replace(one, entities=tuple(flattened(one, bridge=0, notes=Notes()).entities)) for one in corpus]
        path = folder / name / "corpus"
        path.parent.mkdir()
        write(documents if name == "conll" else corpus, path, name)
        yield Target(name, path, read_format(name))
    path = folder / "names.tsv"
    path.write_text(
        "".join(f"{e.type}\t{' '.join(d.text[e.start : e.end].split())}\n" for d in corpus for e in d.entities)
    )
    yield Target("gazetteer", path, read_gazetteer, ("strict",))


def fuzz(target: Target, mutations: int, seed: int, crashes: list[str]) -> dict[str, Counter[str]]:
    """Damage a file of the target so many times, and count outcomes by mode."""
    seen = {mode: Counter[str]() for mode in target.modes}
    files = target.files()
    for number in range(mutations):
        random = Random(f"{seed} {target.name} {number}")
        file = random.choice(files)
        before = file.read_bytes()
        file.write_bytes(damaged(before, random))
        try:
            for mode, counts in seen.items():
                outcome, reason = judged(partial(target.read, target.path, mode))
                counts[outcome] += 1
                if outcome == "crash":
                    crashes.append(f"{target.name}, mutation {number} of seed {seed}, {mode}: {reason}")
        finally:
            file.write_bytes(before)
    return seen


def judged(attempt: Callable[[], str]) -> tuple[str, str]:
    """Return the outcome of a read, and the reason if it is a crash."""
    began = time.monotonic()
    try:
        outcome, reason = attempt(), ""
    except GridnerError as error:
        said = str(error)
        fits = len(said.splitlines()) == 1 and len(said) <= LONGEST
        outcome, reason = ("error", "") if fits else ("crash", f"message {said[:200]!r} of {len(said):,} characters")
    except Exception as error:
        outcome, reason = "crash", f"{type(error).__name__}: {str(error)[:200]}"
    seconds = time.monotonic() - began
    return (outcome, reason) if seconds < SLOW else ("crash", f"{seconds:.0f} seconds")


TEXT = "Pain in left arm and shoulder, and loss of rod and cone photoreceptors."
BODIES: dict[str, Any] = {
    "/v1/recognize": {
        "texts": [TEXT, {"id": "b", "text": TEXT}],
        "threshold": 0.3,
        "types": ["Cell"],
        "offsets": "utf-16",
    },
    "/page/draw": {"text": TEXT, "id": "note", "ann": "T1\tCell 46 49;59 73\trod photoreceptors\n#1\tNote T1\tx\n"},
    "/page/grid": {"text": TEXT, "at": 0},
    "/page/save": {
        "documents": [{"id": "d", "text": TEXT, "entities": [{"type": "X", "fragments": [[0, 4]]}]}],
        "format": "csv",
    },
}


def fuzz_service(mutations: int, seed: int, crashes: list[str]) -> Counter[str]:
    """Send damaged bodies to a service, and count outcomes."""
    counts = Counter[str]()
    with service(1) as (port, _):
        for number in range(mutations):
            random = Random(f"{seed} service {number}")
            path = random.choice(list(BODIES))
            body = damaged(json.dumps(BODIES[path]).encode(), random)
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}{path}", body, {"Content-Type": "application/json"}
            )
            outcome, reason = judged(partial(_response, request))
            counts[outcome] += 1
            if outcome == "crash":
                crashes.append(f"service, mutation {number} of seed {seed}, {path}: {reason}")
    return counts


def _response(request: urllib.request.Request) -> str:
    try:
        with urllib.request.urlopen(request, timeout=SLOW) as response:
            response.read()
            return "clean"
    except urllib.error.HTTPError as error:
        detail = json.load(error)["detail"]
        if error.code >= 500 and error.code != 503:  # which is the service's own limit of time or queue
            raise AssertionError(f"status {error.code}: {detail}") from None
        raise GridnerError(detail) from None


def main() -> None:
    """Run all targets and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--mutations", type=int, default=2000, help="of each format")
    parser.add_argument("--documents", type=int, default=3, help="of the corpus; one file of them is damaged at a time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", help="names of formats; or gazetteer, service")
    options = parser.parse_args()
    corpus = list(islice(read(options.corpus), options.documents))
    crashes: list[str] = []
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for target in targets(corpus, Path(folder)):
            if options.only and target.name not in options.only:
                continue
            for mode, counts in fuzz(target, options.mutations, options.seed, crashes).items():
                rows.append([f"{target.name}, {mode}", *(f"{counts[outcome]:,}" for outcome in OUTCOMES)])
    if not options.only or "service" in options.only:
        counts = fuzz_service(options.mutations, options.seed, crashes)
        rows.append(["service", *(f"{counts[outcome]:,}" for outcome in OUTCOMES)])
    print(f"{machine()}; {options.mutations:,} mutations of each, seed {options.seed}\n")
    print(table(["input", *OUTCOMES], rows))
    print("".join(f"\n{crash}" for crash in crashes))
    raise SystemExit(bool(crashes))


if __name__ == "__main__":
    main()
