"""The service: `POST /v1/recognize` and what operators need beside it. `page` adds the page.

Texts are read by the batcher's thread; here they are checked, waited for and sent back.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gridner.errors import Notes
from gridner.inference.about import TypeAbout
from gridner.inference.recognizer import Recognizer
from gridner.service import brat, label_studio, schema
from gridner.service.batcher import Batcher
from gridner.service.handlers import add_handlers
from gridner.service.limits import Limits
from gridner.service.metrics import Metrics
from gridner.service.middleware import Guard, Watch
from gridner.service.page import ASSETS, add_page
from gridner.service.queue import Queue
from gridner.service.requests import answered, body_of, documents_of, wanted_types
from gridner.service.worker import Worker

PATHS = ("/v1/recognize", "/v1/models", "/healthz", "/readyz", "/metrics", "/openapi.json", "/")
PAGE_PATHS = ("/page/draw", "/page/grid", "/page/save")
TOOL_PATHS = (brat.PATH, *label_studio.PATHS)  # of annotation tools, which show their users no details of an error
HEALTH_PATHS = ("/healthz", "/readyz")  # whatever the host
OPEN_PATHS = ("/", *HEALTH_PATHS, *(f"/page/{name}" for name in ASSETS))  # without a token
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": schema.Problem, "content": {"application/problem+json": {}}, "description": said}
    for status, said in (
        (400, "Not JSON"),
        (401, "No token, where one is needed"),
        (408, "The body came too slowly"),
        (413, "Too much for one request"),
        (415, "Not sent as JSON"),
        (421, "Another host name"),
        (422, "JSON that is not what was expected"),
        (503, "Overloaded or timed out; retry later"),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """What a service is made of."""

    recognizer: Recognizer
    name: str = "model"
    about: dict[str, Any] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    token: str | None = None
    hosts: Collection[str] = ()  # names under which it answers; any if there are none
    origins: Sequence[str] = ()  # of pages elsewhere that may ask
    access_log: bool = False

    @property
    def version(self) -> str:
        """The model's name, and a part of its fingerprint: other weights or settings have another version."""
        return "-".join(filter(None, (self.name, self.about.get("fingerprint", "")[:8])))


def create_app(service: Service) -> FastAPI:
    """The application, for any ASGI server."""
    metrics = Metrics()
    batcher, worker = Batcher(service.recognizer, service.limits, metrics), Worker()
    queue = Queue(service.limits, metrics, alive=lambda: batcher.alive and worker.alive, delay=batcher.delay)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        batcher.start()
        worker.start()
        yield
        for one in (batcher, worker):
            await asyncio.to_thread(one.close)

    gates = [
        Middleware(
            Watch,
            metrics=metrics,
            paths=PATHS + PAGE_PATHS + TOOL_PATHS,
            explain=TOOL_PATHS,
            access=service.access_log,
            private=not service.origins,
        ),
        Middleware(
            CORSMiddleware,
            allow_origins=service.origins,
            allow_headers=["Authorization"],
            allow_methods=["GET", "POST"],
        ),
        Middleware(
            Guard,
            limits=service.limits,
            check=queue.check,
            token=service.token,
            hosts=service.hosts,
            open_paths=OPEN_PATHS,
            health_paths=HEALTH_PATHS,
            json_paths=("/v1/recognize", *PAGE_PATHS, *label_studio.POST_PATHS),
            token_in_query=(brat.PATH,),
        ),
    ]
    app = FastAPI(
        title="gridner",
        summary="Discontinuous named-entity recognition",
        version=version("gridner"),
        docs_url=None,  # its page would be fetched from elsewhere
        redoc_url=None,
        lifespan=lifespan,
        middleware=gates if service.origins else [gates[0], gates[2]],
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
    )
    add_handlers(app)

    @app.post(
        "/v1/recognize", response_model=schema.Answer, responses=PROBLEMS, tags=["recognize"], operation_id="recognize"
    )
    async def recognize(asked: schema.Request, request: Request) -> Response:
        """Find the entities of one text or of several, in the order in which they are given."""
        documents = documents_of(asked, service.limits)
        types = wanted_types(asked.types, service.recognizer)
        notes = Notes()

        async def found() -> bytes:
            answers = await batcher.recognize(documents, threshold=asked.threshold, notes=notes)
            return await worker.run(body_of(answers, types, asked.offsets, notes))

        return Response(await answered(found(), request, queue), media_type="application/json")

    @app.get("/v1/models", tags=["recognize"], responses={401: PROBLEMS[401]})
    async def models() -> schema.Models:
        """What the service can find, and with which settings."""
        about = service.about
        return schema.Models(
            models=[
                schema.Model(
                    name=service.name,
                    description=about.get("description", ""),
                    language=about.get("language", ""),
                    license=about.get("license", ""),
                    engine=about.get("engine", "unknown"),
                    types=about.get("types") or [asdict(TypeAbout(name)) for name in service.recognizer.scheme.types],
                    names=len(service.recognizer.lexicon),
                    threshold=service.recognizer.decoding.threshold,
                    written_by=about.get("written by", f"gridner {version('gridner')}"),
                    dev_f1=about.get("dev F1", {}),
                    settings={key: about[key] for key in ("model", "decoding") if key in about},
                )
            ]
        )

    @app.get("/healthz", tags=["operation"])
    async def healthz() -> schema.Status:
        """Whether the process lives."""
        return schema.Status(status="ok")

    @app.get("/readyz", tags=["operation"], responses={503: {"model": schema.Status, "description": "Not now"}})
    async def readyz() -> Response:
        """Whether it answers requests now."""
        return JSONResponse(
            {"status": "ready"} if queue.alive() else {"status": "not ready"}, 200 if queue.alive() else 503
        )

    @app.get(
        "/metrics",
        tags=["operation"],
        response_class=Response,
        responses={200: {"content": {"text/plain": {}}}, 401: PROBLEMS[401]},
    )
    async def read_metrics() -> Response:
        """Counters for Prometheus."""
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    add_page(app, service.recognizer, batcher, worker, queue)
    brat.add_brat(app, service.recognizer, batcher, worker, queue, PROBLEMS)
    label_studio.add_label_studio(app, service.recognizer, batcher, worker, queue, service.version)
    _describe(app, service)
    return app


def _describe(app: FastAPI, service: Service) -> None:
    """Let OpenAPI name the types, the limits and the token of this very service."""
    described = app.openapi()
    if service.token is not None:
        described["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        described["security"] = [{"token": []}]
        for path in HEALTH_PATHS:
            described["paths"][path]["get"]["security"] = []
    request = described["components"]["schemas"]["Request"]["properties"]
    types = [one["schema"] for one in described["paths"][brat.PATH]["post"]["parameters"] if one["name"] == "types"]
    for one in (request["types"], *types):
        one["anyOf"][0]["items"]["enum"] = list(service.recognizer.scheme.types)
    request["text"]["maxLength"] = service.limits.characters
    request["texts"]["maxItems"] = service.limits.texts
    for name in ("text", "texts"):
        del request[name]["default"]  # there is none: one of them must be given
