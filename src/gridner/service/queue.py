"""The queue: how many requests are accepted and not answered yet. Whatever computes has a place in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from gridner.errors import GridnerError
from gridner.service.limits import Limits
from gridner.service.metrics import Metrics
from gridner.service.problems import many


class BusyError(GridnerError):
    """There is too much to do. `seconds` from now it may be otherwise; None if waiting does not help."""

    def __init__(self, said: str, seconds: int | None) -> None:
        super().__init__(said)
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a request: how many came before it, and whether others were in the queue already."""

    number: int
    others: bool


class Queue:
    """Counts requests from the moment they are accepted until they are answered or given up. The event loop's own."""

    def __init__(
        self, limits: Limits, metrics: Metrics, *, alive: Callable[[], bool], delay: Callable[[], int]
    ) -> None:
        """`alive` says whether anything is answered, `delay` in how many seconds there may be room."""
        self.limits, self.metrics = limits, metrics
        self.alive, self.delay = alive, delay
        self.waiting = 0
        self._accepted = 0

    def check(self) -> None:
        """Raise BusyError if there is no room for another request."""
        if not self.alive():
            raise BusyError("the service is starting or stopping", 1)
        if self.waiting >= self.limits.queue:
            self.metrics.refused.inc()
            waiting = f"{many(self.waiting, 'request')} {'is' if self.waiting == 1 else 'are'} waiting"
            raise BusyError(f"{waiting}, the most that the service takes; retry later", self.delay())

    @contextmanager
    def place(self) -> Iterator[Place]:
        """Have a place, or raise BusyError."""
        self.check()
        place = Place(self._accepted, self.waiting > 0)
        self._accepted += 1
        self._count(1)
        try:
            yield place
        finally:
            self._count(-1)

    def had_company(self, place: Place) -> bool:
        """Whether a request has shared the service with others since it was accepted."""
        return place.others or self._accepted > place.number + 1

    def _count(self, requests: int) -> None:
        self.waiting += requests
        self.metrics.waiting.set(self.waiting)
