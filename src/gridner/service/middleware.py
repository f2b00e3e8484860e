"""What every request passes: first metrics, log and headers; then checks of host, token, queue and body."""

from __future__ import annotations

import asyncio
import binascii
import hmac
import json
import logging
import time
import traceback
from base64 import b64decode
from collections.abc import Callable, Collection
from pathlib import Path
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gridner.service.error_responses import problem
from gridner.service.limits import Limits
from gridner.service.metrics import Metrics
from gridner.service.queue import BusyError

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
log = logging.getLogger("gridner.service")


class Monitor:
    """Counts and times requests, adds the security headers, and turns unexpected errors into problems.

    The log contains no texts. It has the kind and place of an internal error; method, path, status and time of each
    request if `access` is set; and the reason of a refusal on the paths in `explain`,
    unless it is a missing token.
    """

    def __init__(
        self,
        app: ASGIApp,
        metrics: Metrics,
        paths: Collection[str],
        access: bool,
        private: bool,
        explain: Collection[str] = (),
    ) -> None:
        self.app, self.metrics, self.paths, self.access, self.explain = app, metrics, paths, access, explain
        self.headers = HEADERS if private else {k: v for k, v in HEADERS.items() if "Resource-Policy" not in k}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status, head = time.perf_counter(), 0, scope["method"] == "HEAD"

        async def sending(message: Message) -> None:
            nonlocal status
            if status >= 400 and status != 401 and scope["path"] in self.explain and message.get("body"):
                log.warning("%s %s %s: %s", scope["method"], scope["path"], status, _detail(message["body"]))
            if head and message["type"] == "http.response.body":
                message = {**message, "body": b""}
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in self.headers.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self.app({**scope, "method": "GET"} if head else scope, receive, sending)
        except asyncio.CancelledError:  # the service stops and waits no longer
            if not status:
                await busy(BusyError("the service is stopping", 1))(scope, receive, sending)
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            log.error("%s at %s:%s", type(error).__name__, Path(frame.filename).name, frame.lineno)
            self.metrics.errors.labels(type(error).__name__).inc()
            if not status:
                await problem(500, "internal error; see the server log")(scope, receive, sending)
        finally:
            taken = time.perf_counter() - began
            path = scope["path"] if scope["path"] in self.paths else "other"
            self.metrics.requests.labels(path, str(status)).inc()
            self.metrics.seconds.labels(path).observe(taken)
            if self.access:
                log.info("%s %s %s %.1f ms", scope["method"], path, status, 1000 * taken)


class Guard:
    """Refuses requests with a wrong host or token, and bodies that are too large, too slow or not JSON."""

    def __init__(
        self,
        app: ASGIApp,
        limits: Limits,
        check: Callable[[], None],
        token: str | None,
        hosts: Collection[str],
        open_paths: Collection[str],
        health_paths: Collection[str],
        json_paths: Collection[str],
        token_in_query: Collection[str] = (),
    ) -> None:
        self.app, self.limits, self.check, self.token = app, limits, check, token
        self.token_in_query = token_in_query  # paths for clients that can send no header
        self.hosts, self.open_paths, self.health_paths, self.json_paths = hosts, open_paths, health_paths, json_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if self.hosts and scope["path"] not in self.health_paths and _host(host) not in self.hosts:
            found = f"host {host!r:.80}" if host else "no Host header"
            await problem(421, f"{found}, expected {' or '.join(sorted(self.hosts))}")(scope, receive, send)
        elif not self._is_authorized(scope, headers):
            said = "no token, or a wrong one; send the header Authorization: Bearer TOKEN"
            await problem(401, said, {"WWW-Authenticate": "Bearer"})(scope, receive, send)
        elif scope["method"] == "POST":
            await self._post(scope, headers, receive, send)
        else:
            await self.app(scope, receive, send)

    def _is_authorized(self, scope: Scope, headers: Headers) -> bool:
        if self.token is None or (scope["method"] == "GET" and scope["path"] in self.open_paths):
            return True
        found = [_token(headers.get("authorization", ""))]
        if scope["path"] in self.token_in_query:
            found += [one.encode() for one in parse_qs(scope["query_string"].decode("latin-1")).get("token", ())]
        return any(hmac.compare_digest(one, self.token.encode()) for one in found)

    async def _post(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        refusal = _compressed(headers) or (_not_json(headers) if scope["path"] in self.json_paths else None)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        most = self.limits.body_bytes
        too_large = problem(413, f"a body of more than {most:,} bytes, expected at most that many in a request")
        try:
            self.check()
        except BusyError as error:
            await busy(error)(scope, receive, send)
            return
        announced = headers.get("content-length", "0")
        if announced.isdecimal() and int(announced[:20]) > most:
            await too_large(scope, receive, send)
            return
        body, more = bytearray(), True
        try:
            async with asyncio.timeout(self.limits.seconds):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return
                    body += message.get("body", b"")
                    more = message.get("more_body", False)
                    if len(body) > most:
                        await too_large(scope, receive, send)
                        return
        except TimeoutError:
            said = f"the body took more than {self.limits.seconds:g} seconds; send it faster"
            await problem(408, said, {"Connection": "close"})(scope, receive, send)
            return
        given = False

        async def whole() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": bytes(body), "more_body": False}

        await self.app(scope, whole, send)


def _token(header: str) -> bytes:
    """Return the token of an Authorization header: Bearer TOKEN, or the password of Basic."""
    kind, _, given = header.partition(" ")
    if kind.lower() == "bearer":
        return given.strip().encode("latin-1")
    if kind.lower() == "basic":
        try:
            return b64decode(given.strip(), validate=True).partition(b":")[2]
        except (binascii.Error, ValueError):
            return b""
    return b""


def _detail(body: bytes) -> str:
    """Return the detail of a problem."""
    try:
        return str(json.loads(body)["detail"])
    except (ValueError, TypeError, KeyError):
        return ""


def _not_json(headers: Headers) -> Response | None:
    """Return the refusal of a body that is not sent as JSON; None if it is."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        found = f"Content-Type: {kind:.80}" if kind else "no Content-Type header"
        return problem(415, f"{found}, expected Content-Type: application/json", {"Accept": "application/json"})
    return None


def _compressed(headers: Headers) -> Response | None:
    """Return the refusal of a compressed body; None if it is not compressed."""
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding == "identity":
        return None
    detail = f"Content-Encoding: {encoding:.80}, expected a body that is not compressed"
    return problem(415, detail, {"Accept-Encoding": "identity"})


def busy(error: BusyError) -> Response:
    """Return the response of an overloaded service."""
    return problem(503, str(error), {} if error.seconds is None else {"Retry-After": str(error.seconds)})


def _host(header: str) -> str:
    """Return the name in a Host header, without the port."""
    name = header.strip().lower()
    return name.partition("]")[0] + "]" if name.startswith("[") else name.partition(":")[0]
