"""Measure how fast TOE and W2NER train and predict, as a share of their encoder alone.

    python benchmarks/speed.py corpus/dev

All systems run the same batches in turn, several times. The tables show medians; a ratio is the median of the ratios
within a turn. Weights are untrained, which does not change times.

train: one step of `gridner train` per batch; the loss of the encoder alone is the mean square of its last layer.
predict: inference mode, from pieces to scores. The candidate words of an untrained network are a fixed share
(`gridner.experiment.efficiency.CANDIDATES`).

By default glibc returns large tensors to the system after each batch, which costs page faults. The script restarts
itself with an allocator that keeps them, unless you pass --allocator as-is. Denormal numbers are flushed to zero, as in
`gridner train`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from random import Random
from statistics import mean, median
from typing import Any

import torch

from gridner import read
from gridner.config import DecodingConfig, read_config
from gridner.errors import Notes
from gridner.experiment.efficiency import ALONE, CELLS, WORK, Contender, batches_of, measure, seconds_of
from gridner.inference.word_pieces import PieceTokenizer
from gridner.model.language_model import load_language_model, load_tokenizer, max_pieces
from gridner.text import Sentence, align
from gridner.training.examples import Example, examples_of
from measure import machine, table

SHORT = (8, 24)  # words of a short sentence, at least and at most: 16 on average
GROWTH = (16, 32, 64, 128, 256, 400)
ALL_WORDS = "TOE, all words"
PARTS = {
    "short": "Short sentences, cut from the corpus",
    "own": "The corpus's own sentences",
    "growth": "Growth with the length, words of one piece: time for a sentence, peak memory of a process of its own",
}
KEEP = {
    "MALLOC_MMAP_THRESHOLD_": "4294967296",
    "MALLOC_TRIM_THRESHOLD_": "4294967296",
    "MALLOC_TOP_PAD_": "268435456",
}


def compare(systems: dict[str, Contender], examples: Sequence[Example], options: argparse.Namespace) -> str:
    """Return a table with the sentences per second of each system and its ratio to the encoder alone."""
    for system in systems.values():
        system.set_batches(batches_of(examples))
    found = measure(systems, repeats=options.repeats, say=lambda _: None)
    rows = []
    for name in systems:
        row = [name]
        for work in WORK:
            row += [f"{median(found[name, work].speeds):,.1f}", f"{found[name, work].ratio:.2f}"]
        rows.append(row)
    return table(["sentences/s", *(cell for work in WORK for cell in (work, "ratio"))], rows)


def growth(words: Sequence[str], types: tuple[str, ...], options: argparse.Namespace) -> str:
    """Return a table with time and peak memory by sentence length, each figure from its own process."""
    rows = []
    for n in GROWTH:
        chunks = [words[start : start + n] for start in range(0, len(words) - n + 1, n)]
        sentences = chunks[: max(1, CELLS // n**2)]
        row = [str(n), str(len(sentences))]
        for name, work in product((ALONE, "TOE", ALL_WORDS), ("train", "predict")):
            task = {"system": name, "work": work, "types": types, "sentences": sentences, "options": vars(options)}
            command = [sys.executable, __file__, "--task", "--allocator", options.allocator]
            given = json.dumps(task, default=str)
            done = subprocess.run(command, input=given, check=True, stdout=subprocess.PIPE, text=True)
            found = json.loads(done.stdout)
            row += [f"{found['ms']:,.1f}", f"{found['MB']:,.0f}"]
        rows.append(row)
    columns = [", ".join(column) for column in product((ALONE, "TOE", ALL_WORDS), ("train", "predict"), ("ms", "MB"))]
    return table(["words", "in a batch", *columns], rows)


def one(task: dict[str, Any]) -> dict[str, float]:
    """Return milliseconds per sentence for one batch, and the peak memory of this process in MB."""
    options = argparse.Namespace(**task["options"])
    torch.set_num_threads(options.threads)
    system = make(task["system"], tuple(task["types"]), options)
    if task["work"] == "predict":
        del system.optimizer
    system.set_batches(batches_of([Example(words, ()) for words in system.pieces.encode(task["sentences"])]))
    work = WORK[task["work"]]
    taken = [seconds_of(lambda: work(system)) for _ in range(options.repeats + 1)][1:]
    status = Path("/proc/self/status")  # VmHWM belongs to the process alone; ru_maxrss starts with the parent's peak
    peak = int(status.read_text().partition("VmHWM:")[2].split()[0]) / 1024 if status.exists() else float("nan")
    return {"ms": 1000 * median(taken) / len(task["sentences"]), "MB": peak}


def make(name: str, types: tuple[str, ...], options: argparse.Namespace) -> Contender:
    """Return a system by its name."""
    settings = [f"model.encoder={options.encoder}", f"model.candidates={str(name != ALL_WORDS).lower()}"]
    config = read_config("w2ner" if name == "W2NER" else "toe", settings)
    return Contender(config, types, (), alone=name == ALONE)


def beginning(sentence: Sentence, words: int, pieces: PieceTokenizer) -> Example:
    """Return the first words of a sentence, at most as many as a window has."""
    kept = Sentence(sentence.document_id, sentence.words[:words], tuple(m for m in sentence.mentions if m.tail < words))
    return examples_of([kept], pieces=pieces, settings=DecodingConfig(), notes=Notes())[0]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare the speed of TOE and W2NER with that of their encoder.")
    parser.add_argument("corpus", nargs="?", type=Path, help="a corpus with entities")
    parser.add_argument("--format", default="auto", help="format of the corpus (default: guessed from the path)")
    parser.add_argument("--encoder", default="minilm", help="the encoder of all systems (default: minilm)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads (default: all cores)")
    parser.add_argument(
        "--sentences", type=int, default=512, help="number of sentences to sort and batch (default: 512)"
    )
    parser.add_argument("--repeats", type=int, default=5, help="number of turns; the tables show medians (default: 5)")
    parser.add_argument("--part", choices=PARTS, action="append", help="run this part only; may be repeated")
    parser.add_argument(
        "--allocator", choices=("keep", "as-is"), default="keep", help="what to do with freed memory (default: keep)"
    )
    parser.add_argument("--task", action="store_true", help=argparse.SUPPRESS)  # one figure of growth, from stdin
    options = parser.parse_args()
    if options.corpus is None and not options.task:
        parser.error("expected a corpus")
    return options


def main() -> None:
    options = arguments()
    if options.allocator == "keep" and any(os.environ.get(name) != value for name, value in KEEP.items()):
        print(f"starting again with {' '.join(f'{name}={value}' for name, value in KEEP.items())}", file=sys.stderr)
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | KEEP)
    torch.set_flush_denormal(True)
    if options.task:
        print(json.dumps(one(json.load(sys.stdin))))
        return
    torch.set_num_threads(options.threads)
    documents = list(read(options.corpus, options.format))
    types = tuple(sorted({entity.type for document in documents for entity in document.entities}))
    sentences = [sentence for document in documents for sentence in align(document).sentences]
    words = [word.text for sentence in sentences for word in sentence.words]
    pieces = PieceTokenizer(
        load_tokenizer(options.encoder), max_pieces=max_pieces(load_language_model(options.encoder))
    )
    print(f"{machine()}, torch {torch.__version__}, {options.threads} threads; {options.encoder}, {len(types)} types,")
    print(f"batches of at most {CELLS:,} cells, allocator {options.allocator}.")
    parts = options.part or PARTS
    if {"short", "own"} & set(parts):
        systems = {name: make(name, types, options) for name in (ALONE, "W2NER", "TOE")}
    random = Random(1)
    random.shuffle(sentences)
    for part in (part for part in ("short", "own") if part in parts):
        if part == "short":
            some = [sentence for sentence in sentences if len(sentence.words) >= SHORT[1]][: options.sentences]
            examples = [beginning(sentence, random.randint(*SHORT), pieces) for sentence in some]
        else:
            some = sentences[: options.sentences]
            examples = [beginning(sentence, len(sentence.words), pieces) for sentence in some]
        length = mean(len(example.words.words) for example in examples)
        count = mean(example.words.piece_count for example in examples)
        print(f"\n{PARTS[part]}: {len(examples)}, of {length:.1f} words and {count:.1f} pieces on average.\n")
        print(compare(systems, examples, options), flush=True)
    if "growth" in parts:
        encoded = pieces.encode([[word] for word in words])
        whole = [word for word, sentence in zip(words, encoded, strict=True) if len(sentence.words[0]) == 1]
        print(f"\n{PARTS['growth']}.\n\n{growth(whole, types, options)}")


if __name__ == "__main__":
    main()
