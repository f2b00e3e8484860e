"""How many sentences a second systems train on and predict (Table 7), beside their language model alone.

All take the same batches in turn, several times over, so that a noisy machine disturbs them alike. Weights are
untrained, which changes no time.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from statistics import median

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gridner.batches import Pieces, plan
from gridner.config import Config
from gridner.decode import decode
from gridner.duration import duration
from gridner.errors import Notes
from gridner.experiment import paper
from gridner.experiment.figure import Bars
from gridner.experiment.rows import chosen
from gridner.experiment.study import Study
from gridner.experiment.table import Cell, Table
from gridner.experiment.tables import Outcome
from gridner.loss import cell_loss, one_label_loss
from gridner.model.fold import fold
from gridner.model.toe import Batch
from gridner.parts import Part
from gridner.sentences import Mention, Sentence
from gridner.significance import spread
from gridner.tags import TagScheme, probabilities
from gridner.training.memory import quick
from gridner.training.start import fresh

ALONE = "encoder alone"
SENTENCES = 256  # that speed is measured on


@dataclass(frozen=True, slots=True)
class Example:
    """Some words of a sentence, and the mentions among them."""

    words: tuple[str, ...]
    mentions: tuple[Mention, ...] = ()

    @classmethod
    def beginning(cls, sentence: Sentence, words: int) -> Example:
        """The first words of a sentence."""
        kept = tuple(mention for mention in sentence.mentions if mention.tail < words)
        return cls(tuple(word.text for word in sentence.words[:words]), kept)


@dataclass(frozen=True, slots=True)
class Data:
    """Examples in batches of similar length."""

    groups: list[list[Example]]
    batches: list[Batch]

    @classmethod
    def of(cls, examples: Sequence[Example], pieces: Pieces, cells: int) -> Data:
        """Batches of at most so many cells."""
        encoded = pieces.encode([example.words for example in examples])
        numbers = list(plan([len(example.words) for example in examples], cells=cells))
        batches = [
            Batch(*(torch.from_numpy(array) for array in pieces.collate([encoded[place] for place in batch])))
            for batch in numbers
        ]
        return cls([[examples[place] for place in batch] for batch in numbers], batches)

    @property
    def examples(self) -> list[Example]:
        """All of them."""
        return [example for group in self.groups for example in group]


class Contender:
    """A network, or the language model alone, ready to train and to predict on some data."""

    def __init__(self, config: Config, types: tuple[str, ...], sentences: Sequence[Sentence], *, alone: bool) -> None:
        self.w2ner, self.alone = config.model.architecture == "w2ner", alone
        self.scheme = TagScheme(types, config.model.tags)
        start = fresh(config, self.scheme, sentences, seed=1, notes=Notes())
        self.pieces = start.pieces
        self.model: nn.Module = start.model.encoder.language_model if alone else start.model
        self.predictor: nn.Module = copy.deepcopy(self.model).eval() if alone else fold(start.model)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-6, fused=True)

    def take(self, data: Data, cells: int) -> None:
        """What to work on."""
        self.data, self.cells = data, cells
        self.golds = [torch.from_numpy(self._gold(group)) for group in data.groups]
        found = [np.where(gold.numpy(), np.float32(4), np.float32(-4)) for gold in self.golds]
        self.to_decode = [np.pad(scores, [(0, 0)] * 3 + [(0, int(self.w2ner))]) for scores in found]

    def _gold(self, examples: Sequence[Example]) -> NDArray[np.bool_]:
        most = max(len(example.words) for example in examples)
        grids = np.zeros((len(examples), most, most, len(self.scheme.labels)), dtype=np.bool_)
        for grid, example in zip(grids, examples, strict=True):
            n = len(example.words)
            grid[:n, :n] = self.scheme.encode(example.mentions, n)
        return grids

    def _run(self, model: nn.Module, batch: Batch) -> Tensor:
        if self.alone:
            output: Tensor = model(input_ids=batch.pieces, attention_mask=batch.piece_mask.long()).last_hidden_state
        else:
            output = model(batch)
        return output

    def train(self) -> None:
        """A step for each batch: forward, loss, backward, clipping, AdamW."""
        self.model.train()
        criterion = one_label_loss if self.w2ner else cell_loss
        for batch, gold in zip(self.data.batches, self.golds, strict=True):
            output = self._run(self.model, batch)
            loss = output.square().mean() if self.alone else criterion(output, gold, batch.lengths) / len(gold)
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
            self.optimizer.step()
            self.optimizer.zero_grad()

    @torch.inference_mode()
    def predict(self) -> None:
        """From batches to scores."""
        for batch in self.data.batches:
            self._run(self.predictor, batch)

    @torch.inference_mode()
    def recognize(self) -> None:
        """From words to mentions. As an untrained network finds nothing, the grids that are decoded hold the gold."""
        data = Data.of(self.data.examples, self.pieces, self.cells)
        for batch, examples, grids in zip(data.batches, data.groups, self.to_decode, strict=True):
            self._run(self.predictor, batch)
            for example, grid in zip(examples, () if self.alone else grids, strict=not self.alone):
                n = len(example.words)
                relations = self.scheme.relations(probabilities(grid[:n, :n], one_label=self.w2ner))
                decode(relations, self.scheme.types)


WORK: dict[str, Callable[[Contender], None]] = {
    "train": Contender.train,
    "predict": Contender.predict,
    "words to mentions": Contender.recognize,
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
    count = len(next(iter(contenders.values())).data.examples)
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
    cells, turns = study.config.train.cells, max(3, len(study.seeds))
    names = [ALONE, *chosen(list(configs), study.rows)]
    with quick(torch.device("cpu")):
        contenders = {
            name: Contender(configs.get(name, study.config), train.types, train.sentences, alone=name == ALONE)
            for name in names
        }
        data = _sample(part, contenders[ALONE].pieces, study.config)
        for contender in contenders.values():
            contender.take(data, cells)
        found = measure(contenders, repeats=turns, said=study.say)
    columns = ["sentences/s", *(cell for work in WORK for cell in (work, "of the encoder alone"))]
    rows: list[list[Cell]] = []
    for name in names:
        row: list[Cell] = [name]
        for work in WORK:
            row += [spread(found[name, work].speeds), found[name, work].ratio]
        rows.append(row)
    for name, (training, predicting) in paper.EFFICIENCY.items() if study.paper else ():
        rows.append([f"{name}, the paper (RTX 3090)", training, None, predicting, None, None, None])
    words = sum(len(example.words) for example in data.examples) / len(data.examples)
    notes = (
        f"{len(data.examples)} sentences of {words:.1f} words on average; CPU, {torch.get_num_threads()} threads.",
        f"A run is a turn over all of them, {turns} after one to warm up; ratios are medians of those within a turn.",
    )
    speeds = {work: [spread(found[name, work].speeds) for name in names] for work in WORK}
    figure = Bars("Speed", "sentences/s", names, speeds)
    return Outcome("Efficiency (Table 7)", [Table("Speed", columns, rows, notes)], figure)


def _sample(part: Part, pieces: Pieces, config: Config) -> Data:
    """Sentences from all over a part; of those that are too long for prediction the first window."""
    sentences = part.sentences[:: max(1, len(part.sentences) // SENTENCES)][:SENTENCES]
    encoded = pieces.encode([[word.text for word in sentence.words] for sentence in sentences])
    settings = config.decoding
    examples = [
        Example.beginning(sentence, pieces.windows(one, max_words=settings.max_words, overlap=settings.overlap)[0].stop)
        for sentence, one in zip(sentences, encoded, strict=True)
    ]
    return Data.of(examples, pieces, config.train.cells)
