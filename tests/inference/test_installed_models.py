"""Models by name, and several of them together."""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import gridner
from gridner.documents import Document
from gridner.errors import GridnerError, UsageError
from gridner.inference.installed_models import DEFAULT_MODEL, find_model, find_models, installed_models
from gridner.inference.parallel import PredictionTask
from gridner.inference.recognizer import Recognizer
from gridner.inference.several_models import CombinedRecognizer, merge_models
from gridner.text.alignment import Mention, Sentence, stream_sentences
from support.small import documents


@pytest.fixture
def other_package(exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path that brings a model, without any code."""
    folder = tmp_path / "site" / "gridner_models" / "notes"
    shutil.copytree(exported, folder)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    return folder


def test_gridners_own_models_are_installed() -> None:
    assert installed_models()[DEFAULT_MODEL] == find_model() == find_model(DEFAULT_MODEL)


def test_another_package_brings_models(other_package: Path) -> None:
    assert installed_models()["notes"] == find_model("notes") == other_package
    assert next(iter(installed_models())) == DEFAULT_MODEL
    assert gridner.load("notes", threads=1).types == ("Drug", "Sign")
    assert "gridner_models" not in sys.modules


def test_a_model_folder_comes_before_an_installed_model(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / DEFAULT_MODEL).mkdir()
    assert find_model(DEFAULT_MODEL) == find_model()  # a folder, but no model
    shutil.copytree(exported, tmp_path / DEFAULT_MODEL, dirs_exist_ok=True)
    assert find_model(DEFAULT_MODEL) == Path(DEFAULT_MODEL)


def test_an_unknown_model_is_an_error_that_names_those_there_are() -> None:
    with pytest.raises(GridnerError, match=f"crafty: not a gridner model.*{DEFAULT_MODEL}"):
        find_model("crafty")
    with pytest.raises(UsageError, match="one of them twice"):
        find_models([DEFAULT_MODEL, find_model()])
    with pytest.raises(UsageError, match="no models"):
        find_models([])


def test_folders_of_the_same_name_are_told_apart(exported: Path, tmp_path: Path) -> None:
    other = shutil.copytree(exported, tmp_path / exported.name)
    assert find_models([exported, other]) == {str(exported): exported, str(other): other}


@pytest.fixture
def two(exported: Path, other_package: Path) -> CombinedRecognizer:
    (other_package / "gridner.json").write_text(
        json.dumps(_with_threshold(json.loads((other_package / "gridner.json").read_text()), 0.6))
    )
    combined = gridner.load([exported, "notes"], threads=1)
    assert isinstance(combined, CombinedRecognizer)
    return combined


def _with_threshold(manifest: dict[str, dict[str, dict[str, float]]], threshold: float) -> object:
    manifest["config"]["decoding"]["threshold"] = threshold
    return manifest


def test_several_models_give_the_union_of_what_each_finds(two: CombinedRecognizer) -> None:
    alone = {name: list(recognizer.pipe(documents())) for name, recognizer in two.models.items()}
    together = list(two.pipe(documents()))
    assert any(document.entities for document in together)
    for number, document in enumerate(together):
        found = {name: {entity: entity.score for entity in some[number].entities} for name, some in alone.items()}
        assert set(document.entities) == {entity for some in found.values() for entity in some}
        assert len(set(document.entities)) == len(document.entities)
        for entity in document.entities:
            names = [name for name, some in found.items() if entity in some]
            assert entity.meta == {"models": names}
            assert entity.score == pytest.approx(max(found[name][entity] or 0 for name in names), abs=1e-5)


def test_texts_are_split_once(two: CombinedRecognizer, monkeypatch: pytest.MonkeyPatch) -> None:
    split: list[Document] = []

    def stream(document: Document) -> Iterator[Sentence]:
        split.append(document)
        return stream_sentences(document)

    monkeypatch.setattr("gridner.inference.base_recognizer.stream_sentences", stream)
    list(two.pipe(documents()))
    assert len(split) == len(documents())


def test_a_mention_of_several_models_has_the_highest_score() -> None:
    first, second = Mention("Sign", (0, 2), 0.4, ("a",)), Mention("Sign", (0, 2), 0.7, ("b",))
    other = Mention("Sign", (0,), 0.5, ("b",))
    merged = merge_models([first, second, other])
    assert [(one.words, one.score, one.models) for one in merged] == [
        ((0,), 0.5, ("b",)),
        ((0, 2), 0.7, ("a", "b")),
    ]


def test_predicting_in_bulk_takes_several_models(exported: Path, other_package: Path) -> None:
    task = PredictionTask(model=(str(exported), "notes"), types=("Sign",))
    assert [one.name for one in task.types_looked_for()] == ["Sign"]
    assert isinstance(task.load(), CombinedRecognizer)


def test_one_model_says_nothing_about_models(exported: Path) -> None:
    recognizer = gridner.load([exported], threads=1)
    assert isinstance(recognizer, Recognizer)
    assert all(not entity.meta for document in recognizer.pipe(documents()) for entity in document.entities)
