"""Measure how many sentences per second systems train on and predict (Table 7), relative to their encoder alone.

All systems process the same sentences in turn, several times, so that a noisy machine slows them down alike. The
weights are untrained, which does not change the times. An untrained candidate head selects a fixed share of the words,
about as many as a trained one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from statistics import fmean, median

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.state import is_initialized
from torch import Tensor, nn

from gridner.config import Config
from gridner.corpus.splits import Part
from gridner.errors import Notes
from gridner.experiment import paper_results
from gridner.experiment.bar_chart import Bars
from gridner.experiment.markdown_table import Cell, Table
from gridner.experiment.paper_tables import Outcome
from gridner.experiment.study import Study
from gridner.experiment.variants import chosen
from gridner.inference.batches import plan_encoder_batches, plan_grid_batches
from gridner.inference.engine import ENCODER_BATCH_PIECES, score_sentences
from gridner.inference.word_pieces import EncodedSentence, PieceTokenizer
from gridner.model.toe import Batch
from gridner.model.trained_model import TorchEngine
from gridner.scoring.significance import spread
from gridner.tagging.tags import TagScheme
from gridner.text.alignment import Sentence
from gridner.training.cpu import flush_denormals
from gridner.training.examples import Example, examples_of
from gridner.training.initialization import fresh
from gridner.training.objective import Objective
from gridner.training.step import StepObjective, train_step
from gridner.view.duration import duration

ALONE = "encoder alone"
SENTENCES = 256  # sentences to measure the speed on
CELLS = 8192  # grid cells per batch
CANDIDATES = 0.3  # share of the words that are candidates


@dataclass(frozen=True, slots=True)
class EncoderObjective:
    """Trains the encoder alone: the loss is the mean square of its last layer."""

    pieces: PieceTokenizer

    def __call__(self, model: nn.Module, examples: Sequence[Example], device: torch.device) -> Tensor:
        """Return the loss of one batch."""
        return _encode(model, _batch(self.pieces, [example.words for example in examples], device)).square().mean()

    def weighted_cells(self, examples: Sequence[Example]) -> float:
        """Return the number of batches: each has a mean as its loss."""
        return len(self.parts(examples))

    def parts(self, examples: Sequence[Example]) -> list[list[Example]]:
        """Split examples into batches for the encoder."""
        plan = plan_encoder_batches([example.words.piece_count for example in examples], most=ENCODER_BATCH_PIECES)
        return [[examples[place] for place in places] for places in plan]


class Contender:
    """A network, or its encoder alone, to be timed in training and in prediction."""

    def __init__(self, config: Config, types: tuple[str, ...], sentences: Sequence[Sentence], *, alone: bool) -> None:
        self.alone = alone
        self.clip = config.train.clip
        scheme = TagScheme(types, config.model.tags)
        start = fresh(config, scheme, sentences, seed=1, notes=Notes())
        self.pieces, self.network = start.pieces, start.model
        self.objective: StepObjective = (
            EncoderObjective(start.pieces) if alone else Objective(config, scheme, start.pieces)
        )
        self.model: nn.Module = start.model.encoder.language_model if alone else start.model
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-6, fused=True)
        # A process has one device for Accelerate. If a run has chosen it before, this must not ask for another.
        self.accelerator = Accelerator() if is_initialized() else Accelerator(cpu=True)

    def set_batches(self, batches: Sequence[Sequence[Example]]) -> None:
        """Set the examples to work on, one training step per batch.

        The offset of an untrained candidate head is set so that it selects `CANDIDATES` of their words.
        """
        self.batches = batches
        self.sentences = [example.words for batch in batches for example in batch]
        head = self.network.candidates
        if head is not None:
            self.network.eval()
            with torch.inference_mode():
                log_odds = [
                    row[:length]
                    for batch in self._encoder_batches()
                    for row, length in zip(head(self.network.encoder(*batch)).squeeze(-1), batch.lengths, strict=True)
                ]
                head.offset.fill_(float(np.quantile(torch.cat(log_odds).numpy(), 1 - CANDIDATES)))

    def _encoder_batches(self) -> Iterator[Batch]:
        plan = plan_encoder_batches([words.piece_count for words in self.sentences], most=ENCODER_BATCH_PIECES)
        for places in plan:
            yield _batch(self.pieces, [self.sentences[place] for place in places])

    def train(self) -> None:
        """Take one step of `gridner train` per batch."""
        for batch in self.batches:
            train_step(self.model, self.optimizer, self.objective, batch, accelerator=self.accelerator, clip=self.clip)

    @torch.inference_mode()
    def predict(self) -> None:
        """Compute the scores of all sentences from their pieces."""
        self.model.eval()
        if self.alone:
            for batch in self._encoder_batches():
                _encode(self.model, batch)
        else:
            for _ in score_sentences(
                TorchEngine(self.network), self.pieces, self.sentences, forced=[()] * len(self.sentences), cells=CELLS
            ):
                pass


def _batch(pieces: PieceTokenizer, sentences: Sequence[EncodedSentence], device: torch.device | str = "cpu") -> Batch:
    return Batch(*(torch.from_numpy(array).to(device) for array in pieces.collate(sentences)))


def _encode(language_model: nn.Module, batch: Batch) -> Tensor:
    """Return the last layer of the encoder."""
    states: Tensor = language_model(input_ids=batch.pieces, attention_mask=batch.piece_mask.long()).last_hidden_state
    return states


def batches_of(examples: Sequence[Example]) -> list[list[Example]]:
    """Return batches of examples of similar length, each of at most `CELLS` grid cells."""
    plan = plan_grid_batches([len(example.words.words) for example in examples], cells=CELLS)
    return [[examples[place] for place in places] for places in plan]


WORK: dict[str, Callable[[Contender], None]] = {
    "train": Contender.train,
    "predict": Contender.predict,
}


@dataclass(frozen=True, slots=True)
class Speed:
    """Sentences per second in each turn, and the ratios to the encoder alone in the same turn."""

    speeds: Sequence[float]
    ratios: Sequence[float]

    @property
    def ratio(self) -> float:
        """Return the median ratio."""
        return median(self.ratios)


def measure(
    contenders: Mapping[str, Contender], *, repeats: int, say: Callable[[str], None]
) -> dict[tuple[str, str], Speed]:
    """Return the speed of each system in each kind of work, over `repeats` turns after one to warm up.

    The encoder alone must be among the systems.
    """
    seconds: dict[tuple[str, str], list[float]] = {}
    began = time.monotonic()
    for turn in range(repeats + 1):
        left = (time.monotonic() - began) / max(turn, 1) * (repeats + 1 - turn)
        say(f"turn {turn} of {repeats}, {duration(left)} left" if turn else "a turn to warm up")
        for kind, (name, contender) in product(WORK, contenders.items()):
            elapsed = seconds_of(partial(WORK[kind], contender))
            if turn:
                seconds.setdefault((name, kind), []).append(elapsed)
    count = len(next(iter(contenders.values())).sentences)
    return {
        (name, kind): Speed(
            [count / elapsed for elapsed in turns],
            [alone / elapsed for alone, elapsed in zip(seconds[ALONE, kind], turns, strict=True)],
        )
        for (name, kind), turns in seconds.items()
    }


def seconds_of(run: Callable[[], object]) -> float:
    """Call a function and return how many seconds it takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def efficiency(study: Study, configs: Mapping[str, Config]) -> Outcome:
    """Return Table 7, measured on the CPU: each system and the encoder alone."""
    train, part = study.parts["train"], study.parts.get("test", study.parts["dev"])
    turns = max(3, len(study.seeds))
    names = [ALONE, *chosen(list(configs), study.rows)]
    with flush_denormals(torch.device("cpu")):
        contenders = {
            name: Contender(configs.get(name, study.config), train.types, train.sentences, alone=name == ALONE)
            for name in names
        }
        batches = batches_of(_sample(part, contenders[ALONE].pieces, study.config))
        for contender in contenders.values():
            contender.set_batches(batches)
        measured = measure(contenders, repeats=turns, say=study.say)
    columns = ["sentences/s", *(cell for work in WORK for cell in (work, "of the encoder alone"))]
    rows: list[list[Cell]] = []
    for name in names:
        row: list[Cell] = [name]
        for work in WORK:
            row += [spread(measured[name, work].speeds), measured[name, work].ratio]
        rows.append(row)
    for name, (training, predicting) in paper_results.EFFICIENCY.items() if study.paper else ():
        rows.append([f"{name}, the paper (RTX 3090)", training, None, predicting, None])
    lengths = [len(example.words.words) for batch in batches for example in batch]
    notes = (
        f"{len(lengths)} sentences of {fmean(lengths):.1f} words on average; CPU, {torch.get_num_threads()} threads.",
        f"Each run is one turn over all sentences: {turns} turns after one to warm up. "
        "Ratios are medians of the ratios within a turn.",
    )
    speeds = {work: [spread(measured[name, work].speeds) for name in names] for work in WORK}
    figure = Bars("Speed", "sentences/s", names, speeds)
    return Outcome("Efficiency (Table 7)", [Table("Speed", columns, rows, notes)], figure)


def _sample(part: Part, pieces: PieceTokenizer, config: Config) -> list[Example]:
    """Return evenly spaced sentences of a part. Of a sentence longer than a window, take the first window."""
    sentences = part.sentences[:: max(1, len(part.sentences) // SENTENCES)][:SENTENCES]
    return [
        examples_of([sentence], pieces=pieces, settings=config.decoding, notes=Notes())[0] for sentence in sentences
    ]
