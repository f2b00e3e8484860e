"""Stop on Ctrl-C or SIGTERM between two steps, when the state is complete."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

MESSAGE = b"\ngridner: stopping when the state is saved; press again to stop at once\n"
REPEATED = 2.0  # seconds within which a second signal is the first one, passed on by a launcher


class Stopped(Exception):
    """The training stopped on request, after writing a snapshot."""


class Stop:
    """Whether this process was asked to stop, and whether all processes agreed to."""

    def __init__(self) -> None:
        self.wanted = False
        self.agreed = False
        self.since = 0.0

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Treat Ctrl-C and SIGTERM as a request to stop. A second one interrupts at once.

        Launchers pass on a signal that the terminal has already sent to their processes, so a second signal counts only
        after a while.
        """
        if threading.current_thread() is not threading.main_thread():  # only the main thread gets signals
            yield
            return

        def ask(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
            if self.wanted:
                if time.monotonic() - self.since > REPEATED:
                    raise KeyboardInterrupt
                return
            self.wanted, self.since = True, time.monotonic()
            os.write(2, MESSAGE)  # sys.stderr may be in use, and is not reentrant

        signals = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, ask) for number in signals}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
