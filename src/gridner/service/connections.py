"""Limits for connections: how many there can be, and how long a client may take to send headers or read a response.

Clients that open connections and send nothing, or send and never read, cannot use up file descriptors or memory.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from http import HTTPStatus
from typing import Any

from starlette.responses import Response
from uvicorn.protocols.http.h11_impl import H11Protocol

from gridner.errors import UsageError, plural
from gridner.service.error_responses import problem

MOST_CONNECTIONS = 2048  # connections at a time
ACCEPTED_AT_ONCE = 16  # connections that are accepted at once, before any of them is counted
RESERVE = 96  # file descriptors for those, for models and for logs
HEADER_SECONDS = 10.0  # seconds from the first byte of a request, or from connecting, to the end of its headers
UNREAD_SECONDS = 30.0  # seconds in which a client must read something of its answer
UNREAD_SECONDS_AT_END = 5.0  # the same while the service stops
LOG_SECONDS = 60.0  # seconds between two lines in the log that say the same
log = logging.getLogger("gridner.service")


def connection_limit() -> int:
    """Return how many connections the service can hold, after raising the soft limit of open files if necessary."""
    try:
        import resource
    except ImportError:  # Windows, which has no such limit
        return MOST_CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + RESERVE
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    least = RESERVE + ACCEPTED_AT_ONCE
    if soft != resource.RLIM_INFINITY and soft < least:
        raise UsageError(f"{plural(soft, 'open file')} allowed (ulimit -n), expected at least {least}")
    return MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else min(MOST_CONNECTIONS, soft - RESERVE)


class RateLimitedLog:
    """Logs each message at most once per minute."""

    def __init__(self) -> None:
        self._said: dict[str, tuple[float, int]] = {}  # when it was logged, and how often it happened since

    def error(self, what: str) -> None:
        """Log a message, with how often it occurred since it was last logged."""
        now = time.monotonic()
        when, count = self._said.get(what, (now - LOG_SECONDS, 0))
        if now - when < LOG_SECONDS:
            self._said[what] = (when, count + 1)
            return
        self._said[what] = (now, 0)
        log.error("%s%s", what, f" ({plural(count, 'time')} more since the last such line)" if count else "")

    def loop_error(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log an error of the event loop without its traceback, which could contain what users send."""
        error = context.get("exception")
        self.error(f"{context.get('message', 'error')}{f' ({type(error).__name__})' if error else ''}")


class Connection(H11Protocol):
    """A connection with time limits. If there are too many, the one that has been idle longest is closed."""

    most = MOST_CONNECTIONS
    header_seconds = HEADER_SECONDS
    unread_seconds = UNREAD_SECONDS
    occasional_log = RateLimitedLog()

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._since = 0.0  # when it became idle
        self._heard = False  # whether a request has begun
        self._timers: dict[str, asyncio.TimerHandle] = {}

    @property
    def idle(self) -> bool:
        """Whether there is no request to answer."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection; close another if there are too many."""
        super().connection_made(transport)
        self._since = self.loop.time()
        if len(self.connections) > self.most:
            self._make_room()
        self._in(self.header_seconds, "headers", self._without_headers)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Handle received bytes. The headers of a request must be complete in time."""
        super().data_received(data)
        if self.idle:
            self._heard = True
            if "headers" not in self._timers:
                self._in(self.header_seconds, "headers", self._without_headers)
        else:
            self._heard = False
            self._stop("headers")

    def on_response_complete(self) -> None:
        """Wait for the next request, and for the client to read the response."""
        self._since = self.loop.time()
        super().on_response_complete()
        self._watch_unread(self.unread_seconds)
        if self.idle and self.conn.trailing_data[0]:  # the beginning of another request
            self._heard = True
            self._in(self.header_seconds, "headers", self._without_headers)

    def shutdown(self) -> None:
        """Close once the request is answered; at once if its body is incomplete."""
        super().shutdown()
        if not self.idle and self.cycle.more_body:
            self.transport.close()
        self._watch_unread(min(UNREAD_SECONDS_AT_END, self.unread_seconds))

    def send_400_response(self, msg: str) -> None:
        """Respond to bytes that are not HTTP. The reason is that of the exception being handled."""
        error = sys.exc_info()[1]
        if self.cycle is not None and self.cycle.response_started:
            self.transport.close()
        else:
            status = getattr(error, "error_status_hint", 400)
            self._end_with(problem(status, f"not HTTP/1.1 ({error or msg}); send an HTTP/1.1 request"))

    def _in(self, seconds: float, name: str, call: Any, *values: Any) -> None:
        self._stop(name)
        self._timers[name] = self.loop.call_later(seconds, call, *values)

    def _stop(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()

    def _without_headers(self) -> None:
        self._stop("headers")
        if self.transport.is_closing() or not self.idle:
            return
        if self._heard:
            said = f"the headers took more than {plural(self.header_seconds, 'second')}, send them faster"
            self._end_with(problem(408, said))
        else:
            self.transport.close()

    def _watch_unread(self, seconds: float) -> None:
        """Close the connection if the client reads nothing of its response for `seconds`."""
        if left := self.transport.get_write_buffer_size():
            self._in(seconds, "unread", self._is_unread, left, seconds)

    def _is_unread(self, before: int, seconds: float) -> None:
        self._stop("unread")
        if self.transport.get_write_buffer_size() < before:
            self._watch_unread(seconds)
        else:
            self.transport.abort()

    def _make_room(self) -> None:
        """Close the connection that has been idle longest; this one if all others have a request."""
        idle = [
            one
            for one in self.connections
            if isinstance(one, Connection) and one is not self and one.idle and not one.transport.is_closing()
        ]
        if idle:
            self.occasional_log.error(f"more than {self.most:,} connections: closed the one that was idle longest")
            min(idle, key=lambda one: (one.transport.get_write_buffer_size() > 0, one._since)).transport.abort()
        else:
            self.occasional_log.error(f"more than {self.most:,} connections, a request on each: refused one")
            self._end_with(problem(503, "too many connections; retry later", {"Retry-After": "1"}))

    def _end_with(self, response: Response) -> None:
        """Send a response without a request, then close."""
        lines = [f"HTTP/1.1 {response.status_code} {HTTPStatus(response.status_code).phrase}"]
        lines += [f"{name.decode()}: {value.decode()}" for name, value in response.raw_headers]
        head = "\r\n".join([*lines, "connection: close", "", ""]).encode("latin-1")
        self.transport.write(head + bytes(response.body))
        self.transport.close()
