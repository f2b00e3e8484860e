"""Turn exceptions into responses. Every error is a JSON problem, and none repeats much of the request."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from gridner.errors import GridnerError
from gridner.service.error_responses import problem
from gridner.service.middleware import busy
from gridner.service.queue import BusyError
from gridner.service.schema import KINDS

GZIP = b"\x1f\x8b"
MEANINGS = {
    "missing": "missing",
    "extra_forbidden": "unknown key",
    "model_type": "expected an object",
    "model_attributes_type": "expected an object",
}


def add_error_handlers(app: FastAPI) -> None:
    """Let an application answer errors with problems (RFC 9457)."""
    handlers: dict[type[Exception], Callable[[Request, Exception], Any]] = {
        RequestValidationError: _invalid,
        HTTPException: _refused,
        BusyError: _busy,
        GridnerError: _wrong,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    first, *more = error.errors()
    if first["type"] == "json_invalid":
        return problem(400, f"not JSON ({first['ctx']['error']} at character {first['loc'][-1]}), expected an object")
    where = ".".join(str(part) for part in first["loc"] if part != "body" and part not in KINDS) or "the body"
    said = MEANINGS.get(first["type"], first["msg"].removeprefix("Value error, "))
    if first["loc"][-1] in KINDS:
        said = "expected a text, or an object with an id and a text"
    others = f" (and {len(more)} more)" if more else ""
    return problem(422, f"{where[:120]}: {said}{others}")


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    if error.status_code == 499:
        return Response(status_code=499)
    said = error.detail
    if error.status_code == 400 and error.__cause__ is not None:  # the framework could not read the body
        said = _unreadable(error.__cause__)
    elif said == HTTPStatus(error.status_code).phrase:  # the framework's own: no such path, no such method
        said = f"{request.method} {request.url.path:.80}, expected a path of /openapi.json"
        if allowed := (error.headers or {}).get("Allow"):
            said = f"{request.method} {request.url.path:.80}, expected {allowed}"
    return problem(error.status_code, said, error.headers)


def _unreadable(error: BaseException) -> str:
    if isinstance(error, UnicodeDecodeError):
        if error.object.startswith(GZIP):
            return "the body is compressed, expected JSON as it is"
        return f"not JSON (byte {error.start:,} is not UTF-8), expected an object in UTF-8"
    if isinstance(error, RecursionError):
        return "not JSON that can be read (nested too deeply), expected an object"
    return f"not JSON that can be read ({str(error).partition(':')[0]:.120}), expected an object"


async def _wrong(_: Request, error: Exception) -> Response:
    return problem(422, str(error))


async def _busy(_: Request, error: Exception) -> Response:
    assert isinstance(error, BusyError)  # noqa: S101
    return busy(error)
