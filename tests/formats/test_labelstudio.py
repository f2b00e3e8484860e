from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from gridner.documents import Document, Entity, Fragment
from gridner.errors import FormatError, Notes, OutputError
from gridner.formats import read, write
from support.formats import counted, put, same_documents, through
from support.strategies import ODD_TYPES, corpora

TEXT = "pain in left arm and shoulder"
OLD = "task with offsets in UTF-16 units, as older versions count, made code points"


def region(name: str, start: int, end: int, *labels: str, **more: Any) -> dict[str, Any]:
    """A region as an export of Label Studio has it."""
    value = {"start": start, "end": end, "labels": list(labels or ["ADR"])}
    names = {"id": name, "from_name": "label", "to_name": "text", "type": "labels", "origin": "manual"}
    return {"value": value, **names, **more}


def joined(first: str, second: str, *labels: str) -> dict[str, Any]:
    """A relation as an export of Label Studio has it."""
    ends = {"from_id": first, "to_id": second, "type": "relation", "direction": "right"}
    return {**ends, "labels": list(labels)} if labels else ends


def task(*result: dict[str, Any], text: str = TEXT, **more: Any) -> dict[str, Any]:
    """A task as an export of Label Studio has it."""
    annotation = {
        "id": 1001,
        "completed_by": 10,
        "result": list(result),
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": "2026-03-09T22:16:08.728353Z",
        "lead_time": 4.288,
        "result_count": len(result),
        "task": 7,
    }
    item = {"id": 7, "annotations": [annotation], "file_upload": "a.json", "drafts": [], "predictions": []}
    return {**item, "data": {"text": text}, "meta": {}, "project": 83, **more}


def read_tasks(tmp_path: Path, *tasks: Any, notes: Notes | None = None) -> list[Document]:
    put(tmp_path, {"a.json": json.dumps(tasks)})
    return list(read(tmp_path / "a.json", "labelstudio", notes=notes))


def places(document: Document) -> list[tuple[str, str]]:
    return [(one.type, ";".join(map(str, one.fragments))) for one in document.entities]


def test_annotations_that_were_skipped_and_drafts_are_counted(tmp_path: Path) -> None:
    skipped = {"result": [region("a", 0, 4)], "was_cancelled": True}
    left = {"result": [region("b", 8, 16)]}
    notes = Notes()
    both, none = read_tasks(
        tmp_path,
        task(annotations=[skipped, left, skipped], drafts=[{"result": []}]),
        task(annotations=[skipped], data={"id": "none", "text": TEXT}),
        notes=notes,
    )
    assert places(both) == [("ADR", "8-16")]
    assert places(none) == []
    assert counted(notes) == {
        "annotation that its annotator skipped (was_cancelled), left out": 3,
        "draft of an annotation, left out": 1,
        "task without annotations, read as without entities": 1,
    }


@given(corpora(types=ODD_TYPES))
def test_documents_come_back(corpus: list[Document]) -> None:
    same_documents(through(corpus, "labelstudio")[0], corpus)


def test_an_export_is_read_and_fragments_are_joined(tmp_path: Path) -> None:
    notes = Notes()
    (document,) = read_tasks(
        tmp_path,
        task(
            region("a", 0, 16),
            region("b", 21, 29),
            region("c", 0, 7),
            region("d", 8, 12, "Side", "Place"),
            joined("b", "c", "fragment"),
            joined("a", "b", "causes"),
            joined("a", "c"),
            {"id": "e", "type": "choices", "from_name": "kind", "to_name": "text", "value": {"choices": ["good"]}},
        ),
        notes=notes,
    )
    assert (document.id, document.text) == ("7", TEXT)
    assert places(document) == [("ADR", "0-16"), ("ADR", "0-7;21-29"), ("Side", "8-12"), ("Place", "8-12")]
    assert [one.id for one in document.entities] == ["a", "b", "d", "d"]
    assert counted(notes) == {"result that is no labelled region or fragment, left out": 3}


def test_relations_join_where_label_studio_has_removed_all_labels(tmp_path: Path) -> None:
    """It does when an annotator submits and the labelling configuration has no <Relations>."""
    notes = Notes()
    results = (region("a", 0, 7), region("b", 21, 29), region("c", 8, 12, "Side"), joined("a", "b"), joined("a", "c"))
    (document,) = read_tasks(tmp_path, task(*results, joined("a", "gone")), notes=notes)
    assert places(document) == [("ADR", "0-7;21-29"), ("Side", "8-12")]
    assert counted(notes) == {
        "relation without a label between regions of one label, read as fragment": 1,
        "result that is no labelled region or fragment, left out": 2,
    }


def test_predictions_of_which_an_export_has_only_the_numbers_are_no_error(tmp_path: Path) -> None:
    notes = Notes()
    done, not_done = {**task(region("a", 0, 7)), "predictions": [3]}, {**task(), "id": 8, "predictions": [4, 5]}
    not_done["annotations"] = []
    first, second = read_tasks(tmp_path, done, not_done, notes=notes)
    assert places(first) == [("ADR", "0-7")]
    assert places(second) == []
    assert notes["prediction of which the export has only the number, left out"] == 2


def test_what_is_written_is_what_label_studio_imports(tmp_path: Path) -> None:
    entity = Entity("ADR", (Fragment(0, 7), Fragment(21, 29)), id="x", meta={"labelstudio": {"text": ["sure"]}})
    predicted = Entity("ADR", (Fragment(0, 4),), 0.25)
    documents = [Document("d", TEXT, (entity,)), Document("e", TEXT, (predicted, entity)), Document("f", TEXT)]
    write(documents, tmp_path / "out.json", "labelstudio")
    gold, found, none = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    names = {"from_name": "label", "to_name": "text", "type": "labels"}
    assert gold == {
        "data": {"id": "d", "text": TEXT},
        "annotations": [
            {
                "result": [
                    {
                        "id": "x",
                        **names,
                        "value": {"start": 0, "end": 7, "text": "pain in", "labels": ["ADR"]},
                        "meta": {"text": ["sure"]},
                    },
                    {"id": "x-2", **names, "value": {"start": 21, "end": 29, "text": "shoulder", "labels": ["ADR"]}},
                    {"type": "relation", "from_id": "x", "to_id": "x-2", "direction": "right", "labels": ["fragment"]},
                ]
            }
        ],
    }
    assert (found["annotations"], found["predictions"][0]["score"]) == ([], 0.25)
    assert [item.get("score") for item in found["predictions"][0]["result"]] == [0.25, None, None, None]
    assert none == {"data": {"id": "f", "text": TEXT}, "annotations": []}
    notes = Notes()
    back = list(read(tmp_path / "out.json", "labelstudio", notes=notes))
    assert back == documents
    assert back[0].entities[0].meta == entity.meta
    assert counted(notes) == {"task without annotations, read as without entities": 1}


def test_regions_have_ids_of_their_own() -> None:
    at = tuple(Fragment(number, number + 1) for number in (0, 2, 4))
    entities = tuple(Entity("A", at, id=name) for name in ("x", "x-2", "x-2'", None))
    (document,) = through([Document("d", "abcdef", entities)], "labelstudio")[0]
    assert [(one.id, len(one.fragments)) for one in document.entities] == [(n, 3) for n in ("x", "x-2", "x-2'", "T1")]


def test_one_annotation_is_read_and_the_others_are_counted(tmp_path: Path) -> None:
    first, second = ({"result": [region("a", at, at + 4)]} for at in (0, 12))
    cancelled = {"result": [region("a", 8, 12)], "was_cancelled": True}
    notes = Notes()
    documents = read_tasks(
        tmp_path,
        task(id=1, annotations=[cancelled, first, second], predictions=[first]),
        task(id=2, annotations=[first, {**second, "ground_truth": True}]),
        task(id=3, annotations=[], predictions=[second, first]),
        task(id=4, annotations=[cancelled]),
        notes=notes,
    )
    assert [places(one) for one in documents] == [[("ADR", "0-4")], [("ADR", "12-16")], [("ADR", "12-16")], []]
    assert counted(notes) == {
        "annotation of a task that has another, left out": 2,
        "annotation that its annotator skipped (was_cancelled), left out": 2,
        "prediction for a task that has an annotation or another prediction, left out": 2,
        "task without annotations, read as without entities": 1,
    }


EMOJI = "💩This is an annotation. 👨🏻"


def said(start: int, end: int, text: str) -> dict[str, Any]:
    item = region(f"r{start}", start, end)
    item["value"]["text"] = text
    return item


@pytest.mark.parametrize(
    ("regions", "old"),
    [
        ([said(12, 22, "annotation")], False),
        ([said(13, 23, "annotation")], True),  # issue 1347 of Label Studio, before it counted code points
        ([region("a", 12, 22)], False),
        ([said(0, 2, "💩"), said(13, 23, "annotation")], True),
        ([said(13, 23, "annotation"), region("a", 25, 29)], True),
    ],
)
def test_offsets_are_code_points_and_those_of_older_exports_are_told(
    tmp_path: Path, regions: list[dict[str, Any]], old: bool
) -> None:
    notes = Notes()
    (document,) = read_tasks(tmp_path, task(*regions, text=EMOJI), notes=notes)
    covered = {EMOJI[one.start : one.end] for one in document.entities}
    assert "annotation" in covered
    assert covered <= {"annotation", "💩", "👨🏻"}
    assert counted(notes) == ({OLD: 1} if old else {})


@pytest.mark.parametrize(
    ("data", "more", "document_id"),
    [
        ({"id": "note-1"}, {}, "note-1"),
        ({"id": 5}, {}, "5"),
        ({}, {}, "7"),
        ({}, {"id": None}, "1"),
        ({"id": ""}, {}, "7"),
    ],
)
def test_the_id_of_a_document(tmp_path: Path, data: dict[str, Any], more: Any, document_id: str) -> None:
    (document,) = read_tasks(tmp_path, task(**{"data": {"text": TEXT, **data}, **more}))
    assert document.id == document_id


@pytest.mark.parametrize(
    ("item", "what"),
    [
        (5, "task 1: 5, expected an object with 'data' that has a 'text'"),
        ({"data": {"image": "a.jpg"}}, "task 1: .*expected an object with 'data' that has a 'text'"),
        (task(text=" "), "task 1: an empty document"),
        (task(annotations=5), "task 1: annotations are 5, expected a list of objects"),
        (task(annotations=[{"result": [5]}]), r"task 1: result are \[5\], expected a list of objects"),
        (task({"id": "a", "type": "labels"}), "region a: value is None, expected start and end as numbers"),
        (task(region("a", 0, 4) | {"value": {"start": 0, "end": "4"}}), "region a: value is .*as numbers"),
        (
            task(region("a", 0, 4) | {"value": {"start": 0, "end": 4}}),
            "region a: labels are None, expected at least one label",
        ),
        (task(region("a", 0, 99)), "region a: fragment 0-99 is past the end of the text"),
        (task(region("a", 4, 4)), "region a: fragment 4-4: expected 0 <= start < end"),
        (task(said(1, 5, "pain")), "region r1: the text at 1 5 is 'ain ', expected 'pain'"),
        (task(said(14, 24, "annotation"), text=EMOJI), "region r14: the text at 14 24 is .*, expected 'annotation'"),
        (task(region("a", 0, 4), region("a", 5, 7)), "region a appears twice; ids must be unique"),
        (task(region("a", 0, 4), joined("a", "b", "fragment")), "a relation to 'b', which is not an annotation"),
        (
            task(region("a", 0, 4), region("b", 8, 12, "Side"), joined("a", "b", "fragment")),
            r"region a, b: fragments of one entity have different labels; give them the same",
        ),
    ],
)
def test_bad_input_is_named_in_a_line(tmp_path: Path, item: Any, what: str) -> None:
    with pytest.raises(FormatError, match=what) as caught:
        read_tasks(tmp_path, item)
    assert "\n" not in str(caught.value)


def test_lenient_skips_bad_regions_alone(tmp_path: Path) -> None:
    put(tmp_path, {"a.json": json.dumps([task(region("a", 0, 99), region("b", 0, 4)), 5])})
    notes = Notes()
    (document,) = read(tmp_path / "a.json", "labelstudio", lenient=True, notes=notes)
    assert places(document) == [("ADR", "0-4")]
    assert counted(notes) == {"bad record skipped": 2}


def test_a_meta_that_json_cannot_carry_is_not_written(tmp_path: Path) -> None:
    entity = Entity("A", (Fragment(0, 4),), meta={"labelstudio": {1, 2}})
    with pytest.raises(OutputError, match=r"document d: its meta cannot be written as JSON"):
        write([Document("d", TEXT, (entity,))], tmp_path / "out.json", "labelstudio")
    assert list(tmp_path.iterdir()) == []


def test_what_label_studio_itself_exports() -> None:
    """A task that gridner wrote, read by Label Studio 1.23.2, gone on with in its editor, and exported.

    There two words after the emoji were marked, and joined by a relation to which no label was given.
    """
    notes = Notes()
    (exported,) = read(Path(__file__).parent / "label-studio-1.23.2.json", "labelstudio", notes=notes)
    (own,) = (one for one in read(Path(__file__).parents[2] / "examples", "brat") if one.id == exported.id)
    assert exported.text == own.text
    found = {(entity.type, entity.fragments) for entity in exported.entities}
    gold = {(entity.type, entity.fragments) for entity in own.entities}
    assert gold < found
    added = [exported.text[part.start : part.end] for _, fragments in sorted(found - gold) for part in fragments]
    assert added == ["terrible", "nearly"]
    assert counted(notes) == {"result that is no labelled region or fragment, left out": 1}
