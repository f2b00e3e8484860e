"""Validate a request, wait for its result, format the response."""

from __future__ import annotations

import asyncio
import json
from bisect import bisect_left
from collections.abc import Coroutine, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request

from gridner.documents import Document
from gridner.errors import Notes, UsageError
from gridner.files import check_not_empty
from gridner.formats.jsonl import to_json
from gridner.inference.recognizer import Recognizer
from gridner.service import schema
from gridner.service.limits import Limits
from gridner.service.problems import many
from gridner.service.queue import BusyError, Queue
from gridner.service.worker import Steps

Found = TypeVar("Found")


def documents_of(asked: schema.Request, limits: Limits) -> list[Document]:
    """The texts that are asked about, checked."""
    pairs = [(f"text-{n}", one) if isinstance(one, str) else (one.id, one.text) for n, one in enumerate(asked.texts, 1)]
    if not pairs:
        pairs = [("text", asked.text)]
    if len(pairs) > limits.texts:
        raise HTTPException(413, f"{many(len(pairs), 'text')}, expected at most {limits.texts:,} in a request")
    for name, text in pairs:
        check_length(name, text, limits)
        check_not_empty(text, name[:80])
    return [Document(name, text) for name, text in pairs]


def check_length(name: str, text: str, limits: Limits) -> None:
    """A text that is too long is an error of its own."""
    if len(text) > limits.characters:
        raise HTTPException(
            413, f"{name[:80]}: {len(text):,} characters, expected at most {limits.characters:,} in a text"
        )


def wanted_types(types: Sequence[str] | None, recognizer: Recognizer) -> frozenset[str]:
    """The types that are asked for, all of them known."""
    known = recognizer.scheme.types
    for name in types or ():
        if name not in known:
            raise UsageError(f"type {name!r:.80}, expected those that the model finds: {', '.join(known)}")
    return frozenset(known if types is None else types)


async def answered(work: Coroutine[Any, Any, Found], request: Request, queue: Queue) -> Found:
    """Return the result of what a request computes, which has a place in the queue meanwhile.

    If the client goes or the time is up, the work is given up, too.
    """
    with ExitStack() as stack:
        try:
            place = stack.enter_context(queue.place())
        except BusyError:
            work.close()
            raise
        task, gone = asyncio.ensure_future(work), asyncio.ensure_future(_gone(request))
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
        said = f"no answer within {many(seconds, 'second')}"
        if queue.had_company(place):
            raise BusyError(f"{said}, as the service has other requests, too; retry later", queue.delay())
        raise BusyError(f"{said}; send less text per request", None)


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def body_of(documents: Iterable[Document], types: frozenset[str], offsets: str, notes: Notes) -> Steps[bytes]:
    """Return the answer to a request for entities."""
    items = []
    for document in documents:
        yield
        kept = tuple(entity for entity in document.entities if entity.type in types)
        item = to_json(replace(document, entities=kept))
        items.append(in_utf16(item) if offsets == "utf-16" else item)
    return json_bytes({"documents": items, "notes": counted(notes)})


def counted(notes: Notes) -> list[dict[str, Any]]:
    """Return what was cut or capped, with counts."""
    return [{"what": what, "count": count} for what, count, _ in notes]


def json_bytes(value: Any) -> bytes:
    """Return JSON as the service sends it."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def in_utf16(item: dict[str, Any]) -> dict[str, Any]:
    """The same with offsets in UTF-16 units: a character past U+FFFF counts twice."""
    wide = [place for place, character in enumerate(item["text"]) if character > "\uffff"]
    for entity in item["entities"]:
        entity["fragments"] = [[at + bisect_left(wide, at) for at in pair] for pair in entity["fragments"]]
    return item
