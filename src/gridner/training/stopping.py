"""Ctrl-C and SIGTERM, heeded between two steps, where the state is whole."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Stopped(Exception):
    """The training was asked to stop, and its snapshot is written."""


class Stop:
    """Whether someone has asked."""

    def __init__(self) -> None:
        self.asked = False

    def check(self) -> None:
        """Stop here, if asked."""
        if self.asked:
            raise Stopped

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Take Ctrl-C and SIGTERM as a wish to stop; a second one interrupts at once."""

        def ask(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
            if self.asked:
                raise KeyboardInterrupt
            self.asked = True

        signals = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, ask) for number in signals}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
