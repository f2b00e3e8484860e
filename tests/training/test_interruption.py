import io
import os
import signal
import sys

import pytest

from gridner.training.interruption import Stop


class Interrupted(io.RawIOBase):
    """A terminal at which Ctrl-C comes in the middle of a line."""

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        os.kill(os.getpid(), signal.SIGINT)
        return len(data)  # type: ignore[arg-type]


def test_ctrl_c_may_come_while_a_line_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = Stop()
    with stop.on_signals(), monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", io.TextIOWrapper(io.BufferedWriter(Interrupted()), line_buffering=True))
        sys.stderr.write("epoch 1\n")
    assert stop.wanted
