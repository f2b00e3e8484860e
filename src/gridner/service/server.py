"""Runs the service until it is told to stop; what was accepted by then is answered."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys

import uvicorn

from gridner.service.app import Service, create_app
from gridner.service.connections import ACCEPTED, HEADERS, UNREAD, Connection, Seldom, room

BACKLOG = 2048  # connections that the system keeps until they are accepted


class Server(uvicorn.Server):
    """A server that takes a few connections at a time, so that they are counted before there are too many."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        asyncio.get_running_loop().set_exception_handler(Connection.seldom.loop_error)
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(BACKLOG)  # the event loop has set it to as many as it accepts at once


def server_of(
    service: Service, *, connections: int, header_seconds: float = HEADERS, unread_seconds: float = UNREAD
) -> Server:
    """Return a server for a service, with bounds for its connections."""

    class Bounded(Connection):
        most = connections
        seldom = Seldom()

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
            backlog=ACCEPTED,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=round(service.limits.seconds) + 5,
            h11_max_incomplete_event_size=64 * 1024,
        )
    )


def run(service: Service, listening: socket.socket) -> None:
    """Serve on a socket. SIGTERM and Ctrl-C end it as soon as the requests that it has are answered."""
    log = logging.getLogger("gridner.service")
    log.setLevel(logging.INFO if service.access_log else logging.ERROR)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    server = server_of(service, connections=room())
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(
            number, lambda *_: None
        )  # the server's own are in their place while it runs; it raises them after
    server.run(sockets=[listening])
