"""A Label Studio ML backend: suggestions for the tasks of a project, under the names of its labelling configuration.

Entities with gaps are regions that relations join, as `gridner convert` writes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from gridner.documents import Document
from gridner.errors import Notes, UsageError, plural
from gridner.files import is_empty
from gridner.formats.labelstudio import results_of
from gridner.service.labelling import TextField, text_fields
from gridner.service.requests import check_length, json_bytes, wait_for_result
from gridner.service.runtime import Runtime
from gridner.service.worker import Steps

POST_PATHS = ("/predict", "/setup", "/webhook", "/train")
PATHS = ("/health", "/versions", *POST_PATHS)
START_TRAINING = "START_TRAINING"
NO_TRAINING = (
    "gridner serve does not train; export the project as JSON, then: gridner learn --from EXPORT --model MODEL "
    "--output NEW"
)


class PredictRequest(BaseModel):
    """What Label Studio sends to have tasks predicted; it sends more, which is not needed."""

    tasks: list[dict[str, Any]]
    label_config: str


class SetupRequest(BaseModel):
    """A project to which the backend is connected."""

    labelling_configuration: str = Field(alias="schema")


class Event(BaseModel):
    """Something that happened in a project."""

    action: str = START_TRAINING


class TaskTexts:
    """The texts of tasks: which task and which field each is of."""

    def __init__(self, tasks: Sequence[dict[str, Any]], fields: Sequence[TextField]) -> None:
        self.count = len(tasks)
        self.texts: list[tuple[int, TextField, Document]] = []
        for number, task in enumerate(tasks):
            where = f"task {task.get('id', number + 1)!s:.40}"
            for field in fields:
                text = field.text_of(task, where)
                if not is_empty(text):
                    self.texts.append((number, field, Document(where, text)))

    @property
    def documents(self) -> list[Document]:
        """The texts, to be read."""
        return [document for _, _, document in self.texts]

    def predictions(self, found: Sequence[Document], version: str) -> Steps[bytes]:
        """Return a prediction for each task."""
        results: list[dict[str, Any]] = [{"model_version": version, "result": []} for _ in range(self.count)]
        ids = [0] * self.count  # entities of each task so far
        for (number, field, _), document in zip(self.texts, found, strict=True):
            yield
            kept = tuple(entity for entity in document.entities if entity.type in field.labels)
            names = [f"T{ids[number] + place}" for place in range(1, len(kept) + 1)]
            ids[number] += len(kept)
            result = results[number]
            result["result"] += results_of(replace(document, entities=kept), names, field.labels.__getitem__)
            scores = [entity.score for entity in kept if entity.score is not None]
            if scores:
                result["score"] = min(result.get("score", 1.0), *scores)
        return json_bytes({"results": results, "model_version": version})


def add_label_studio(app: FastAPI, runtime: Runtime, version: str) -> None:
    """Let a service be an ML backend. `version` tells Label Studio when suggestions are out of date."""
    types, limits = runtime.recognizer.types, runtime.limits

    @app.get("/health", include_in_schema=False)
    async def health() -> dict[str, str]:
        return {"status": "UP", "model_class": "gridner"}

    @app.get("/versions", include_in_schema=False)
    async def versions() -> dict[str, list[str]]:
        return {"versions": [version]}

    @app.post("/setup", include_in_schema=False)
    async def setup(project: SetupRequest) -> dict[str, str]:
        text_fields(project.labelling_configuration, types)
        return {"model_version": version}

    @app.post("/predict", include_in_schema=False)
    async def predict(asked: PredictRequest, request: Request) -> Response:
        fields = text_fields(asked.label_config, types)
        if not fields:
            raise UsageError('labelling configuration without <Labels name="…" toName="…">, expected some on a <Text>')
        if len(asked.tasks) > limits.texts:
            said = f"{plural(len(asked.tasks), 'task')}, expected at most {limits.texts:,} in a request"
            raise HTTPException(413, f"{said} (gridner serve --max-texts)")
        texts = TaskTexts(asked.tasks, fields)
        for document in texts.documents:
            check_length(document.id, document.text, limits)

        async def found() -> bytes:
            read = await runtime.batcher.recognize(texts.documents, notes=Notes()) if texts.documents else []
            return await runtime.worker.run(texts.predictions(read, version))

        return Response(await wait_for_result(found(), request, runtime.queue), media_type="application/json")

    @app.post("/webhook", include_in_schema=False)
    @app.post("/train", include_in_schema=False)
    async def webhook(event: Event) -> dict[str, str]:
        if event.action == START_TRAINING:
            raise HTTPException(501, NO_TRAINING)
        return {"status": "ignored"}
