"""Runs the service until it is told to stop; what was accepted by then is answered."""

from __future__ import annotations

import logging
import signal
import socket
import sys

import uvicorn

from gridner.service.app import Service, create_app


def run(service: Service, listening: socket.socket) -> None:
    """Serve on a socket. SIGTERM and Ctrl-C end it as soon as the requests that it has are answered."""
    log = logging.getLogger("gridner.service")
    log.setLevel(logging.INFO if service.access_log else logging.ERROR)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    server = uvicorn.Server(
        uvicorn.Config(
            create_app(service),
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=round(service.limits.seconds) + 5,
            h11_max_incomplete_event_size=64 * 1024,
        )
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(
            number, lambda *_: None
        )  # the server's own are in their place while it runs; it raises them after
    server.run(sockets=[listening])
