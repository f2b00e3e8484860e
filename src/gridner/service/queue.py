"""Bound how many requests are accepted and not answered yet. Whatever computes has a place in the queue."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from gridner.errors import GridnerError, plural
from gridner.service.limits import Limits
from gridner.service.metrics import Metrics


class BusyError(GridnerError):
    """The service cannot take a request. Retry after `seconds`; None if waiting does not help."""

    def __init__(self, message: str, seconds: int | None) -> None:
        super().__init__(message)
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class Ticket:
    """The place of a request in the queue: its number, and whether other requests were waiting."""

    number: int
    others: bool


class Queue:
    """Counts requests from when they are accepted until they are answered or abandoned. Only the event loop uses it."""

    def __init__(
        self, limits: Limits, metrics: Metrics, *, alive: Callable[[], bool], delay: Callable[[], int]
    ) -> None:
        """`alive` tells whether requests are answered, `delay` after how many seconds there may be room."""
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
            waiting = f"{plural(self.waiting, 'request')} {'is' if self.waiting == 1 else 'are'} waiting"
            raise BusyError(f"{waiting}, the maximum; retry later", self.delay())

    @contextmanager
    def admit(self) -> Iterator[Ticket]:
        """Have a ticket, or raise BusyError."""
        self.check()
        ticket = Ticket(self._accepted, self.waiting > 0)
        self._accepted += 1
        self._count(1)
        try:
            yield ticket
        finally:
            self._count(-1)

    def had_others(self, ticket: Ticket) -> bool:
        """Return whether the service had other requests since this one was accepted."""
        return ticket.others or self._accepted > ticket.number + 1

    def _count(self, requests: int) -> None:
        self.waiting += requests
        self.metrics.waiting.set(self.waiting)
