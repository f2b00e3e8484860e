"""How many sentences a second systems train on and predict (Table 7), beside their language model alone.

All take the same sentences in turn, several times over, so that a noisy machine disturbs them alike. Weights are
untrained, which changes no time; candidate words are a fixed share, about that of trained networks.
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
from gridner.model.trained import TorchEngine
from gridner.scoring.significance import spread
from gridner.tagging.tags import TagScheme
from gridner.text.sentences import Sentence
from gridner.training.cpu import flush_denormals
from gridner.training.data import Example, examples_of
from gridner.training.initialization import fresh
from gridner.training.objective import Objective
from gridner.view.duration import duration

ALONE = "encoder alone"
SENTENCES = 256  # that speed is measured on
CELLS = 8192  # of a batch
CANDIDATES = 0.3  # of the words


class Contender:
    """A network, or the language model alone, ready to train and to predict on some examples."""

    def __init__(self, config: Config, types: tuple[str, ...], sentences: Sequence[Sentence], *, alone: bool) -> None:
        self.alone = alone
        scheme = TagScheme(types, config.model.tags)
        start = fresh(config, scheme, sentences, seed=1, notes=Notes())
        self.pieces, self.network = start.pieces, start.model
        self.objective = Objective(config, scheme, start.pieces)
        self.model: nn.Module = start.model.encoder.language_model if alone else start.model
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-6, fused=True)

    def take(self, groups: Sequence[Sequence[Example]]) -> None:
        """Work on these, a step per group. An untrained candidate head takes `CANDIDATES` of their words."""
        self.groups = groups
        self.words = [example.words for group in groups for example in group]
        head = self.network.candidates
        if head is not None:
            self.network.eval()
            with torch.inference_mode():
                odds = [
                    row[:length]
                    for batch in self._batches(self.words)
                    for row, length in zip(head(self.network.encoder(*batch)).squeeze(-1), batch.lengths, strict=True)
                ]
                head.offset.fill_(float(np.quantile(torch.cat(odds).numpy(), 1 - CANDIDATES)))

    def _batches(self, sentences: Sequence[EncodedSentence]) -> Iterator[Batch]:
        for places in plan_encoder_batches([one.piece_count for one in sentences], most=ENCODER_BATCH_PIECES):
            arrays = self.pieces.collate([sentences[place] for place in places])
            yield Batch(*(torch.from_numpy(array) for array in arrays))

    def _states(self, batch: Batch) -> Tensor:
        states: Tensor = self.model(input_ids=batch.pieces, attention_mask=batch.piece_mask.long()).last_hidden_state
        return states

    def train(self) -> None:
        """Take a step per group: forward, loss, backward, clipping, AdamW."""
        self.model.train()
        for group in self.groups:
            if self.alone:
                for batch in self._batches([example.words for example in group]):
                    self._states(batch).square().mean().backward()  # type: ignore[no-untyped-call]
            else:
                self.objective(self.model, group, torch.device("cpu")).backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
            self.optimizer.step()
            self.optimizer.zero_grad()

    @torch.inference_mode()
    def predict(self) -> None:
        """From pieces to scores."""
        self.model.eval()
        if self.alone:
            for batch in self._batches(self.words):
                self._states(batch)
        else:
            for _ in score_sentences(
                TorchEngine(self.network), self.pieces, self.words, forced=[()] * len(self.words), cells=CELLS
            ):
                pass


def grouped(examples: Sequence[Example]) -> list[list[Example]]:
    """Return examples in groups of similar length, each of at most `CELLS` grid cells."""
    groups = plan_grid_batches([len(example.words.words) for example in examples], cells=CELLS)
    return [[examples[place] for place in group] for group in groups]


WORK: dict[str, Callable[[Contender], None]] = {
    "train": Contender.train,
    "predict": Contender.predict,
}


@dataclass(frozen=True, slots=True)
class Timed:
    """Sentences a second in each turn, and the ratios to the encoder alone in the same turn."""

    speeds: Sequence[float]
    ratios: Sequence[float]

    @property
    def speed(self) -> float:
        """The median."""
        return median(self.speeds)

    @property
    def ratio(self) -> float:
        """The median."""
        return median(self.ratios)


def measure(
    contenders: Mapping[str, Contender], *, work: Sequence[str] = tuple(WORK), repeats: int, said: Callable[[str], None]
) -> dict[tuple[str, str], Timed]:
    """By system and kind of work. The encoder alone must be among the systems; a first turn warms up."""
    taken: dict[tuple[str, str], list[float]] = {}
    began = time.monotonic()
    for turn in range(repeats + 1):
        left = (time.monotonic() - began) / max(turn, 1) * (repeats + 1 - turn)
        said(f"turn {turn} of {repeats}, {duration(left)} left" if turn else "a turn to warm up")
        for kind, (name, contender) in product(work, contenders.items()):
            seconds = seconds_of(partial(WORK[kind], contender))
            if turn:
                taken.setdefault((name, kind), []).append(seconds)
    count = len(next(iter(contenders.values())).words)
    return {
        (name, kind): Timed(
            [count / seconds for seconds in some],
            [alone / seconds for alone, seconds in zip(taken[ALONE, kind], some, strict=True)],
        )
        for (name, kind), some in taken.items()
    }


def seconds_of(run: Callable[[], object]) -> float:
    """How long it takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def efficiency(study: Study, configs: Mapping[str, Config]) -> Outcome:
    """Table 7, on the CPU: the systems beside the encoder alone."""
    train, part = study.parts["train"], study.parts.get("test", study.parts["dev"])
    turns = max(3, len(study.seeds))
    names = [ALONE, *chosen(list(configs), study.rows)]
    with flush_denormals(torch.device("cpu")):
        contenders = {
            name: Contender(configs.get(name, study.config), train.types, train.sentences, alone=name == ALONE)
            for name in names
        }
        groups = grouped(_sample(part, contenders[ALONE].pieces, study.config))
        for contender in contenders.values():
            contender.take(groups)
        found = measure(contenders, repeats=turns, said=study.say)
    columns = ["sentences/s", *(cell for work in WORK for cell in (work, "of the encoder alone"))]
    rows: list[list[Cell]] = []
    for name in names:
        row: list[Cell] = [name]
        for work in WORK:
            row += [spread(found[name, work].speeds), found[name, work].ratio]
        rows.append(row)
    for name, (training, predicting) in paper_results.EFFICIENCY.items() if study.paper else ():
        rows.append([f"{name}, the paper (RTX 3090)", training, None, predicting, None])
    lengths = [len(example.words.words) for group in groups for example in group]
    notes = (
        f"{len(lengths)} sentences of {fmean(lengths):.1f} words on average; CPU, {torch.get_num_threads()} threads.",
        f"A run is a turn over all of them, {turns} after one to warm up; ratios are medians of those within a turn.",
    )
    speeds = {work: [spread(found[name, work].speeds) for name in names] for work in WORK}
    figure = Bars("Speed", "sentences/s", names, speeds)
    return Outcome("Efficiency (Table 7)", [Table("Speed", columns, rows, notes)], figure)


def _sample(part: Part, pieces: PieceTokenizer, config: Config) -> list[Example]:
    """Return sentences from all over a part; of those that are too long for prediction the first window."""
    sentences = part.sentences[:: max(1, len(part.sentences) // SENTENCES)][:SENTENCES]
    return [
        examples_of([sentence], pieces=pieces, settings=config.decoding, notes=Notes())[0] for sentence in sentences
    ]
