"""The page at `/`, and what it asks for: drawings, the grid of a sentence, files to keep.

The layout is `draw.cells`, as in the report and in notebooks; the page's script only hides what is below its threshold.
"""

from __future__ import annotations

import asyncio
import csv
import hashlib
import io
import zipfile
from pathlib import Path
from typing import Any, Literal

from fastapi import FastAPI
from pydantic import Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gridner.documents import Document, Fragment, extent
from gridner.draw import blocks
from gridner.errors import Notes
from gridner.formats.brat import ann_of, annotated, configuration, no_names
from gridner.formats.files import Line, Source, check_not_empty
from gridner.formats.jsonl import from_json, line_of, to_json
from gridner.formats.losses import note_losses
from gridner.grid import grids
from gridner.html import asset, packed_cells
from gridner.recognizer import Recognizer
from gridner.sentences import each_sentence
from gridner.table import rows, spreadsheet_text
from gridner.web.asking import answered, check_length
from gridner.web.batcher import Batcher
from gridner.web.limits import Limits
from gridner.web.schema import Strict

ASSETS = {
    name: "css" if name.endswith(".css") else "javascript"
    for name in ("draw.css", "base.css", "page.css", "draw.js", "grid.js", "examples.js", "page.js")
}
LEAST = 0.02  # score of an entity that the slider can bring to light


class ToDraw(Strict):
    """A text; with the contents of an .ann file, its entities are drawn instead of those that are found."""

    text: str
    id: str = Field("text", min_length=1, max_length=256)
    ann: str | None = None


class ToGrid(Strict):
    """A sentence of a text, by its first character."""

    text: str
    start: int = Field(ge=0)


class ToSave(Strict):
    """A document of JSON lines, and the format to write it in."""

    document: dict[str, Any]
    format: Literal["brat", "jsonl", "csv"]


def add_page(app: FastAPI, recognizer: Recognizer, batcher: Batcher, limits: Limits) -> None:
    """Add the page to a service."""
    one_grid = asyncio.Semaphore(1)

    @app.get("/", include_in_schema=False)
    async def index(request: Request) -> Response:
        return _file(request, "page.html", "html")

    @app.get("/page/{name}", include_in_schema=False)
    async def file(name: str, request: Request) -> Response:
        if name not in ASSETS:
            raise HTTPException(404, f"/page/{name:.40}, expected one of {', '.join(ASSETS)}")
        return _file(request, name, ASSETS[name])

    @app.post("/page/draw", include_in_schema=False)
    async def draw(asked: ToDraw, request: Request) -> Response:
        check_length(asked.id, asked.text, limits)
        check_not_empty(asked.text, asked.id[:80])
        notes = Notes()
        if asked.ann is not None:
            document = await asyncio.to_thread(_annotated, asked, notes)
        else:
            plain = [Document(asked.id, asked.text)]
            (document,) = await answered(batcher.recognize(plain, threshold=LEAST, notes=notes), request, limits)
        return JSONResponse(
            {
                "document": to_json(document),
                "types": list(recognizer.scheme.types),
                "threshold": recognizer.decoding.threshold,
                "blocks": await asyncio.to_thread(_blocks, document),
                "notes": [{"what": what, "count": count} for what, count, _ in notes],
            }
        )

    @app.post("/page/grid", include_in_schema=False)
    async def grid(asked: ToGrid) -> Response:
        check_length("text", asked.text, limits)
        sentences = each_sentence(Document("text", asked.text))
        sentence = next((one for one in sentences if one.start >= asked.start), None)
        if sentence is None:
            raise HTTPException(422, f"start is {asked.start}, expected that of a sentence")
        async with one_grid:
            found = await asyncio.to_thread(grids, recognizer, [sentence])
        return JSONResponse({"windows": found[0]})

    @app.post("/page/save", include_in_schema=False)
    async def save(asked: ToSave) -> Response:
        document = from_json(asked.document, "document")
        notes = Notes()
        content, media, name = await asyncio.to_thread(_saved, document, asked.format, notes)
        said = "; ".join(f"{count} x {what}" for what, count, _ in notes)
        headers = {"Content-Disposition": f'attachment; filename="{name}"', "Gridner-Notes": said}
        return Response(content, media_type=media, headers=headers)


def _file(request: Request, name: str, kind: str) -> Response:
    content = asset(name).encode()
    tag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=f"text/{kind}; charset=utf-8", headers=headers)


def _annotated(asked: ToDraw, notes: Notes) -> Document:
    """The document of a text and an .ann file."""
    place = Path(f"{asked.id}.ann")
    lines = (asked.ann or "").removeprefix("\ufeff").split("\n")
    numbered = (Line(place, number, 0, line.removesuffix("\r").encode()) for number, line in enumerate(lines, start=1))
    return annotated(asked.id, asked.text, numbered, Source(place, notes=notes))


def _blocks(document: Document) -> list[dict[str, Any]]:
    """The sentences with their cells; bars refer to the entities of the block, these to those of the document."""
    places: dict[tuple[str, tuple[Fragment, ...]], int] = {}
    for place, entity in enumerate(document.entities):
        places.setdefault((entity.type, extent(document.text, entity)), place)
    return [
        {
            "start": span.start,
            "entities": [places[entity.type, entity.fragments] for entity in entities],
            "cells": packed_cells(document.text, span, entities),
        }
        for span, entities in blocks(document)
    ]


def _saved(document: Document, format: str, notes: Notes) -> tuple[bytes, str, str]:
    """The contents of a file, its media type and its name; what the format cannot carry is counted."""
    if format == "jsonl":
        return line_of(document) + b"\n", "application/jsonl", "document.jsonl"
    if format == "csv":
        return _csv(document).encode(), "text/csv; charset=utf-8", "document.csv"
    packed, names = io.BytesIO(), no_names()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        note_losses(document, notes, "brat", ids=True)
        archive.writestr("document.ann", ann_of(document, notes, names))
        archive.writestr("document.txt", document.text)
        archive.writestr("annotation.conf", configuration(names))
    return packed.getvalue(), "application/zip", "document.zip"


def _csv(document: Document) -> str:
    """A row for each entity."""
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(["document", "type", "fragments", "text", "discontinuous", "score"])
    for row in rows([document]):
        writer.writerow(
            [
                spreadsheet_text(row["document"]),
                spreadsheet_text(row["type"]),
                ";".join(f"{start} {end}" for start, end in row["fragments"]),
                spreadsheet_text(row["text"]),
                "yes" if row["discontinuous"] else "no",
                "" if row["score"] is None else f"{row['score']:.4f}",
            ]
        )
    return table.getvalue()
