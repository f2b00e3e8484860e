"""Ctrl-C and SIGTERM, heeded between two steps, where the state is whole."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SAID = b"\ngridner: stopping as soon as the state is saved; once more to interrupt at once\n"
SAME = 2.0  # seconds in which a second signal is the first one, passed on


class Stopped(Exception):
    """The training was asked to stop, and its snapshot is written."""


class Stop:
    """Whether this process was asked to stop, and whether several have agreed to."""

    def __init__(self) -> None:
        self.wanted = False
        self.agreed = False
        self.since = 0.0

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Take Ctrl-C and SIGTERM as a wish to stop; a second one interrupts at once.

        Launchers pass on to their processes what the terminal has sent them already, so it must come a while later.
        """
        if threading.current_thread() is not threading.main_thread():  # which alone gets signals
            yield
            return

        def ask(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
            if self.wanted:
                if time.monotonic() - self.since > SAME:
                    raise KeyboardInterrupt
                return
            self.wanted, self.since = True, time.monotonic()
            os.write(2, SAID)  # sys.stderr may be in the middle of a line, and takes no second one

        signals = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, ask) for number in signals}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
