"""The sentence splitters that splitters.py compares: how to call each one, its size and its start-up time."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from gridner.text import split_sentences

Starts = Callable[[str], Iterable[int]]  # text → where its sentences start


def _gridner() -> Starts:
    return lambda text: (sentence.start for sentence in split_sentences(text))


def _pysbd() -> Starts:
    import pysbd

    segmenter = pysbd.Segmenter(language="en", clean=False, char_span=True)
    return lambda text: (span.start for span in segmenter.segment(text))


def _nupunkt() -> Starts:
    import nupunkt

    return lambda text: (start for start, _ in nupunkt.sent_spans(text))


def _blingfire() -> Starts:
    import blingfire

    return lambda text: (start for start, _ in blingfire.text_to_sentences_and_offsets(text)[1]) if text else ()


def _spacy() -> Starts:
    import spacy

    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    pipeline.max_length = 10**9
    return lambda text: (sentence.start_char for sentence in pipeline(text).sents)


def _syntok() -> Starts:
    from syntok import segmenter

    return lambda text: (sentence[0].offset for part in segmenter.analyze(text) for sentence in part if sentence)


def _sentencex() -> Starts:
    import sentencex

    return lambda text: (found["start_index"] for found in sentencex.get_sentence_boundaries("en", text))


CONTENDERS: dict[str, Callable[[], Starts]] = {  # by package
    "gridner": _gridner,
    "pysbd": _pysbd,
    "nupunkt": _nupunkt,
    "blingfire": _blingfire,
    "spacy": _spacy,
    "syntok": _syntok,
    "sentencex": _sentencex,
}

_FRESH = """import json, sys, time
texts = json.load(sys.stdin)
before = time.perf_counter()
import {module}
imported = time.perf_counter()
from contenders import CONTENDERS
ready = time.perf_counter()
starts = CONTENDERS[{package!r}]()
list(starts("Dr. A saw it. The end."))
called = time.perf_counter()
passes = [time.process_time()]
for _ in range(2):
    for text in texts:
        list(starts(text))
    passes.append(time.process_time())
print(imported - before, called - ready, passes[1] - passes[0], passes[2] - passes[1])"""


@dataclass(frozen=True)
class Times:
    """Seconds in a fresh process. Some splitters cache texts, so a second pass says little about new text."""

    imported: float
    first_call: float
    first_pass: float  # CPU time over texts that the process has not seen
    second_pass: float  # the same texts again


def time_fresh(package: str, texts: Sequence[str], runs: int) -> Times:
    """Time a splitter in several fresh processes and return the best of each figure."""
    code = _FRESH.format(module="syntok.segmenter" if package == "syntok" else package, package=package)
    lines = [
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=Path(__file__).parent,
            input=json.dumps(texts),
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout
        for _ in range(runs)
    ]
    return Times(*map(min, zip(*([float(number) for number in line.split()] for line in lines), strict=True)))


def installed_size(package: str) -> int:
    """Return the bytes of a package with its requirements, without compiled caches; for gridner, of splitting.py."""
    if package == "gridner":
        return Path(sys.modules[split_sentences.__module__].__file__ or "").stat().st_size
    seen: set[str] = set()
    todo, size = [package], 0
    while todo:
        try:
            found = metadata.distribution(todo.pop())
        except metadata.PackageNotFoundError:  # required on other systems only
            continue
        if found.name in seen:
            continue
        seen.add(found.name)
        files = [Path(str(file.locate())) for file in found.files or () if file.suffix != ".pyc"]
        size += sum(file.stat().st_size for file in files if file.exists())
        todo += [re.split(r"[^\w.-]", need)[0] for need in found.requires or () if "extra ==" not in need]
    return size
