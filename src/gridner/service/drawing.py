"""Responses for the page, computed in steps: entities to draw, the grid of a sentence, files to save."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException

from gridner.documents import Document
from gridner.errors import Notes, plural
from gridner.files import Line, Source
from gridner.formats._support.lost_information import note_losses
from gridner.formats.brat import ann_text, configuration, empty_names, parse_ann
from gridner.formats.jsonl import from_json, line_of, to_json
from gridner.formats.parquet import rows, spreadsheet_text
from gridner.inference.base_recognizer import BaseRecognizer
from gridner.inference.recognizer import Recognizer
from gridner.service.limits import Limits
from gridner.service.requests import json_bytes, notes_json
from gridner.service.worker import Steps
from gridner.text.alignment import stream_sentences
from gridner.view.grid import window_grid


def annotated_document(name: str, text: str, ann: str, limits: Limits, notes: Notes) -> Steps[Document]:
    """Return the document of a text and of the contents of its .ann file."""
    yield
    place = Path(f"{name}.ann")
    numbered = [
        Line(place, number, 0, line.removesuffix("\r").encode())
        for number, line in enumerate(ann.removeprefix("\ufeff").split("\n"), start=1)
        if line.strip()
    ]
    if len(numbered) > limits.annotations:
        said = f"{place}: {plural(len(numbered), 'annotation')}, expected at most {limits.annotations:,}"
        raise HTTPException(413, said)
    yield
    document = parse_ann(name, text, numbered, Source(place, notes=notes))
    covered = _covered_characters(document)
    if covered > limits.covered_characters:
        found = f"annotations cover {covered:,} characters (overlaps counted for each annotation)"
        raise HTTPException(413, f"{place}: {found}, expected at most {limits.covered_characters:,} in a drawing")
    return document


def drawing_json(document: Document, recognizer: BaseRecognizer, limits: Limits, notes: Notes) -> Steps[bytes]:
    """Return what the page draws: a document with its entities, and the model's types and threshold."""
    yield
    document = _drawable(document, limits, notes)
    yield
    item = to_json(document)
    yield
    return json_bytes(
        {
            "document": item,
            "types": list(recognizer.types),
            "threshold": recognizer.threshold,
            "notes": notes_json(notes),
        }
    )


def grids_json(text: str, at: int, recognizer: Recognizer) -> Steps[bytes]:
    """Return the sentence that has a character, or the next one after it, and the grids of its windows."""
    for sentence in stream_sentences(Document("text", text)):
        yield
        if sentence.end > at:
            break
    else:
        raise HTTPException(422, f"at is {at}, expected a character of a sentence")
    found = []
    for window in recognizer.score_windows([sentence]):
        found.append((window.words.start, window_grid(recognizer, sentence, window)))
        yield
    grids = [grid for _, grid in sorted(found, key=lambda pair: pair[0]) if grid is not None]
    return json_bytes({"start": sentence.start, "end": sentence.end, "windows": grids})


def file_to_save(items: Sequence[dict[str, Any]], format: str, notes: Notes) -> Steps[tuple[bytes, str, str]]:
    """Return the contents of a file, its media type and its ending; what the format cannot carry is counted."""
    documents = []
    for number, item in enumerate(items, start=1):
        yield
        documents.append(from_json(item, f"document {number}" if len(items) > 1 else "document"))
    if format == "jsonl":
        lines = []
        for document in documents:
            yield
            lines.append(line_of(document) + b"\n")
        return b"".join(lines), "application/jsonl", "jsonl"
    if format == "csv":
        yield
        return _csv(documents).encode(), "text/csv; charset=utf-8", "csv"
    packed, names = io.BytesIO(), empty_names()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for document, stem in zip(documents, _file_names(documents), strict=True):
            yield
            note_losses(document, notes, "brat", ids=True)
            archive.writestr(f"{stem}.ann", ann_text(document, notes, names))
            archive.writestr(f"{stem}.txt", document.text)
        archive.writestr("annotation.conf", configuration(names))
    return packed.getvalue(), "application/zip", "zip"


def _file_names(documents: Sequence[Document]) -> list[str]:
    """Return a file name for each document: its id, as far as that can be one, with a number if it is taken."""
    names: dict[str, str] = {}  # in lower case, since some file systems ignore case → name
    numbers: dict[str, int] = {}  # the last number tried for an id
    for document in documents:
        plain = name = re.sub(r"[^\w.-]+", "_", document.id).strip(".")[:100] or "document"
        while name.lower() in names:
            numbers[plain] = numbers.get(plain, 1) + 1
            name = f"{plain}-{numbers[plain]}"
        names[name.lower()] = name
    return list(names.values())


def _drawable(document: Document, limits: Limits, notes: Notes) -> Document:
    """Return a document that can be drawn: if its entities are too many, without those of the lowest scores."""
    if _covered_characters(document) <= limits.covered_characters:
        return document
    kept, room = set(), limits.covered_characters
    for number, entity in sorted(enumerate(document.entities), key=lambda pair: -(pair[1].score or 0)):
        room -= entity.end - entity.start
        if room < 0:
            break
        kept.add(number)
    for _ in range(len(document.entities) - len(kept)):
        notes.add("entity of a low score, left out as there are too many to draw", document.id)
    return replace(document, entities=tuple(one for number, one in enumerate(document.entities) if number in kept))


def _covered_characters(document: Document) -> int:
    return sum(entity.end - entity.start for entity in document.entities)


def _csv(documents: Sequence[Document]) -> str:
    """Return CSV with a row per entity."""
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(["document", "type", "fragments", "text", "discontinuous", "score"])
    for row in rows(documents):
        writer.writerow(
            [
                spreadsheet_text(row["document"]),
                spreadsheet_text(row["type"]),
                ";".join(f"{start} {end}" for start, end in row["fragments"]),
                spreadsheet_text(row["text"]),
                "yes" if row["discontinuous"] else "no",
                "" if row["score"] is None else f"{row['score']:.4f}",
            ]
        )
    return table.getvalue()
