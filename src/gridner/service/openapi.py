"""The OpenAPI description: errors that all endpoints share, and the types, limits and token of this service."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from fastapi import FastAPI

from gridner.service import schema
from gridner.service.limits import Limits

PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": schema.Problem, "content": {"application/problem+json": {}}, "description": description}
    for status, description in (
        (400, "The body is not JSON"),
        (401, "No token, or a wrong one"),
        (408, "The body arrives too slowly"),
        (413, "The request is too large"),
        (415, "The body is not sent as JSON, or is compressed"),
        (421, "Wrong host name"),
        (422, "Valid JSON with wrong content"),
        (503, "Overloaded or timed out; retry later"),
    )
}


def describe(
    app: FastAPI,
    types: Sequence[str],
    models: Sequence[str],
    limits: Limits,
    *,
    needs_token: bool,
    open_paths: Collection[str],
) -> None:
    """Add the types, the models, the limits and the token of this service to the description."""
    description = app.openapi()
    if needs_token:
        description["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        description["security"] = [{"token": []}]
        for path in open_paths:
            description["paths"][path]["get"]["security"] = []
    request = description["components"]["schemas"]["RecognizeRequest"]["properties"]
    for schema_of_types in (request["types"], *_types_in_queries(description)):
        schema_of_types["anyOf"][0]["items"]["enum"] = list(types)
    one_model, several_models, _ = request["model"]["anyOf"]
    one_model["enum"] = several_models["items"]["enum"] = list(models)
    request["text"]["maxLength"] = limits.characters
    request["texts"]["maxItems"] = limits.texts
    for name in ("text", "texts"):
        del request[name]["default"]  # there is none: one of them must be given


def _types_in_queries(description: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the schemas of the query parameters that choose types."""
    operations = [operation for path in description["paths"].values() for operation in path.values()]
    parameters = [parameter for operation in operations for parameter in operation.get("parameters", ())]
    return [parameter["schema"] for parameter in parameters if parameter["name"] == "types"]
