"""Clients that connect and do not what clients do: nothing of theirs is waited for without end."""

import asyncio
import logging
import resource
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from gridner.errors import UsageError
from gridner.service.app import Service
from gridner.service.connections import MOST_CONNECTIONS, RESERVE, Connection, RateLimitedLog, connection_limit
from gridner.service.metrics import Metrics
from gridner.service.middleware import Monitor
from support.serving import quick, running, served, slow


@contextmanager
def connected(address: str, sent: bytes = b"") -> Iterator[socket.socket]:
    """A connection on which so much was sent."""
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(sent)
        yield connection


def rest(connection: socket.socket) -> bytes:
    """All that comes until the connection ends."""
    found = b""
    while chunk := connection.recv(65536):
        found += chunk
    return found


def test_idle_connections_make_room_for_others() -> None:
    with running(Service(recognizer=quick()), connections=8) as address:
        host, port = address.removeprefix("http://").split(":")
        idle = [socket.create_connection((host, int(port)), timeout=60) for _ in range(12)]
        assert httpx.get(f"{address}/healthz").status_code == 200
        assert [rest(one) for one in idle[:4]] == [b""] * 4  # the longest idle ones are closed
        for one in idle:
            one.close()


def test_a_connection_with_a_request_is_not_closed_for_others() -> None:
    reader = slow()
    body = b'{"text": "No pain."}'
    head = b"POST /v1/recognize HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\n"
    with (
        running(Service(recognizer=reader), connections=1) as address,
        connected(address, head + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)) as waiting,
    ):
        reader.began.acquire()
        with connected(address) as refused:
            assert rest(refused).startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
        reader.gate.release()
        assert rest(waiting).startswith(b"HTTP/1.1 200 OK\r\n")


def test_headers_that_do_not_end_are_not_waited_for() -> None:
    with running(Service(recognizer=quick()), header_seconds=0.3) as address:
        with connected(address, b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ") as slowly:
            assert rest(slowly).startswith(b"HTTP/1.1 408 Request Timeout\r\n")
        with connected(address) as silent:
            assert rest(silent) == b""
        with connected(address, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET / HT") as second:
            answers = rest(second)
        assert answers.startswith(b"HTTP/1.1 200 OK\r\n")
        assert httpx.get(f"{address}/healthz").status_code == 200


def test_bytes_that_trickle_in_do_not_prolong_it() -> None:
    with (
        running(Service(recognizer=quick()), header_seconds=0.3) as address,
        connected(address, b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ") as slowly,
    ):
        ended = threading.Event()

        def trickle() -> None:
            while not ended.wait(0.01):
                try:
                    slowly.sendall(b"x")
                except OSError:
                    return

        thread = threading.Thread(target=trickle)
        thread.start()
        said = slowly.recv(65536)
        ended.set()
        thread.join()
        assert said.startswith(b"HTTP/1.1 408 ")


def test_an_answer_that_is_not_read_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = threading.Event()
    before = Connection._is_unread

    def check(self: Connection, *values: Any) -> None:
        before(self, *values)
        if self.transport.is_closing():
            checked.set()

    monkeypatch.setattr(Connection, "_is_unread", check)
    asked = b"GET /page/page.css HTTP/1.1\r\nHost: x\r\n\r\n" * 2000
    with running(Service(recognizer=quick()), unread_seconds=0.3) as address, connected(address) as greedy:
        sender = threading.Thread(target=greedy.sendall, args=(asked,), daemon=True)
        sender.start()
        assert checked.wait(60)


@pytest.mark.parametrize(
    ("limits", "raised", "connections"),
    [
        ((1024, 1_048_576), (MOST_CONNECTIONS + RESERVE, 1_048_576), MOST_CONNECTIONS),
        ((1024, resource.RLIM_INFINITY), (MOST_CONNECTIONS + RESERVE, resource.RLIM_INFINITY), MOST_CONNECTIONS),
        ((1024, 1024), (1024, 1024), 1024 - RESERVE),
        ((256, 1024), (1024, 1024), 1024 - RESERVE),
        ((100_000, 100_000), None, MOST_CONNECTIONS),
        ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), None, MOST_CONNECTIONS),
    ],
)
def test_the_limit_of_open_files_is_raised_and_bounds_the_connections(
    monkeypatch: pytest.MonkeyPatch, limits: tuple[int, int], raised: tuple[int, int] | None, connections: int
) -> None:
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda _, to: asked.append(to))
    assert connection_limit() == connections
    assert asked == ([] if raised is None else [raised])


def test_too_few_open_files_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (64, 64))
    monkeypatch.setattr(resource, "setrlimit", lambda *_: None)
    with pytest.raises(UsageError, match="64 open files allowed"):
        connection_limit()


def test_more_connections_than_open_files_neither_stop_it_nor_fill_the_log() -> None:
    with served(files=160) as (process, address):
        host, port = address.removeprefix("http://").split(":")
        idle = [socket.create_connection((host, int(port)), timeout=60) for _ in range(250)]
        assert httpx.get(f"{address}/healthz", timeout=60).status_code == 200
        for one in idle:
            one.close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert process.stderr is not None
        said = process.stderr.read().splitlines()
    assert len(said) == 1
    assert "more than 64 connections" in said[0]


def test_an_error_of_the_event_loop_is_a_line_a_minute_without_a_traceback(caplog: pytest.LogCaptureFixture) -> None:
    occasional_log, loop = RateLimitedLog(), asyncio.new_event_loop()
    with caplog.at_level(logging.ERROR, logger="gridner.service"):
        for _ in range(1000):
            occasional_log.loop_error(loop, {"message": "socket.accept() failed", "exception": OSError("secret")})
    loop.close()
    assert [record.getMessage() for record in caplog.records] == ["socket.accept() failed (OSError)"]


def test_stopping_does_not_wait_for_requests_that_have_not_come_whole() -> None:
    with served() as (process, address):
        body = b"POST /v1/recognize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        with (
            connected(address, b"GET / HTTP/1.1\r\nHost: local"),
            connected(address, body + b"Content-Length: 100\r\nExpect: 100-continue\r\n\r\n") as half,
        ):
            assert half.recv(1000).startswith(b"HTTP/1.1 100 ")  # its body is being read
            half.sendall(b'{"text": ')
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0


def test_stopping_does_not_wait_for_work_that_is_given_up() -> None:
    text = "loss of rod and cone photoreceptors with apoptosis of amacrine cells and " * 2000
    body = b'{"text": "%s"}' % text.encode()
    head = b"POST /page/draw HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with served() as (process, address):
        with connected(address, head + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)):
            while "gridner_queue_requests 1.0" not in httpx.get(f"{address}/metrics", timeout=60).text:
                pass
        while "gridner_cancelled_total 1.0" not in httpx.get(f"{address}/metrics", timeout=60).text:
            pass
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def test_a_request_that_the_end_of_the_service_cuts_short_is_told_so() -> None:
    sent: list[dict[str, Any]] = []

    async def endless(*_: Any) -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    async def scene() -> None:
        watch = Monitor(endless, Metrics(), (), access=False, private=True)
        task = asyncio.create_task(watch({"type": "http", "path": "/", "method": "POST"}, endless, send))
        await asyncio.sleep(0)
        task.cancel()
        await task

    asyncio.run(scene())
    assert sent[0]["status"] == 503
    assert b"the service is stopping" in sent[1]["body"]


def test_the_unit_allows_as_many_open_files_as_connections_need() -> None:
    unit = (Path(__file__).parents[2] / "deploy" / "gridner.service").read_text()
    (allowed,) = (line.partition("=")[2] for line in unit.splitlines() if line.startswith("LimitNOFILE="))
    assert int(allowed) >= MOST_CONNECTIONS + RESERVE
