"""Label Studio JSON: an array of tasks, each a text with labelled regions.

{"data": {"id": "note-1", "text": "pain in left arm and shoulder"}, "annotations": [{"result": [
  {"id": "T1", "from_name": "label", "to_name": "text", "type": "labels",
   "value": {"start": 0, "end": 7, "text": "pain in", "labels": ["ADR"]}}, …
  {"type": "relation", "from_id": "T1", "to_id": "T1-2", "direction": "right", "labels": ["fragment"]}]}]}

Label Studio has no regions with gaps. Our convention: regions that a relation labelled `fragment` joins are one entity.
Where the labelling configuration does not name the label, Label Studio drops it, so relations count if none has one.
Entities with scores are written as a prediction. Reading uses a prediction if a task has no annotation. Offsets are
code points, as in Label Studio since 2022; older exports have UTF-16 units, which the text of the regions reveals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from reprlib import repr as shorten
from typing import Any, NamedTuple

from gridner.documents import Document, Entity
from gridner.errors import FormatError, Notes
from gridner.files import Source, check_not_empty
from gridner.formats._support.entity_ids import entity_ids
from gridner.formats._support.folders import numbered_files
from gridner.formats._support.joined_annotations import joined_groups
from gridner.formats._support.json_fields import objects_in
from gridner.formats._support.json_output import document_json, write_array
from gridner.formats._support.json_stream import stream_values
from gridner.formats._support.lost_information import note_losses
from gridner.formats._support.offsets import fragments_from, from_utf16, squeezed
from gridner.formats._support.repair import agreed_pairs

FRAGMENT, META = "fragment", "labelstudio"
LEFT_OUT = "result that is no labelled region or fragment, left out"
Region = dict[str, Any]


class Label(NamedTuple):
    """A label, and the names of its tags in the labelling configuration. The defaults are Label Studio's template."""

    label: str
    from_name: str = "label"  # of <Labels>
    to_name: str = "text"  # of <Text>


def read(source: Source) -> Iterator[Document]:
    """Yield the documents of a file (or of the .json files of a folder)."""
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
        first = next(iter(stream_values(path)), None)
    except (FormatError, OSError):
        return False
    return isinstance(first, dict) and isinstance(first.get("data"), dict)


def annotated_ids(path: Path) -> set[str]:
    """Return the ids of the documents that somebody has annotated. Records that cannot be read are left out."""
    ids = set()
    source = Source(path, lenient=True)
    for file, prefix in numbered_files(source, (".json", ".jsonl")):
        with source.record(str(file)):
            for number, task in enumerate(stream_values(file), start=1):
                annotations = task.get("annotations") if isinstance(task, dict) else None
                submitted = [
                    annotation
                    for annotation in annotations or ()
                    if isinstance(annotation, dict) and not annotation.get("was_cancelled")
                ]
                if submitted:
                    ids.add(_document_id(task, f"{prefix}{number}"))
    return ids


def _document_id(task: dict[str, Any], otherwise: str) -> str:
    """Return the id in the data of a task, or else its own."""
    data = task.get("data")
    ids = [data.get("id") if isinstance(data, dict) else None, task.get("id")]
    return next((str(task_id) for task_id in ids if task_id not in (None, "")), otherwise)


def _entities(task: dict[str, Any], text: str, where: str, source: Source) -> Iterator[Entity]:
    regions: dict[str, Region] = {}
    joins: list[tuple[str, str]] = []
    unlabelled: list[tuple[str, str]] = []
    results = _results(task, where, source.notes)
    labelled = any(item.get("labels") for item in results if item.get("type") == "relation")
    for item in results:
        kind, labels = item.get("type"), item.get("labels") or []
        if kind == "relation" and (labels == [FRAGMENT] or not labelled):
            (joins if labelled else unlabelled).append((str(item.get("from_id")), str(item.get("to_id"))))
        elif kind == "labels":
            name = str(item.get("id") or f"#{len(regions) + 1}")
            if name in regions:
                raise FormatError(f"{where}: region {name:.40} appears twice; ids must be unique")
            _check_region(item, f"{where}: region {name:.40}")
            regions[name] = item
        else:
            source.notes.add(LEFT_OUT, f"{where}: {kind!s:.40}")
    for ends in unlabelled:
        if _same_labels([regions.get(end) for end in ends]):
            source.notes.add("relation without a label between regions of one label, read as fragment", where)
            joins.append(ends)
        else:
            source.notes.add(LEFT_OUT, f"{where}: relation")
    offsets = _offsets(regions, text, where, source.notes)
    for members in joined_groups(regions, joins, where):
        entity_where = f"{where}: region {', '.join(members):.60}"
        with source.record(entity_where):
            yield from _joined(members, regions, offsets, text, entity_where, source)


def _same_labels(regions: Sequence[Region | None]) -> bool:
    labels = [None if region is None else sorted(region["value"]["labels"]) for region in regions]
    return None not in labels and all(names == labels[0] for names in labels)


def _results(task: dict[str, Any], where: str, notes: Notes) -> list[Region]:
    """Return the result of one annotator, or else of one model; the others are counted."""
    submitted = objects_in(task, "annotations", where)
    annotations = [annotation for annotation in submitted if not annotation.get("was_cancelled")]
    for _ in range(len(submitted) - len(annotations)):
        notes.add("annotation that its annotator skipped (was_cancelled), left out", where)
    for _ in _drafts(task):
        notes.add("draft of an annotation, left out", where)
    annotations.sort(key=lambda annotation: not annotation.get("ground_truth"))
    exported = task.get("predictions")
    numbered = [number for number in exported if isinstance(number, int)] if isinstance(exported, list) else []
    predictions = [] if numbered else objects_in(task, "predictions", where)
    for _ in annotations[1:]:
        notes.add("annotation of a task that has another, left out", where)
    for _ in predictions if annotations else predictions[1:]:
        notes.add("prediction for a task that has an annotation or another prediction, left out", where)
    for _ in () if annotations else numbered:
        notes.add("prediction of which the export has only the number, left out", where)
    chosen = [*annotations, *predictions][:1]
    if not chosen:
        notes.add("task without annotations, read as without entities", where)
    return [item for annotation in chosen for item in objects_in(annotation, "result", where)]


def _drafts(task: dict[str, Any]) -> list[Any]:
    """Return the drafts of a task, which exports give whole or as ids."""
    drafts = task.get("drafts")
    return drafts if isinstance(drafts, list) else []


def _check_region(item: Region, where: str) -> None:
    value = item.get("value")
    if not isinstance(value, dict) or [type(value.get(edge)) for edge in ("start", "end")] != [int, int]:
        raise FormatError(f"{where}: value is {shorten(value)}, expected start and end as numbers")
    labels = value.get("labels")
    if not isinstance(labels, list) or not labels or not all(isinstance(label, str) for label in labels):
        raise FormatError(f"{where}: labels are {shorten(labels)}, expected at least one label")


def _offsets(regions: dict[str, Region], text: str, where: str, notes: Notes) -> dict[str, tuple[int, int]]:
    """Return the offsets of the regions, in code points."""
    offsets = {name: (item["value"]["start"], item["value"]["end"]) for name, item in regions.items()}
    if text.isascii() or max(text) <= "\uffff" or _cover_stated_text(offsets, regions, text):
        return offsets
    code_point = from_utf16(text)
    older = {name: (code_point.get(start, -1), code_point.get(end, -1)) for name, (start, end) in offsets.items()}
    if not _cover_stated_text(older, regions, text):
        return offsets  # wrong either way, which is an error later
    notes.add("task with offsets in UTF-16 units, as older versions count, made code points", where)
    return older


def _cover_stated_text(offsets: dict[str, tuple[int, int]], regions: dict[str, Region], text: str) -> bool:
    """Return whether the offsets cover the texts that the regions state, if they state any."""
    for name, (start, end) in offsets.items():
        stated = regions[name]["value"].get("text")
        if not 0 <= start < end <= len(text):
            return False
        if isinstance(stated, str) and squeezed(stated) != squeezed(text[start:end]):
            return False
    return True


def _joined(
    members: list[str],
    regions: dict[str, Region],
    offsets: dict[str, tuple[int, int]],
    text: str,
    where: str,
    source: Source,
) -> Iterator[Entity]:
    """Yield the entity of regions that are joined; if they have several labels, one for each."""
    joined = [regions[name] for name in members]
    labels = joined[0]["value"]["labels"]
    if any(sorted(region["value"]["labels"]) != sorted(labels) for region in joined):
        raise FormatError(f"{where}: fragments of one entity have different labels; give them the same")
    pairs = [offsets[name] for name in members]
    fragments = fragments_from(pairs, text, where, source.notes)
    agreeing = [
        agreed_pairs(stated, [pair], text, where, source)[0]
        if isinstance(stated := regions[name]["value"].get("text"), str) and stated.strip()
        else pair
        for name, pair in zip(members, pairs, strict=True)
    ]
    if agreeing != pairs:
        fragments = fragments_from(agreeing, text, where, Notes())
    score = next((region["score"] for region in joined if isinstance(region.get("score"), int | float)), None)
    meta = joined[0].get("meta")
    own_id = str(joined[0]["id"]) if joined[0].get("id") else None
    for label in dict.fromkeys(labels):
        yield Entity(label.strip(), fragments, score, own_id, {META: meta} if meta else {})


def write(documents: Iterable[Document], path: Path, notes: Notes) -> int:
    """Write one file, an array with one task per line. Return the number of entities written."""
    return write_array(
        path,
        ((document_json(document.id, _task(document, notes)), len(document.entities)) for document in documents),
    )


def _task(document: Document, notes: Notes) -> dict[str, Any]:
    note_losses(document, notes, META, ids=True, scores=True, own_entity_meta=META)
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
        previous_id = ""
        for number, at in enumerate(entity.fragments, start=1):
            region_id = name if number == 1 else f"{name}-{number}"
            while previous_id and region_id in used:
                region_id += "'"
            used.add(region_id)
            covered = document.text[at.start : at.end]
            value = {"start": at.start, "end": at.end, "text": covered, "labels": [label]}
            region: dict[str, Any] = {
                "id": region_id,
                "from_name": from_name,
                "to_name": to_name,
                "type": "labels",
                "value": value,
            }
            if entity.score is not None:
                region["score"] = entity.score
            if not previous_id and entity.meta.get(META):
                region["meta"] = entity.meta[META]
            result.append(region)
            if previous_id:
                ends = {"from_id": previous_id, "to_id": region_id, "direction": "right"}
                result.append({"type": "relation", **ends, "labels": [FRAGMENT]})
            previous_id = region_id
    return result
