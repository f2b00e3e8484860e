"""What the page asks for, computed in steps: drawings, the grid of a sentence, files to keep."""

from __future__ import annotations

import csv
import io
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException

from gridner.documents import Document, Fragment, extent
from gridner.errors import Notes
from gridner.files import Line, Source
from gridner.formats._support.lost_information import note_losses
from gridner.formats.brat import ann_of, annotated, configuration, no_names
from gridner.formats.jsonl import from_json, line_of, to_json
from gridner.formats.parquet import rows, spreadsheet_text
from gridner.inference.recognizer import Recognizer
from gridner.service.limits import Limits
from gridner.service.problems import many
from gridner.service.requests import counted, json_bytes
from gridner.service.worker import Steps
from gridner.text.sentences import stream_sentences
from gridner.view.draw import blocks
from gridner.view.grid import window_grid
from gridner.view.html import packed_cells

CELLS = 200  # of a drawing that are laid out in a step


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
        said = f"{place}: {many(len(numbered), 'annotation')}, expected at most {limits.annotations:,}"
        raise HTTPException(413, said)
    yield
    document = annotated(name, text, numbered, Source(place, notes=notes))
    if _covered(document) > limits.covered:
        said = f"{place}: annotations over {_covered(document):,} characters, those under several counted several times"
        raise HTTPException(413, f"{said}; expected at most {limits.covered:,} in a drawing")
    return document


def drawing(document: Document, recognizer: Recognizer, limits: Limits, notes: Notes) -> Steps[bytes]:
    """Return a drawing for the page.

    Its blocks are the sentences with their cells. Bars refer to the entities of the block, and these to those of the
    document.
    """
    yield
    document = _fitting(document, limits, notes)
    places: dict[tuple[str, tuple[Fragment, ...]], int] = {}
    for place, entity in enumerate(document.entities):
        places.setdefault((entity.type, extent(document.text, entity)), place)
    drawn = []
    for span, entities in blocks(document):
        yield
        cells: list[list[Any]] = []
        for cell in packed_cells(document.text, span, entities):
            cells.append(cell)
            if len(cells) % CELLS == 0:
                yield
        numbers = [places[entity.type, entity.fragments] for entity in entities]
        drawn.append({"start": span.start, "entities": numbers, "cells": cells})
    return json_bytes(
        {
            "document": to_json(document),
            "types": list(recognizer.scheme.types),
            "threshold": recognizer.decoding.threshold,
            "blocks": drawn,
            "notes": counted(notes),
        }
    )


def grid_at(text: str, start: int, recognizer: Recognizer) -> Steps[bytes]:
    """Return the grids of the windows of a sentence, which is given by its first character."""
    for sentence in stream_sentences(Document("text", text)):
        yield
        if sentence.start >= start:
            break
    else:
        raise HTTPException(422, f"start is {start}, expected that of a sentence")
    found = []
    for window in recognizer.score_windows([sentence]):
        found.append((window.words.start, window_grid(recognizer, sentence, window)))
        yield
    grids = [grid for _, grid in sorted(found, key=lambda pair: pair[0]) if grid is not None]
    return json_bytes({"windows": grids})


def saved(item: dict[str, Any], format: str, notes: Notes) -> Steps[tuple[bytes, str, str]]:
    """Return the contents of a file, its media type and its name; what the format cannot carry is counted."""
    yield
    document = from_json(item, "document")
    yield
    if format == "jsonl":
        return line_of(document) + b"\n", "application/jsonl", "document.jsonl"
    if format == "csv":
        return _csv(document).encode(), "text/csv; charset=utf-8", "document.csv"
    packed, names = io.BytesIO(), no_names()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        note_losses(document, notes, "brat", ids=True)
        archive.writestr("document.ann", ann_of(document, notes, names))
        archive.writestr("document.txt", document.text)
        archive.writestr("annotation.conf", configuration(names))
    return packed.getvalue(), "application/zip", "document.zip"


def _fitting(document: Document, limits: Limits, notes: Notes) -> Document:
    """Return a document with what can be drawn of it: if there is too much, entities of the lowest scores go."""
    if _covered(document) <= limits.covered:
        return document
    kept, room = set(), limits.covered
    for number, entity in sorted(enumerate(document.entities), key=lambda pair: -(pair[1].score or 0)):
        room -= entity.end - entity.start
        if room < 0:
            break
        kept.add(number)
    for _ in range(len(document.entities) - len(kept)):
        notes.add("entity of a low score, left out as there are too many to draw", document.id)
    return replace(document, entities=tuple(one for number, one in enumerate(document.entities) if number in kept))


def _covered(document: Document) -> int:
    return sum(entity.end - entity.start for entity in document.entities)


def _csv(document: Document) -> str:
    """A row for each entity."""
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(["document", "type", "fragments", "text", "discontinuous", "score"])
    for row in rows([document]):
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
