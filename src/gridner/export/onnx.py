"""Export a trained model to ONNX: both steps of the network, for batches and sentences of any size."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from torch import Tensor, nn

from gridner.errors import UsageError
from gridner.export.quantization import quantize
from gridner.inference.batches import plan_grid_batches
from gridner.inference.checkpoint import write_checkpoint
from gridner.inference.engine import Engine, GridBatch, WordVectors
from gridner.inference.onnx_engine import SCORES
from gridner.inference.word_pieces import PieceBatch, PieceTokenizer
from gridner.model.onnx_lstm import PortableLstm
from gridner.model.toe import Toe
from gridner.model.trained_model import TorchEngine, TrainedModel
from gridner.text.alignment import Sentence

SAMPLE = 256  # sentences on which the scales of 8 bits are measured
MOST_WORDS = 100  # of a sampled sentence
CELLS = 8192  # per batch of the sample
OPSET = 20  # has Gelu
EXAMPLE = (
    ("a", "b", "c", "d", "e", "f", "g"),
    ("a", "b", "c"),
    ("a", "b", "c", "d", "e"),
)  # batch, words and pieces all have different sizes, so that tracing keeps them apart


def export(model: TrainedModel, directory: str | Path, *, sample: Sequence[Sentence] | None = None) -> None:
    """Write the model to a folder that `gridner.load` reads without torch.

    If `sample` has typical sentences, quantize the network to 8 bits, with scales measured on the sample.
    """
    checkpoint = replace(model.checkpoint, exported=True, int8=sample is not None)
    batches = None if sample is None else _batches(model.pieces, sample)

    def write_network(paths: Sequence[Path]) -> None:
        network = model.model.eval()
        reader, tagger = paths
        words = model.pieces.collate(model.pieces.encode(EXAMPLE))
        with torch.inference_mode():
            engine = TorchEngine(network)
            grid = _grid(engine, words)
        size, pieces, most, n = (torch.export.Dim(name) for name in ("size", "pieces", "most", "words"))
        shapes = ({0: size, 1: pieces}, {0: size, 1: pieces}, {0: size, 1: n, 2: most}, {0: size})
        _write(_Reader(network), words, WordVectors._fields, shapes, reader)
        _write(_Tagger(network), grid, (SCORES,), ({0: size, 1: n}, {0: size, 1: n}, {0: size}), tagger)
        if batches is not None:
            with _quiet():
                quantize(reader, [batch._asdict() for batch in batches])
                quantize(tagger, [_grid(engine, batch)._asdict() for batch in batches])

    write_checkpoint(
        Path(directory),
        checkpoint,
        tokenizer=model.pieces.tokenizer,
        write_network=write_network,
        card=model.card,
    )


def _grid(engine: Engine, batch: PieceBatch) -> GridBatch:
    """Return the input of the second step, with all words of a batch as candidates."""
    words, _ = engine.encode(batch)
    positions = np.broadcast_to(np.arange(words.shape[1]), words.shape[:2])
    return GridBatch(words, np.ascontiguousarray(positions), batch.lengths)


def _batches(pieces: PieceTokenizer, sample: Sequence[Sentence]) -> list[PieceBatch]:
    """Return batches of up to SAMPLE sentences, spread evenly over the sample, without long ones."""
    short = [sentence for sentence in sample if len(sentence.words) <= MOST_WORDS]
    if not short:
        raise UsageError(
            f"no sentence of at most {MOST_WORDS} words in the sample, expected some text like that of the predictions"
        )
    chosen = short[:: -(-len(short) // SAMPLE)]
    encoded = pieces.encode([[word.text for word in sentence.words] for sentence in chosen])
    fitting = [sentence for sentence in encoded if sentence.piece_count <= pieces.max_pieces]
    plan = plan_grid_batches([len(sentence.words) for sentence in fitting], cells=CELLS)
    return [pieces.collate([fitting[index] for index in indices]) for indices in plan]


class _Reader(nn.Module):
    """The first step: pieces → words H [B, n, width] and their excess [B, n].

    It takes the tensors of a batch one by one, because ONNX has named inputs.
    """

    def __init__(self, model: Toe) -> None:
        super().__init__()
        self.encoder = model.encoder
        self.context = PortableLstm(model.encoder)
        self.candidates = model.candidates

    def forward(
        self, pieces: Tensor, piece_mask: Tensor, word_pieces: Tensor, lengths: Tensor
    ) -> tuple[Tensor, Tensor]:
        words = self.context(self.encoder.pool(pieces, piece_mask, word_pieces), lengths)
        if self.candidates is None:
            return words, torch.ones_like(words[..., 0])
        return words, self.candidates.excess(self.candidates(words))


class _Tagger(nn.Module):
    """The second step: words → scores [B, n, n, labels]."""

    def __init__(self, model: Toe) -> None:
        super().__init__()
        self.model = model

    def forward(self, words: Tensor, positions: Tensor, lengths: Tensor) -> Tensor:
        return self.model.tag(words, positions, lengths)[-1]


def _write(
    module: nn.Module,
    example: PieceBatch | GridBatch,
    outputs: Sequence[str],
    shapes: tuple[dict[int, Any], ...],
    path: Path,
) -> None:
    with _quiet():
        program = torch.onnx.export(
            module.eval(),
            tuple(torch.from_numpy(array) for array in example),
            input_names=list(example._fields),
            output_names=list(outputs),
            dynamic_shapes=shapes,
            opset_version=OPSET,
            dynamo=True,
            verbose=False,
        )
    if program is None:
        raise RuntimeError("torch.onnx.export returned no program")
    network = program.model_proto
    for element in (network, network.graph, *network.graph.node, *network.graph.value_info):
        del element.metadata_props[:]  # notes of the exporter, with paths of this machine
        element.doc_string = ""
    onnx.save(network, path)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence warnings of the exporter about libraries that it does not need, and of the quantizer about its output."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
