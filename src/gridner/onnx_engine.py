"""Scores on ONNX Runtime: neither torch nor transformers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from gridner.batches import Arrays
from gridner.errors import FormatError

SCORES = "scores"


class OnnxEngine:
    """A network in a file that `gridner export` wrote. `threads`: as many as there are cores if None."""

    def __init__(self, path: Path, *, threads: int | None = None) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads or 0
        options.inter_op_num_threads = 1
        options.log_severity_level = 4  # what is wrong is raised
        try:
            self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's own have no common base
            raise FormatError(f"{path}: {_first_line(error)}, expected the network of gridner export") from None
        found = sorted(each.name for each in self.session.get_inputs())
        given = sorted(each.name for each in self.session.get_outputs())
        if found != sorted(Arrays._fields) or given != [SCORES]:
            said = f"inputs {', '.join(found):.80} and outputs {', '.join(given):.40}"
            raise FormatError(f"{path}: {said}, expected {', '.join(sorted(Arrays._fields))} and {SCORES}")

    def scores(self, batch: Arrays) -> NDArray[np.floating]:
        """Scores [B, n, n, labels]."""
        found: NDArray[np.floating] = self.session.run([SCORES], batch._asdict())[0]
        return found


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:160]
