"""Label Studio JSON: an array of tasks, each a text with labelled regions.

{"data": {"id": "note-1", "text": "pain in left arm and shoulder"}, "annotations": [{"result": [
  {"id": "T1", "from_name": "label", "to_name": "text", "type": "labels",
   "value": {"start": 0, "end": 7, "text": "pain in", "labels": ["ADR"]}}, …
  {"type": "relation", "from_id": "T1", "to_id": "T1-2", "direction": "right", "labels": ["fragment"]}]}]}

Label Studio has no regions with gaps. Our convention: regions that a relation labelled `fragment` joins are one entity.
Entities with scores are written as a prediction, which is read where nobody has annotated. Offsets are code points, as
Label Studio has counted since 2022; those of older exports, UTF-16 units, are told by the regions' own text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from reprlib import repr as shorten
from typing import Any, NamedTuple

from gridner.documents import Document, Entity
from gridner.errors import FormatError, Notes, OutputError
from gridner.files import Source, check_not_empty
from gridner.formats._support.entity_ids import entity_ids
from gridner.formats._support.folders import numbered_files
from gridner.formats._support.joined_annotations import joined_groups
from gridner.formats._support.json_stream import stream_values
from gridner.formats._support.lost_information import note_losses
from gridner.formats._support.offsets import fragments_from, from_utf16
from gridner.formats._support.repair import agreed

FRAGMENT, META = "fragment", "labelstudio"
Region = dict[str, Any]


class Label(NamedTuple):
    """A label, and the names of its tags in the labelling configuration. The defaults are Label Studio's template."""

    label: str
    from_name: str = "label"  # of <Labels>
    to_name: str = "text"  # of <Text>


def read(source: Source) -> Iterator[Document]:
    """The documents of the file (or of the .json files of a folder)."""
    for path, prefix in numbered_files(source, (".json", ".jsonl")):
        with source.record(str(path)):
            for number, task in enumerate(stream_values(path), start=1):
                where = f"{path}: task {number}"
                with source.record(where):
                    data = task.get("data") if isinstance(task, dict) else None
                    if not isinstance(data, dict) or not isinstance(data.get("text"), str):
                        raise FormatError(f"{where}: {shorten(task)}, expected an object with 'data' that has a 'text'")
                    document_id = _document_id(task, f"{prefix}{number}")
                    if source.wants(document_id):
                        source.once(document_id, where)
                        check_not_empty(data["text"], where)
                        yield Document(document_id, data["text"], tuple(_entities(task, data["text"], where, source)))


def looks_like(path: Path) -> bool:
    """Return whether the first record of a file is a task."""
    try:
        first = next(iter(items(path)), None)
    except (FormatError, OSError):
        return False
    return isinstance(first, dict) and isinstance(first.get("data"), dict)


def annotated_ids(path: Path) -> set[str]:
    """Return the ids of the documents that somebody has annotated. Records that cannot be read are left out."""
    found = set()
    source = Source(path, lenient=True)
    for file, prefix in numbered_files(source, (".json", ".jsonl")):
        with source.record(str(file)):
            for number, task in enumerate(items(file), start=1):
                annotations = task.get("annotations") if isinstance(task, dict) else None
                done = [one for one in annotations or () if isinstance(one, dict) and not one.get("was_cancelled")]
                if done:
                    found.add(_document_id(task, f"{prefix}{number}"))
    return found


def _document_id(task: dict[str, Any], otherwise: str) -> str:
    """The id in the data of a task, else its own."""
    data = task.get("data")
    own = [data.get("id") if isinstance(data, dict) else None, task.get("id")]
    return next((str(one) for one in own if one not in (None, "")), otherwise)


def _entities(task: dict[str, Any], text: str, where: str, source: Source) -> Iterator[Entity]:
    regions: dict[str, Region] = {}
    joins = []
    for item in _results(task, where, source.notes):
        kind = item.get("type")
        if kind == "relation" and item.get("labels") == [FRAGMENT]:
            joins.append((str(item.get("from_id")), str(item.get("to_id"))))
        elif kind == "labels":
            name = str(item.get("id") or f"#{len(regions) + 1}")
            if name in regions:
                raise FormatError(f"{where}: region {name:.40} a second time, expected each id once")
            _check_region(item, f"{where}: region {name:.40}")
            regions[name] = item
        else:
            source.notes.add("result that is no labelled region or fragment, left out", f"{where}: {kind!s:.40}")
    places = _places(regions, text, where, source.notes)
    for members in joined_groups(regions, joins, where):
        place = f"{where}: region {', '.join(members):.60}"
        with source.record(place):
            yield from _joined(members, regions, places, text, place, source)


def _results(task: dict[str, Any], where: str, notes: Notes) -> list[Region]:
    """What one annotator said, else what one model did; the others are counted."""
    given = _objects(task, "annotations", where)
    annotations = [one for one in given if not one.get("was_cancelled")]
    for _ in range(len(given) - len(annotations)):
        notes.add("annotation that its annotator skipped (was_cancelled), left out", where)
    for _ in _drafts(task):
        notes.add("draft of an annotation, left out", where)
    annotations.sort(key=lambda one: not one.get("ground_truth"))
    predictions = _objects(task, "predictions", where)
    for _ in annotations[1:]:
        notes.add("annotation of a task that has another, left out", where)
    for _ in predictions if annotations else predictions[1:]:
        notes.add("prediction for a task that has an annotation or another prediction, left out", where)
    chosen = [*annotations, *predictions][:1]
    if not chosen:
        notes.add("task without annotations, read as without entities", where)
    return [item for one in chosen for item in _objects(one, "result", where)]


def _drafts(task: dict[str, Any]) -> list[Any]:
    """What was not submitted; exports have ids there, or whole drafts."""
    drafts = task.get("drafts")
    return drafts if isinstance(drafts, list) else []


def _objects(item: dict[str, Any], key: str, where: str) -> list[dict[str, Any]]:
    found = item.get(key) or []
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise FormatError(f"{where}: {key} are {shorten(found)}, expected a list of objects")
    return found


def _check_region(item: Region, where: str) -> None:
    value = item.get("value")
    if not isinstance(value, dict) or [type(value.get(edge)) for edge in ("start", "end")] != [int, int]:
        raise FormatError(f"{where}: value is {shorten(value)}, expected start and end as numbers")
    labels = value.get("labels")
    if not isinstance(labels, list) or not labels or not all(isinstance(label, str) for label in labels):
        raise FormatError(f"{where}: labels are {shorten(labels)}, expected a list of at least one")


def _places(regions: dict[str, Region], text: str, where: str, notes: Notes) -> dict[str, tuple[int, int]]:
    """The offsets of the regions, in code points."""
    places = {name: (item["value"]["start"], item["value"]["end"]) for name, item in regions.items()}
    if text.isascii() or max(text) <= "\uffff" or _say_so(places, regions, text):
        return places
    known = from_utf16(text)
    older = {name: (known.get(start, -1), known.get(end, -1)) for name, (start, end) in places.items()}
    if not _say_so(older, regions, text):
        return places  # wrong either way, as is then said
    notes.add("task with offsets in UTF-16 units, as older versions count, made code points", where)
    return older


def _say_so(places: dict[str, tuple[int, int]], regions: dict[str, Region], text: str) -> bool:
    """Whether the characters at the places are those that the regions say, as far as they say any."""
    for name, (start, end) in places.items():
        said = regions[name]["value"].get("text")
        if not 0 <= start < end <= len(text):
            return False
        if isinstance(said, str) and "".join(said.split()) != "".join(text[start:end].split()):
            return False
    return True


def _joined(
    members: list[str],
    regions: dict[str, Region],
    places: dict[str, tuple[int, int]],
    text: str,
    where: str,
    source: Source,
) -> Iterator[Entity]:
    """The entity of regions that are joined; or, where they have several labels, one for each."""
    found = [regions[name] for name in members]
    labels = found[0]["value"]["labels"]
    if any(sorted(one["value"]["labels"]) != sorted(labels) for one in found):
        raise FormatError(f"{where}: fragments of one entity with other labels, expected {labels!r:.60} for all")
    pairs = [places[name] for name in members]
    fragments = fragments_from(pairs, text, where, source.notes)
    agreeing = [
        agreed(said, [pair], text, where, source)[0]
        if isinstance(said := regions[name]["value"].get("text"), str) and said.strip()
        else pair
        for name, pair in zip(members, pairs, strict=True)
    ]
    if agreeing != pairs:
        fragments = fragments_from(agreeing, text, where, Notes())
    score = next((one["score"] for one in found if isinstance(one.get("score"), int | float)), None)
    meta = found[0].get("meta")
    own = str(found[0]["id"]) if found[0].get("id") else None
    for label in dict.fromkeys(labels):
        yield Entity(label.strip(), fragments, score, own, {META: meta} if meta else {})


def write(documents: Iterable[Document], path: Path, notes: Notes) -> int:
    """One file, an array with a task a line. How many entities were written is returned."""
    written = 0
    with open(path, "x", encoding="utf-8", newline="") as file:
        separator = "[\n"
        for document in documents:
            note_losses(document, notes, META, ids=True, scores=True, own_entity_meta=META)
            try:
                file.write(separator + json.dumps(_task(document, notes), ensure_ascii=False, allow_nan=False))
            except (TypeError, ValueError, RecursionError) as error:
                raise OutputError(f"document {document.id}: {error}, expected a meta that JSON can carry") from None
            separator = ",\n"
            written += len(document.entities)
        file.write("\n]\n" if separator == ",\n" else "[]\n")
    return written


def _task(document: Document, notes: Notes) -> dict[str, Any]:
    result = results_of(document, entity_ids(document, notes, META))
    task: dict[str, Any] = {"data": {"id": document.id, "text": document.text}, "annotations": []}
    scores = [entity.score for entity in document.entities if entity.score is not None]
    if scores:
        task["predictions"] = [{"model_version": "gridner", "score": min(scores), "result": result}]
    elif result:
        task["annotations"] = [{"result": result}]
    return task


def results_of(
    document: Document, names: Sequence[str], label_of: Callable[[str], Label] = Label
) -> list[dict[str, Any]]:
    """Return the regions of a document's entities, and the relations that join fragments.

    `names` has an id for each entity, `label_of` gives the label of a type.
    """
    used = set(names)
    result: list[dict[str, Any]] = []
    for entity, name in zip(document.entities, names, strict=True):
        label, from_name, to_name = label_of(entity.type)
        last = ""
        for number, at in enumerate(entity.fragments, start=1):
            here = name if number == 1 else f"{name}-{number}"
            while last and here in used:
                here += "'"
            used.add(here)
            said = document.text[at.start : at.end]
            value = {"start": at.start, "end": at.end, "text": said, "labels": [label]}
            region: dict[str, Any] = {
                "id": here,
                "from_name": from_name,
                "to_name": to_name,
                "type": "labels",
                "value": value,
            }
            if entity.score is not None:
                region["score"] = entity.score
            if not last and entity.meta.get(META):
                region["meta"] = entity.meta[META]
            result.append(region)
            if last:
                ends = {"from_id": last, "to_id": here, "direction": "right"}
                result.append({"type": "relation", **ends, "labels": [FRAGMENT]})
            last = here
    return result
