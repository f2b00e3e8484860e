"""What is asked, checked; the answer, waited for; and how it is given."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request

from gridner.documents import Document
from gridner.errors import UsageError
from gridner.formats.files import check_not_empty
from gridner.formats.jsonl import to_json
from gridner.recognizer import Recognizer
from gridner.web import schema
from gridner.web.batcher import BusyError
from gridner.web.limits import Limits

Found = TypeVar("Found")


def documents_of(asked: schema.Request, limits: Limits) -> list[Document]:
    """The texts that are asked about, checked."""
    pairs = [(f"text-{n}", one) if isinstance(one, str) else (one.id, one.text) for n, one in enumerate(asked.texts, 1)]
    if not pairs:
        pairs = [("text", asked.text)]
    if len(pairs) > limits.texts:
        raise HTTPException(413, f"{len(pairs):,} texts, expected at most {limits.texts:,} in a request")
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


async def answered(work: Coroutine[Any, Any, Found], request: Request, limits: Limits) -> Found:
    """The result, unless the client goes or the time is up: then the work is given up, too."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({task, gone}, timeout=limits.seconds, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        if gone.done():
            raise HTTPException(499)
        raise BusyError(f"not done within {limits.seconds:g} seconds, expected less text at a time", 1)
    finally:
        gone.cancel()
        task.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def of_types(document: Document, types: frozenset[str]) -> dict[str, Any]:
    """A document of JSON lines with the entities of some types."""
    kept = tuple(entity for entity in document.entities if entity.type in types)
    return to_json(replace(document, entities=kept))


def in_utf16(item: dict[str, Any]) -> dict[str, Any]:
    """The same with offsets in UTF-16 units: a character past U+FFFF counts twice."""
    wide = [place for place, character in enumerate(item["text"]) if character > "\uffff"]
    for entity in item["entities"]:
        entity["fragments"] = [[at + bisect_left(wide, at) for at in pair] for pair in entity["fragments"]]
    return item
