"""brat's automatic annotation: brat posts the text of a document and adds the entities of the response to it."""

from __future__ import annotations

from typing import Annotated

from fastapi import FastAPI, Query
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from gridner.documents import Document
from gridner.errors import Notes
from gridner.files import is_empty
from gridner.formats.brat import brat_name, brat_spans
from gridner.service.openapi import PROBLEMS
from gridner.service.requests import check_length, json_bytes, requested_types, wait_for_result
from gridner.service.runtime import Runtime
from gridner.service.worker import Steps

PATH = "/brat"
BODY = {"requestBody": {"required": True, "content": {"text/plain": {"schema": {"type": "string"}}}}}
EXAMPLE = {"T1": {"type": "Condition", "offsets": [[0, 7], [21, 29]], "texts": ["Pain in", "shoulder"]}}


def add_brat(app: FastAPI, runtime: Runtime) -> None:
    """Let a service answer brat. Its URL goes into the section [annotators] of brat's tools.conf."""
    described = {200: {"content": {"application/json": {"example": EXAMPLE}}}, **PROBLEMS}

    @app.post(PATH, tags=["annotation tools"], operation_id="brat", openapi_extra=BODY, responses=described)
    async def brat(
        request: Request,
        threshold: Annotated[float | None, Query(ge=0, le=1)] = None,
        types: Annotated[list[str] | None, Query()] = None,
    ) -> Response:
        """Find the entities of a text that is sent as it is. The URL may choose a threshold and types."""
        text = _text_of(await request.body())
        check_length("text", text, runtime.limits)
        wanted = requested_types(types, runtime.recognizer)

        async def found() -> bytes:
            if is_empty(text):
                return b"{}"
            (document,) = await runtime.batcher.recognize([Document("text", text)], threshold=threshold, notes=Notes())
            return await runtime.worker.run(_annotations(document, wanted))

        return Response(await wait_for_result(found(), request, runtime.queue), media_type="application/json")


def _text_of(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise HTTPException(400, f"byte {error.start:,} is not UTF-8, expected plain text in UTF-8") from None


def _annotations(document: Document, types: frozenset[str]) -> Steps[bytes]:
    """Return the entities as brat takes them."""
    annotations = {}
    for number, entity in enumerate(document.entities, start=1):
        if number % 100 == 0:
            yield
        if entity.type in types:
            spans = brat_spans(document.text, entity)
            annotations[f"T{number}"] = {
                "type": brat_name(entity.type),
                "offsets": [[fragment.start, fragment.end] for fragment, _ in spans],
                "texts": [said for _, said in spans],
            }
    return json_bytes(annotations)
