"""Errors as responses (RFC 9457)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus

from starlette.responses import Response


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return an error response. Its detail is one line."""
    body = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": " ".join(detail.split())[:500],
    }
    content = json.dumps(body).encode()
    return Response(content, status, dict(headers or {}), media_type="application/problem+json")
