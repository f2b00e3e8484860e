import re
import tomllib
from pathlib import Path

import pytest

import gridner
import gridner.text

ROOT = Path(__file__).parent.parent


def test_the_public_names_are_these_and_no_others() -> None:
    assert sorted(gridner.__all__) == [
        "Document",
        "Entity",
        "Evaluation",
        "FORMATS",
        "FormatError",
        "Fragment",
        "GridnerError",
        "InvalidError",
        "MismatchError",
        "Notes",
        "OutputError",
        "Recognizer",
        "Score",
        "TrainedModel",
        "UsageError",
        "__version__",
        "compare",
        "evaluate",
        "load",
        "read",
        "read_config",
        "train",
        "write",
    ]
    assert all(hasattr(gridner, name) for name in gridner.__all__)


def test_words_and_sentences_are_under_text() -> None:
    assert sorted(gridner.text.__all__) == [
        "Alignment",
        "Mention",
        "Sentence",
        "Word",
        "align",
        "entity_of",
        "split_lines",
        "split_sentences",
        "tokenize",
        "with_sentences",
    ]
    assert all(hasattr(gridner.text, name) for name in gridner.text.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        gridner.nonsense  # noqa: B018


def test_two_systems_are_compared_in_one_call() -> None:
    text = "rod cells"
    gold = [gridner.Document("d", text, (gridner.Entity("Cell", (gridner.Fragment(0, 9),)),))]
    comparison = gridner.compare(gold, gold, [gridner.Document("d", text)], rounds=10)["all"]
    assert (comparison.f1_a, comparison.f1_b, comparison.difference) == (1.0, 0.0, -1.0)


def test_version_changelog_and_citation_agree() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^## (\S+)", changelog, re.MULTILINE)[1] == gridner.__version__  # type: ignore[index]
    assert re.search(r"^version: (\S+)", citation, re.MULTILINE)[1] == gridner.__version__  # type: ignore[index]


def test_every_dependency_is_pinned_and_explained() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pinned = {line.split("==")[0].lower() for line in (ROOT / "constraints.txt").read_text().split() if "==" in line}
    explained = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    wanted = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    for requirement in wanted:
        name = re.split(r"[\[<>=~]", requirement)[0]
        if name != "gridner":
            assert name.lower() in pinned, f"{name} is not in constraints.txt"
            assert f"`{name}`" in explained, f"{name} is not in docs/dependencies.md"


def test_the_base_install_needs_neither_torch_nor_transformers() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    base = " ".join(project["dependencies"])
    assert not re.search(r"torch|transformers|spacy", base)
