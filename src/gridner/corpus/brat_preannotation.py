"""Add entities that a model found to the .ann files of a brat folder. What is there stays, byte for byte."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import count
from pathlib import Path

from gridner.documents import Document, Entity, Fragment, extent
from gridner.errors import Notes
from gridner.files import read_bytes, write_whole
from gridner.formats.brat import brat_name, entity_line

LINE_END = re.compile(r"[\r\n]+")
NUMBERED = re.compile(r"(?<![^\W_])([A-Z#])(\d{1,1000})(?!\w)")


def add_predictions(ann: Path, document: Document, entities: Iterable[Entity], notes: Notes) -> int:
    """Add entities to an .ann file, each with its score as a note, and return how many.

    `document` is what was read there. Entities that it has already, as brat spells their types, are not added again.
    """
    existing = {_key(document, entity) for entity in document.entities}
    new: dict[tuple[str, tuple[Fragment, ...]], Entity] = {}
    for entity in entities:
        key = _key(document, entity)
        if key not in existing:
            new.setdefault(key, entity)
    if not new:
        return 0
    before = read_bytes(ann) if ann.is_file() else b""
    last = last_numbers(before.decode("utf-8", errors="replace"))
    names, notes_names = (map((kind + "{}").format, count(last.get(kind, 0) + 1)) for kind in ("T", "#"))
    lines, scores = [], []
    for entity, name in zip(new.values(), names, strict=False):
        lines.append(entity_line(document, entity, name, notes))
        if entity.score is not None:
            scores.append(f"{next(notes_names)}\tAnnotatorNotes {name}\tgridner {entity.score:.2f}")
    end = b"" if not before or before.endswith(b"\n") else b"\n"
    after = before + end + "".join(line + "\n" for line in [*lines, *scores]).encode()
    write_whole(ann, lambda part: part.write_bytes(after), folder=False, force=True)
    return len(new)


def _key(document: Document, entity: Entity) -> tuple[str, tuple[Fragment, ...]]:
    return brat_name(entity.type), extent(document.text, entity)


def last_numbers(ann: str) -> dict[str, int]:
    """Return the highest number of each kind of id (T, R, E, A, #, …) in an .ann file.

    Ids count wherever a line may have or refer to one, also in lines that cannot be read: before the text column, or
    anywhere in a line that lacks columns.
    """
    last: dict[str, int] = {}
    for line in LINE_END.split(ann):
        columns = line.split("\t")
        id_columns = columns[0] if line.lstrip("\ufeff").startswith("T") and len(columns) > 1 else " ".join(columns[:2])
        for kind, number in NUMBERED.findall(id_columns):
            last[kind] = max(last.get(kind, 0), int(number))
    return last
