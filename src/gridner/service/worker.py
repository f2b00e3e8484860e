"""A thread for what requests compute apart from recognition: drawings, grids, files.

The work of a request is a generator. Requests take turns between its steps. A cancelled request ends after its step.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Generator
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

Result = TypeVar("Result")
Steps = Generator[None, None, Result]
TURN_SECONDS = 0.02  # seconds after which the next request has its turn
LAST_STEP_SECONDS = 10  # seconds for which closing waits for a step that is under way


@dataclass(eq=False, slots=True)
class Task:
    """The work of a request, and where its result goes."""

    steps: Steps[Any]
    result: Future[Any] = field(default_factory=Future)


class Worker:
    """Runs the work of requests, a few steps of each in turn."""

    def __init__(self) -> None:
        self._tasks: deque[Task] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._thread: threading.Thread | None = None

    def start(self) -> Worker:
        """Start the thread."""
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="gridner-worker", daemon=True)
        self._thread.start()
        return self

    @property
    def alive(self) -> bool:
        """Whether the thread accepts work."""
        return self._thread is not None and self._thread.is_alive() and not self._closing

    async def run(self, steps: Steps[Result]) -> Result:
        """Run a generator to its end and return its result. If the caller is cancelled, stop after the current step."""
        task = Task(steps)
        with self._changed:
            self._tasks.append(task)
            self._changed.notify()
        result: Result = await asyncio.wrap_future(task.result)
        return result

    def close(self) -> None:
        """Finish the work that was not cancelled, then stop the thread."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(LAST_STEP_SECONDS)

    def _work(self) -> None:
        while task := self._next():
            if self._take_turn(task):
                with self._changed:
                    self._tasks.append(task)

    def _next(self) -> Task | None:
        with self._changed:
            while not self._tasks and not self._closing:
                self._changed.wait()
            return self._tasks.popleft() if self._tasks else None

    def _take_turn(self, task: Task) -> bool:
        """Run steps until the turn is over; return whether there are more."""
        until = time.monotonic() + TURN_SECONDS
        try:
            while not task.result.done():  # cancelled
                next(task.steps)
                if time.monotonic() > until:
                    return True
            task.steps.close()
        except StopIteration as end:
            with suppress(InvalidStateError):
                task.result.set_result(end.value)
        except Exception as error:
            with suppress(InvalidStateError):
                task.result.set_exception(error)
        return False
