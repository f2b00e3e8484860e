"""The page at `/`, its files, and the endpoints that it uses: entities to draw, grids of sentences, files to save.

The scripts of the page lay out what is drawn, and hide what is below the threshold. Nothing is kept here.
"""

from __future__ import annotations

import hashlib
from typing import Any, Literal

from fastapi import FastAPI
from pydantic import Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from gridner.documents import Document
from gridner.errors import Notes
from gridner.files import check_not_empty
from gridner.service.drawing import annotated_document, drawing_json, file_to_save, grids_json
from gridner.service.requests import check_length, requested_models, wait_for_result
from gridner.service.runtime import Runtime
from gridner.service.schema import Strict, UnicodeText
from gridner.view.html import asset

STYLES = ("draw.css", "base.css", "page.css")
SCRIPTS = (
    *("elements.js", "offsets.js", "draw.js", "lanes.js", "grid.js"),  # as in the report
    *("state.js", "service.js", "model.js", "examples.js", "input.js", "opening.js", "documents.js", "views.js"),
    *("controls.js", "reading.js", "selecting.js", "review.js", "inspector.js", "table.js", "copying.js", "page.js"),
)
ASSETS = dict.fromkeys(STYLES, "css") | dict.fromkeys(SCRIPTS, "javascript")
POST_PATHS = ("/page/draw", "/page/grid", "/page/save")
LOWEST_SCORE = 0.02  # score of an entity that the slider can bring to light


class DrawRequest(Strict):
    """A text; with the contents of an .ann file, its entities are drawn instead of those that are found."""

    text: UnicodeText
    id: UnicodeText = Field("text", min_length=1, max_length=256)
    ann: UnicodeText | None = None
    model: str | None = None  # a name; None: all models


class GridRequest(Strict):
    """A sentence of a text, by one of its characters."""

    text: UnicodeText
    at: int = Field(ge=0)
    model: str | None = None  # a name; None: the first model


class SaveRequest(Strict):
    """Documents of JSON lines, and the format to write them in."""

    documents: list[dict[str, Any]] = Field(min_length=1)
    format: Literal["brat", "jsonl", "csv"]


def add_page(app: FastAPI, runtime: Runtime) -> None:
    """Add the page, its files and the endpoints that it uses."""
    batcher, worker, queue, limits = runtime.batcher, runtime.worker, runtime.queue, runtime.limits

    @app.get("/", include_in_schema=False)
    async def index(request: Request) -> Response:
        return _file(request, "page.html", "html")

    @app.get("/page/{name}", include_in_schema=False)
    async def file(name: str, request: Request) -> Response:
        if name not in ASSETS:
            raise HTTPException(404, f"/page/{name:.40}, expected one of {', '.join(ASSETS)}")
        return _file(request, name, ASSETS[name])

    @app.post("/page/draw", include_in_schema=False)
    async def draw(asked: DrawRequest, request: Request) -> Response:
        check_length(asked.id, asked.text, limits)
        check_not_empty(asked.text, asked.id[:80])
        return Response(await wait_for_result(_drawn(asked), request, queue), media_type="application/json")

    async def _drawn(asked: DrawRequest) -> bytes:
        notes, models = Notes(), requested_models(asked.model, runtime.models)
        if asked.ann is not None:
            document = await worker.run(annotated_document(asked.id, asked.text, asked.ann, limits, notes))
        else:
            plain = [Document(asked.id, asked.text)]
            (document,) = await batcher.recognize(plain, threshold=LOWEST_SCORE, notes=notes, models=models)
        recognizer = runtime.recognizer if asked.model is None else runtime.models[asked.model]
        return await worker.run(drawing_json(document, recognizer, limits, notes))

    @app.post("/page/grid", include_in_schema=False)
    async def grid(asked: GridRequest, request: Request) -> Response:
        check_length("text", asked.text, limits)
        requested_models(asked.model, runtime.models)
        name = next(iter(runtime.models)) if asked.model is None else asked.model
        work = worker.run(grids_json(asked.text, asked.at, runtime.models[name]))
        return Response(await wait_for_result(work, request, queue), media_type="application/json")

    @app.post("/page/save", include_in_schema=False)
    async def save(asked: SaveRequest, request: Request) -> Response:
        notes = Notes()
        work = worker.run(file_to_save(asked.documents, asked.format, notes))
        content, media, ending = await wait_for_result(work, request, queue)
        said = "; ".join(f"{count} x {what}" for what, count, _ in notes)
        headers = {"Content-Disposition": f'attachment; filename="document.{ending}"', "Gridner-Notes": said}
        return Response(content, media_type=media, headers=headers)


def _file(request: Request, name: str, kind: str) -> Response:
    content = asset(name).encode()
    tag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=f"text/{kind}; charset=utf-8", headers=headers)
