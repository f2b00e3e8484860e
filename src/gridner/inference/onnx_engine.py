"""A network on ONNX Runtime, without torch or transformers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from gridner.errors import FormatError, first_line
from gridner.inference.available_cores import usable_cores
from gridner.inference.checkpoint import EXPORTED
from gridner.inference.engine import GridBatch, WordVectors
from gridner.inference.word_pieces import PieceBatch

SCORES = "scores"
SLOW_FUSIONS = ["SkipLayerNormFusion"]  # its kernel is slower than the two operators it replaces


class OnnxEngine:
    """A network in the two files that `gridner export` wrote.

    Each thread computes a batch of its own: several threads for one batch are slower. With `threads` None there is a
    thread for each core.
    """

    def __init__(self, folder: Path, *, threads: int | None = None) -> None:
        self.workers = threads or usable_cores()
        reader, tagger = (folder / name for name in EXPORTED)
        self.reader = _session(reader, inputs=PieceBatch._fields, outputs=WordVectors._fields)
        self.tagger = _session(tagger, inputs=GridBatch._fields, outputs=(SCORES,))

    def encode(self, batch: PieceBatch) -> WordVectors:
        """Return the words of a batch as vectors."""
        return WordVectors(*self.reader.run(list(WordVectors._fields), batch._asdict()))

    def tag(self, grid: GridBatch) -> NDArray[np.floating]:
        """Return scores [B, m, m, labels]."""
        scores: NDArray[np.floating] = self.tagger.run([SCORES], grid._asdict())[0]
        return scores


def _session(path: Path, *, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # errors are raised
    try:
        session = onnxruntime.InferenceSession(
            path, options, providers=["CPUExecutionProvider"], disabled_optimizers=SLOW_FUSIONS
        )
    except Exception as error:  # onnxruntime's own have no common base
        raise FormatError(f"{path}: {first_line(error)}; export the model again") from None
    own_inputs = sorted(value.name for value in session.get_inputs())
    own_outputs = sorted(value.name for value in session.get_outputs())
    if own_inputs != sorted(inputs) or own_outputs != sorted(outputs):
        raise FormatError(
            f"{path}: inputs {', '.join(own_inputs):.80} and outputs {', '.join(own_outputs):.40}, "
            f"expected {', '.join(sorted(inputs))} and {', '.join(sorted(outputs))}"
        )
    return session
