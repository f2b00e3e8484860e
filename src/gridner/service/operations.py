"""What operators need: the models that are served, health, readiness and metrics."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.responses import JSONResponse, Response

from gridner.service import schema
from gridner.service.openapi import PROBLEMS
from gridner.service.runtime import Runtime

HEALTH_PATHS = ("/healthz", "/readyz")  # answered for any host name and without a token
PATHS = ("/v1/models", *HEALTH_PATHS, "/metrics", "/openapi.json")


def add_operations(app: FastAPI, runtime: Runtime, served: list[schema.Model]) -> None:
    """Add the endpoints for operators."""

    @app.get("/v1/models", tags=["recognize"], responses={401: PROBLEMS[401]})
    async def models() -> schema.Models:
        """Return the models: the types that they find, their settings and their scores."""
        return schema.Models(models=served)

    @app.get("/healthz", tags=["operation"])
    async def healthz() -> schema.Status:
        """Return 200 while the process runs."""
        return schema.Status(status="ok")

    @app.get(
        "/readyz", tags=["operation"], responses={503: {"model": schema.Status, "description": "Starting or stopping"}}
    )
    async def readyz() -> Response:
        """Return 200 if the service accepts requests, else 503."""
        ready = runtime.alive
        return JSONResponse({"status": "ready" if ready else "not ready"}, 200 if ready else 503)

    @app.get(
        "/metrics",
        tags=["operation"],
        response_class=Response,
        responses={200: {"content": {"text/plain": {}}}, 401: PROBLEMS[401]},
    )
    async def metrics() -> Response:
        """Return metrics for Prometheus."""
        return Response(runtime.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
