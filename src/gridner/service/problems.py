"""What went wrong, as a response (RFC 9457). The detail is one line, as everywhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus

from starlette.responses import Response


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """A response that says what was wrong."""
    body = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": " ".join(detail.split())[:500],
    }
    content = json.dumps(body).encode()
    return Response(content, status, dict(headers or {}), media_type="application/problem+json")


def many(count: float, word: str) -> str:
    """A count and its noun: 1 request, 2 requests."""
    shown = f"{count:,}" if isinstance(count, int) else f"{count:g}"
    return f"{shown} {word}{'' if count == 1 else 's'}"
