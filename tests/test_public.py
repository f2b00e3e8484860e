import re
import tomllib
from pathlib import Path

import gridner

ROOT = Path(__file__).parent.parent


def test_the_public_names_are_these_and_no_others() -> None:
    assert sorted(gridner.__all__) == [
        "Alignment",
        "Document",
        "Entity",
        "Evaluation",
        "FORMATS",
        "FormatError",
        "Fragment",
        "GridnerError",
        "InvalidError",
        "Mention",
        "MismatchError",
        "Notes",
        "OutputError",
        "Score",
        "Sentence",
        "UsageError",
        "Word",
        "__version__",
        "align",
        "entity_of",
        "evaluate",
        "load",
        "read",
        "split_lines",
        "split_sentences",
        "tokenize",
        "with_sentences",
        "write",
    ]
    assert all(hasattr(gridner, name) for name in gridner.__all__)


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
