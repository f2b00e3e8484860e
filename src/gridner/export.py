"""A trained model as ONNX: the whole network, encoder included, for batches and sentences of any size."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import onnx
import torch
from torch import Tensor, nn

from gridner.batches import Arrays, Pieces, plan
from gridner.checkpoint import NETWORK, write_checkpoint
from gridner.errors import UsageError
from gridner.model.fold import fold
from gridner.model.toe import Batch
from gridner.onnx_engine import SCORES
from gridner.quantize import quantize
from gridner.sentences import Sentence
from gridner.trained import TrainedModel

SAMPLE = 256  # sentences that the scales of 8 bits are taken from
LONG = 100  # words of a sentence that is not among them
CELLS = 8192  # of a batch of them
OPSET = 20  # has Gelu
EXAMPLE = (("a", "b", "c", "d", "e", "f", "g"), ("a", "b", "c"), ("a", "b", "c", "d", "e"))  # sizes that all differ


def export(model: TrainedModel, directory: str | Path, *, sample: Sequence[Sentence] | None = None) -> None:
    """Write the model as a folder that `gridner.load` takes where there is no torch.

    With a sample of sentences as the model will see them its network has 8 bits, with scales that suit these.
    """
    checkpoint = replace(model.checkpoint, network=NETWORK, int8=sample is not None)

    def write(path: Path) -> None:
        _write(model, path)
        if sample is not None:
            with _quiet():
                quantize(path, [batch._asdict() for batch in _batches(model.pieces, sample)])

    write_checkpoint(
        Path(directory),
        checkpoint,
        tokenizer=model.pieces.tokenizer,
        write_network=write,
        card=model.card,
    )


def _batches(pieces: Pieces, sample: Sequence[Sentence]) -> list[Arrays]:
    """Some of the sentences, evenly, without the longest."""
    short = [sentence for sentence in sample if len(sentence.words) <= LONG]
    if not short:
        raise UsageError(
            f"no sentence of at most {LONG} words in the sample, expected some text as the model will see it"
        )
    chosen = short[:: -(-len(short) // SAMPLE)]
    encoded = pieces.encode([[word.text for word in sentence.words] for sentence in chosen])
    fitting = [one for one in encoded if one.pieces <= pieces.max_pieces]
    return [
        pieces.collate([fitting[place] for place in batch])
        for batch in plan([len(one.words) for one in fitting], cells=CELLS)
    ]


class _Scores(nn.Module):
    """The network with a batch's tensors one by one, as ONNX has inputs."""

    def __init__(self, model: TrainedModel) -> None:
        super().__init__()
        self.network = fold(model.model, portable=True)

    def forward(self, pieces: Tensor, piece_mask: Tensor, word_pieces: Tensor, lengths: Tensor) -> Tensor:
        scores: Tensor = self.network(Batch(pieces, piece_mask, word_pieces, lengths))
        return scores


def _write(model: TrainedModel, path: Path) -> None:
    arrays = model.pieces.collate(model.pieces.encode(EXAMPLE))
    size, pieces, words, most = (torch.export.Dim(name) for name in ("size", "pieces", "words", "most"))
    shapes = ({0: size, 1: pieces}, {0: size, 1: pieces}, {0: size, 1: words, 2: most}, {0: size})
    with _quiet():
        program = torch.onnx.export(
            _Scores(model),
            tuple(torch.from_numpy(array) for array in arrays),
            input_names=list(Arrays._fields),
            output_names=[SCORES],
            dynamic_shapes=shapes,
            opset_version=OPSET,
            dynamo=True,
            verbose=False,
        )
    if program is None:
        raise RuntimeError("the exporter gave no program")
    network = program.model_proto
    for each in (network, network.graph, *network.graph.node, *network.graph.value_info):
        del each.metadata_props[:]  # the exporter's notes, with the paths of this machine in them
        each.doc_string = ""
    onnx.save(network, path)


@contextmanager
def _quiet() -> Iterator[None]:
    """The exporter warns about libraries that it does not need, the quantizer about what the exporter has done."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
