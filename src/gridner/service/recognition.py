"""`POST /v1/recognize`: find the entities of one text or of several."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from gridner.errors import Notes
from gridner.service import schema
from gridner.service.openapi import PROBLEMS
from gridner.service.requests import (
    requested_documents,
    requested_models,
    requested_types,
    response_body,
    wait_for_result,
)
from gridner.service.runtime import Runtime

PATH = "/v1/recognize"


def add_recognition(app: FastAPI, runtime: Runtime) -> None:
    """Add the endpoint that finds entities."""

    @app.post(
        PATH, response_model=schema.RecognizeResponse, responses=PROBLEMS, tags=["recognize"], operation_id="recognize"
    )
    async def recognize(body: schema.RecognizeRequest, request: Request) -> Response:
        """Find the entities of one text or of several. The response has the documents in the order of the texts."""
        documents = requested_documents(body, runtime.limits)
        models = requested_models(body.model, runtime.models)
        types = requested_types(body.types, runtime.recognizer)
        notes = Notes()

        async def result() -> bytes:
            found = await runtime.batcher.recognize(documents, threshold=body.threshold, notes=notes, models=models)
            return await runtime.worker.run(response_body(found, types, body.offsets, notes))

        return Response(await wait_for_result(result(), request, runtime.queue), media_type="application/json")
