"""Suggestions for annotators, and what they have made of them."""

import json
from pathlib import Path

import pytest

from gridner import Document, Entity, FormatError, Fragment, Notes, OutputError, read
from gridner.corpus.suggestions import MANIFEST, only_annotated, only_unannotated, write_suggestions
from gridner.formats import guess

TEXT = "pain in left arm and shoulder"


def suggested() -> list[Document]:
    gap = Entity("Sign", (Fragment(0, 7), Fragment(21, 29)), 0.61)
    return [Document("a", TEXT, (gap,)), Document("b", TEXT, (gap,)), Document("c", TEXT), Document("d", TEXT)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    notes = Notes()
    assert write_suggestions(suggested(), tmp_path / "brat", types=["Sign", "Drug!"], force=False, notes=notes) == 2
    return tmp_path / "brat"


def ids(documents: list[Document]) -> list[str]:
    return [document.id for document in documents]


def test_a_folder_with_suggestions_has_what_brat_needs(folder: Path) -> None:
    assert (folder / "a.ann").read_text() == (
        "T1\tSign 0 7;21 29\tpain in shoulder\n#1\tAnnotatorNotes T1\tgridner 0.61\n"
    )
    assert (folder / "c.ann").read_text() == ""
    assert "Drug_\nSign\n" in (folder / "annotation.conf").read_text()
    assert guess(folder) == "brat"
    assert [document.entities for document in read(folder)] == [
        tuple(Entity(one.type, one.fragments) for one in document.entities) for document in suggested()
    ]


def test_a_folder_that_exists_is_not_overwritten(folder: Path) -> None:
    with pytest.raises(OutputError, match="exists"):
        write_suggestions(suggested(), folder, types=["Sign"], force=False, notes=Notes())


def test_documents_whose_suggestions_somebody_changed_are_annotated(folder: Path) -> None:
    (folder / "b.ann").write_text("")  # all of them were wrong
    (folder / "d.ann").write_text("T1\tSign 0 4\tpain\n")
    notes = Notes()
    assert ids(list(only_annotated(read(folder), folder, "brat", notes))) == ["b", "d"]
    assert notes["document that nobody has annotated, left out (--ids keeps it)"] == 2
    assert ids(list(only_unannotated(read(folder), folder, "brat", notes))) == ["a", "c"]
    assert notes["document that is annotated already, left out"] == 2


def test_without_suggestions_documents_with_entities_are_annotated(folder: Path) -> None:
    (folder / MANIFEST).unlink()
    assert ids(list(only_annotated(read(folder), folder, "brat", Notes()))) == ["a", "b"]


def test_a_list_of_suggestions_that_cannot_be_read_is_one_line(folder: Path) -> None:
    for wrong in ("[", "[]", '{"documents": 3}'):
        (folder / MANIFEST).write_text(wrong)
        with pytest.raises(FormatError, match=r"suggestions\.json: damaged"):
            list(only_annotated(read(folder), folder, "brat", Notes()))


def test_tasks_with_an_annotation_are_annotated(tmp_path: Path) -> None:
    region = {"id": "x", "type": "labels", "value": {"start": 0, "end": 4, "labels": ["Sign"]}}
    tasks = [
        {"id": 1, "data": {"text": TEXT}, "annotations": [{"result": [region]}], "predictions": []},
        {"id": 2, "data": {"text": TEXT}, "annotations": [{"result": []}]},
        {"id": 3, "data": {"text": TEXT}, "annotations": [], "predictions": [{"result": [region]}]},
        {"id": 4, "data": {"text": TEXT}, "annotations": [{"result": [region], "was_cancelled": True}]},
        {"id": 5, "data": {"id": "own", "text": TEXT}, "annotations": [{"result": [region]}]},
    ]
    path = tmp_path / "export.json"
    path.write_text(json.dumps(tasks))
    assert guess(path) == "labelstudio"
    assert ids(list(only_annotated(read(path), path, "labelstudio", Notes()))) == ["1", "2", "own"]
    assert ids(list(only_unannotated(read(path), path, "labelstudio", Notes()))) == ["3", "4"]


def test_json_that_is_no_export_is_not_taken_for_one(tmp_path: Path) -> None:
    for number, text in enumerate(('[{"sentence": ["a"], "ner": []}]', "[", "[3]", "", '[{"data": 3}]')):
        path = tmp_path / f"{number}.json"
        path.write_text(text)
        assert guess(path) == "w2ner"
