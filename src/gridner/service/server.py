"""Run the service until it is told to stop, and then finish the requests that it has accepted."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys

import uvicorn

from gridner.service.app import Service, create_app
from gridner.service.connections import (
    ACCEPTED_AT_ONCE,
    HEADER_SECONDS,
    UNREAD_SECONDS,
    Connection,
    RateLimitedLog,
    connection_limit,
)

BACKLOG = 2048  # connections that the system keeps until they are accepted


class Server(uvicorn.Server):
    """A server that accepts a few connections at a time, so that the limit is checked before there are too many."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen."""
        asyncio.get_running_loop().set_exception_handler(Connection.occasional_log.loop_error)
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(BACKLOG)  # the event loop has set it to as many as it accepts at once


def create_server(
    service: Service,
    *,
    connections: int,
    header_seconds: float = HEADER_SECONDS,
    unread_seconds: float = UNREAD_SECONDS,
) -> Server:
    """Return a server with limits for its connections."""

    class Bounded(Connection):
        most = connections
        occasional_log = RateLimitedLog()

    Bounded.header_seconds, Bounded.unread_seconds = header_seconds, unread_seconds
    return Server(
        uvicorn.Config(
            create_app(service),
            http=Bounded,
            ws="none",
            loop="asyncio",
            log_level="error",
            access_log=False,
            server_header=False,
            backlog=ACCEPTED_AT_ONCE,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=round(service.limits.seconds) + 5,
            h11_max_incomplete_event_size=64 * 1024,
        )
    )


def run(service: Service, listening: socket.socket) -> None:
    """Serve on a socket. On SIGTERM or Ctrl-C, answer the accepted requests and return."""
    log = logging.getLogger("gridner.service")
    log.setLevel(logging.INFO if service.access_log else logging.WARNING)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    server = create_server(service, connections=connection_limit())
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(
            number, lambda *_: None
        )  # the server's own are in their place while it runs; it raises them after
    server.run(sockets=[listening])
