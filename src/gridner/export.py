"""A trained model as ONNX: the whole network, encoder included, for batches and sentences of any size."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor, nn

from gridner.batches import Arrays
from gridner.checkpoint import NETWORK, write_checkpoint
from gridner.model.fold import fold
from gridner.model.toe import Batch
from gridner.onnx_engine import SCORES
from gridner.trained import TrainedModel

OPSET = 20  # has Gelu
EXAMPLE = (("a", "b", "c", "d", "e", "f", "g"), ("a", "b", "c"), ("a", "b", "c", "d", "e"))  # sizes that all differ


def export(model: TrainedModel, directory: str | Path) -> None:
    """Write the model as a folder that `gridner.load` takes where there is no torch."""
    checkpoint = replace(model.checkpoint, network=NETWORK)
    write_checkpoint(
        Path(directory),
        checkpoint,
        tokenizer=model.pieces.tokenizer,
        write_network=lambda path: _write(model, path),
        card=model.card,
    )


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
    program.save(str(path), external_data=False)


@contextmanager
def _quiet() -> Iterator[None]:
    """The exporter warns about libraries that it does not need."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
