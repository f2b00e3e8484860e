"""Measure how fast `gridner pretrain` is, as a ratio to a plain transformers loop on the same batches.

    python benchmarks/pretrain.py notes.txt --encoder minilm --steps 20

After each step of gridner, two other loops make a step, so that all see the same load of the machine:

plain: `AutoModelForMaskedLM` with labels, AdamW and clipping, on the batch that gridner has just had. gridner should
reach at least 0.85 of its speed. It scores the hidden words only, which makes up for its bookkeeping.

lines: the same on as many lines of the text, one per row, cut at the length and padded to the longest, as a collator
without packing does. Its speed in pieces of text shows what packing brings.

The table shows medians. Weights and masks do not change times, so the loops may drift apart.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from gridner.errors import Notes
from gridner.model.encoder_files import encoder_path
from gridner.pretraining import PretrainingTask, Settings, pretrain
from gridner.pretraining.masking import masking_of
from gridner.pretraining.network import start_of
from gridner.pretraining.rows import ABOUT, Rows, frame_of
from gridner.pretraining.shuffling import Order, groups_of
from gridner.pretraining.text import Source, lines_of
from gridner.training.cpu import keep_freed_memory
from gridner.training.run_folder import SNAPSHOT
from gridner.training.snapshot import State
from measure import machine, table

BAR = 0.85
NOT_SCORED = -100  # the label that transformers leaves out


class PlainLoop:
    """Masked-language-model training as a script on transformers has it."""

    def __init__(self, encoder: str, settings: Settings) -> None:
        transformers.utils.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
        transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        folder = str(encoder_path(encoder))
        dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
        self.model: Any = transformers.AutoModelForMaskedLM.from_pretrained(folder, use_safetensors=True, **dropout)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=settings.rate, fused=True)
        self.micro_batch = settings.micro_batch

    def step(self, pieces: NDArray[np.int64], labels: NDArray[np.int64], mask: NDArray[np.int64] | None = None) -> None:
        """Make a step on a batch [B, p]."""
        self.model.train()
        parts = range(0, len(pieces), self.micro_batch)
        for begin in parts:
            some = slice(begin, begin + self.micro_batch)
            given = None if mask is None else torch.from_numpy(mask[some])
            output = self.model(
                input_ids=torch.from_numpy(pieces[some]), attention_mask=given, labels=torch.from_numpy(labels[some])
            )
            (output.loss / len(parts)).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()


@dataclass
class Turns:
    """Watches a pretraining, and lets the other loops make a step after each of its own."""

    others: dict[str, Callable[[int], int]]  # makes the step of a number and returns its pieces of text
    pieces: int  # of a step of gridner
    seconds: dict[str, list[float]] = field(default_factory=dict)
    speeds: dict[str, list[float]] = field(default_factory=dict)
    since: float = 0.0

    def begin(self, state: State, steps: int) -> None:
        """Nothing is measured before the first look at the held-out text."""

    def look(self, state: State, steps: int) -> None:  # noqa: ARG002
        """Leave the look out of the time."""
        self.since = time.perf_counter()

    def step(self, state: State, steps: int, loss: float) -> None:  # noqa: ARG002
        """Note how long a step of gridner took, then measure the others."""
        self._note("gridner", time.perf_counter() - self.since, self.pieces)
        for name, run in self.others.items():
            begun = time.perf_counter()
            pieces = run(state.step - 1)
            self._note(name, time.perf_counter() - begun, pieces)
        self.since = time.perf_counter()

    def _note(self, name: str, seconds: float, pieces: int) -> None:
        self.seconds.setdefault(name, []).append(seconds)
        self.speeds.setdefault(name, []).append(pieces / seconds)


def main() -> None:
    """Run a short pretraining and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path, help="plain text, one sentence or document per line")
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    keep_freed_memory()
    settings = Settings(steps=1 + options.steps, batch=options.batch, length=options.length, looks=1, held_out=0.001)
    source = Source(options.text)
    start = start_of(options.encoder, dropout=False, seed=1, notes=Notes())
    tokenizer, frame = start.pieces.tokenizer, frame_of(start.pieces.tokenizer)
    masking = masking_of(
        settings.mask, start.mask, {*start.special, start.pieces.unknown}, max(tokenizer.get_vocab().values()) + 1
    )
    plain, by_line = PlainLoop(options.encoder, settings), PlainLoop(options.encoder, settings)
    lines = list(islice(lines_of(source, Notes()), settings.batch * settings.steps))  # type: ignore[operator]

    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "encoder"

        def packed(number: int) -> int:
            rows = Rows(output / SNAPSHOT, json.loads((output / SNAPSHOT / ABOUT).read_text(encoding="utf-8")))
            order = Order(groups_of(rows.groups, share=settings.held_out, most=settings.most_held_out), settings.seed)
            chosen = order.rows(np.arange(number * settings.batch, (number + 1) * settings.batch))
            masked = masking(*rows.batch(chosen, frame), np.random.default_rng([settings.seed, 1, number]))
            labels = np.full(masked.pieces.size, NOT_SCORED)
            labels[masked.places] = masked.targets
            plain.step(masked.pieces, labels.reshape(masked.pieces.shape))
            return masked.pieces.size

        def one_line_per_row(number: int) -> int:
            some = [lines[(number * settings.batch + place) % len(lines)] for place in range(settings.batch)]
            found = [encoding.ids[: settings.length] for encoding in tokenizer.encode_batch(some)]
            pieces = np.full((len(found), max(map(len, found))), start.pieces.padding)
            mask = np.zeros(pieces.shape, dtype=np.int64)
            for row, ids in enumerate(found):
                pieces[row, : len(ids)], mask[row, : len(ids)] = ids, 1
            hidden = (np.random.default_rng(number).random(pieces.shape) < settings.mask) & (mask == 1)
            by_line.step(np.where(hidden, start.mask, pieces), np.where(hidden, pieces, NOT_SCORED), mask)
            return int(mask.sum())

        turns = Turns({"plain": packed, "lines": one_line_per_row}, settings.batch * settings.length)
        task = PretrainingTask(
            encoder=options.encoder, sources=[source], output=output, settings=settings, device="cpu"
        )
        pretrain(task, watcher=turns)
    print(report(turns))


def report(turns: Turns) -> str:
    """Return the table: the first step of each loop warms up and does not count."""
    own = turns.seconds["gridner"][1:]
    rows = []
    for name, title in (
        ("gridner", "gridner pretrain"),
        ("plain", "plain transformers loop, the same batches"),
        ("lines", "plain transformers loop, one line per row"),
    ):
        speed = [one / other for one, other in zip(turns.speeds[name][1:], turns.speeds["plain"][1:], strict=True)]
        seconds = median(turns.seconds[name][1:])
        rows.append([title, f"{seconds:.2f}", f"{median(turns.speeds[name][1:]):,.0f}", f"{median(speed):.2f}"])
    ratio = median(other / mine for other, mine in zip(turns.seconds["plain"][1:], own, strict=True))
    verdict = "reached" if ratio >= BAR else "not reached"
    head = ["loop", "seconds per step", "pieces of text per second", "of the plain loop"]
    return "\n".join([machine(), "", table(head, rows), "", f"ratio {ratio:.2f}, bar {BAR}: {verdict}"])


if __name__ == "__main__":
    main()
