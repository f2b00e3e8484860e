"""Validate a request, wait for its result, format the response."""

from __future__ import annotations

import asyncio
import json
from bisect import bisect_left
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request

from gridner.documents import Document
from gridner.errors import Notes, UsageError, plural
from gridner.files import check_not_empty
from gridner.formats.jsonl import to_json
from gridner.inference.base_recognizer import BaseRecognizer
from gridner.inference.recognizer import Recognizer
from gridner.service import schema
from gridner.service.limits import Limits
from gridner.service.queue import BusyError, Queue
from gridner.service.worker import Steps

Found = TypeVar("Found")


def requested_documents(asked: schema.RecognizeRequest, limits: Limits) -> list[Document]:
    """Return the texts of a request as documents, after checking their number and length."""
    pairs = [(f"text-{n}", one) if isinstance(one, str) else (one.id, one.text) for n, one in enumerate(asked.texts, 1)]
    if not pairs:
        pairs = [("text", asked.text)]
    if len(pairs) > limits.texts:
        raise HTTPException(413, f"{plural(len(pairs), 'text')}, expected at most {limits.texts:,} in a request")
    for name, text in pairs:
        check_length(name, text, limits)
        check_not_empty(text, name[:80])
    return [Document(name, text) for name, text in pairs]


def check_length(name: str, text: str, limits: Limits) -> None:
    """Raise an error if a text is too long."""
    if len(text) > limits.characters:
        raise HTTPException(
            413, f"{name[:80]}: {len(text):,} characters, expected at most {limits.characters:,} in a text"
        )


def requested_types(types: Sequence[str] | None, recognizer: BaseRecognizer) -> frozenset[str]:
    """Return the types that a request asks for; all types if it names none. An unknown type is an error."""
    known = recognizer.types
    for name in types or ():
        if name not in known:
            raise UsageError(f"type {name!r:.80}, expected those that the model finds: {', '.join(known)}")
    return frozenset(known if types is None else types)


def requested_models(names: str | Sequence[str] | None, models: Mapping[str, Recognizer]) -> frozenset[str] | None:
    """Return the models that a request asks for; None if it names none. An unknown model is an error."""
    if names is None:
        return None
    wanted = frozenset([names] if isinstance(names, str) else names)
    for name in sorted(wanted - models.keys()):
        raise UsageError(f"model {name!r:.80}, expected those of the service: {', '.join(models)}")
    return wanted


async def wait_for_result(work: Coroutine[Any, Any, Found], request: Request, queue: Queue) -> Found:
    """Hold a place in the queue while the work of a request runs, and return its result.

    If the client disconnects or the time is up, cancel the work.
    """
    with ExitStack() as stack:
        try:
            ticket = stack.enter_context(queue.admit())
        except BusyError:
            work.close()
            raise
        task, gone = asyncio.ensure_future(work), asyncio.ensure_future(_disconnected(request))
        stack.callback(task.cancel)
        stack.callback(gone.cancel)
        seconds = queue.limits.seconds
        await asyncio.wait({task, gone}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        if gone.done():
            queue.metrics.cancelled.inc()
            raise HTTPException(499)
        queue.metrics.timeouts.inc()
        said = f"no answer within {plural(seconds, 'second')}"
        if queue.had_others(ticket):
            raise BusyError(f"{said}, because the service has other requests; retry later", queue.delay())
        raise BusyError(f"{said}; send less text per request", None)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def response_body(documents: Iterable[Document], types: frozenset[str], offsets: str, notes: Notes) -> Steps[bytes]:
    """Return the body of the response, with the entities of the requested types."""
    items = []
    for document in documents:
        yield
        kept = tuple(entity for entity in document.entities if entity.type in types)
        item = to_json(replace(document, entities=kept))
        items.append(with_utf16_offsets(item) if offsets == "utf-16" else item)
    return json_bytes({"documents": items, "notes": notes_json(notes)})


def notes_json(notes: Notes) -> list[dict[str, Any]]:
    """Return the counts of what was cut or capped."""
    return [{"what": what, "count": count} for what, count, _ in notes]


def json_bytes(value: Any) -> bytes:
    """Return JSON as the service sends it."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def with_utf16_offsets(item: dict[str, Any]) -> dict[str, Any]:
    """Return a document with offsets in UTF-16 units, where a character past U+FFFF counts twice."""
    wide = [place for place, character in enumerate(item["text"]) if character > "\uffff"]
    for entity in item["entities"]:
        entity["fragments"] = [[at + bisect_left(wide, at) for at in pair] for pair in entity["fragments"]]
    return item
