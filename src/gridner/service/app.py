"""The service: `POST /v1/recognize` and what operators need beside it. `page` adds the page.

Texts are read by the batcher's thread; here they are checked, waited for and sent back.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gridner.errors import GridnerError, Notes
from gridner.inference.recognizer import Recognizer
from gridner.service import schema
from gridner.service.batcher import Batcher
from gridner.service.limits import Limits
from gridner.service.metrics import Metrics
from gridner.service.middleware import Guard, Watch, busy
from gridner.service.page import ASSETS, add_page
from gridner.service.problems import problem
from gridner.service.queue import BusyError, Queue
from gridner.service.requests import answered, body_of, documents_of, wanted_types
from gridner.service.worker import Worker

PATHS = ("/v1/recognize", "/v1/models", "/healthz", "/readyz", "/metrics", "/openapi.json", "/")
PAGE_PATHS = ("/page/draw", "/page/grid", "/page/save")
OPEN_PATHS = ("/", "/healthz", "/readyz", *(f"/page/{name}" for name in ASSETS))  # without a token
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": schema.Problem, "content": {"application/problem+json": {}}, "description": said}
    for status, said in (
        (400, "Not JSON"),
        (401, "No token, where one is needed"),
        (408, "The body came too slowly"),
        (413, "Too much for one request"),
        (422, "JSON that is not what was expected"),
        (503, "Too much waits, or it took too long: later, please"),
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
            Watch, metrics=metrics, paths=PATHS + PAGE_PATHS, access=service.access_log, private=not service.origins
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
    _say_what_is_wrong(app)

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
                    engine=about.get("engine", "unknown"),
                    types=list(service.recognizer.scheme.types),
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
    _describe(app, service)
    return app


def _describe(app: FastAPI, service: Service) -> None:
    """Let OpenAPI name the types and the limits of this very service."""
    request = app.openapi()["components"]["schemas"]["Request"]["properties"]
    request["types"]["anyOf"][0]["items"]["enum"] = list(service.recognizer.scheme.types)
    request["text"]["maxLength"] = service.limits.characters
    request["texts"]["maxItems"] = service.limits.texts
    for name in ("text", "texts"):
        del request[name]["default"]  # there is none: one of them must be given


def _say_what_is_wrong(app: FastAPI) -> None:
    """Every error is a problem in JSON, and none repeats what was sent at length."""

    async def invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)  # noqa: S101
        first, *more = error.errors()
        where = ".".join(str(part) for part in first["loc"] if part != "body") or "the body"
        if first["type"] == "json_invalid":
            return problem(
                400, f"not JSON ({first['ctx']['error']} at character {first['loc'][-1]}), expected an object"
            )
        others = f" (and {len(more)} more)" if more else ""
        return problem(422, f"{where[:120]}: {first['msg']}{others}")

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101
        if error.status_code == 499:
            return Response(status_code=499)
        said = error.detail
        if said == HTTPStatus(error.status_code).phrase:  # the framework's own: no such path, no such method
            said = f"{request.method} {request.url.path:.80}, expected a path of /openapi.json, and its method"
        return problem(error.status_code, said, error.headers)

    async def wrong(_: Request, error: Exception) -> Response:
        return problem(422, str(error))

    async def too_much(_: Request, error: Exception) -> Response:
        assert isinstance(error, BusyError)  # noqa: S101
        return busy(error)

    handlers: dict[type[Exception], Callable[[Request, Exception], Any]] = {
        RequestValidationError: invalid,
        HTTPException: refused,
        BusyError: too_much,
        GridnerError: wrong,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)
