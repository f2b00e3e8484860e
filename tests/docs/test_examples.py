"""The shipped examples hold what they promise."""

import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from gridner import Document, Notes, read
from gridner.corpus.statistics import statistics
from gridner.documents import extent
from gridner.text import align

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    notes = Notes()
    found = list(read(EXAMPLES, "brat", notes=notes))
    assert not notes
    return found


def test_there_are_a_dozen_short_documents(documents: list[Document]) -> None:
    assert len(documents) == 12
    assert all(len(document.text) < 1500 for document in documents)


def test_every_entity_becomes_a_mention(documents: list[Document]) -> None:
    assert [align(document).cut for document in documents] == [()] * 12


def test_all_shapes_of_entities_occur(documents: list[Document]) -> None:
    found = statistics(documents)
    assert found.fragments[2] >= 18
    assert found.fragments[3] >= 4
    assert all(found.overlaps[name] for name in ("none", "left", "right", "multiple"))
    assert len(found.types) == 4
    assert any(not document.entities for document in documents)
    spans = [Counter(extent(d.text, e) for e in d.entities) for d in documents]
    assert any(count > 1 for counter in spans for count in counter.values())  # two types on the same words


def test_the_text_is_not_only_ascii(documents: list[Document]) -> None:
    text = "".join(document.text for document in documents)
    assert "\r\n" in text
    assert any(unicodedata.combining(character) for character in text)
    assert any("GREEK" in unicodedata.name(character, "") for character in text)
    assert any(ord(character) > 0xFFFF for character in text)


def test_the_posts_of_the_first_minute_are_as_their_readme_says() -> None:
    folder = EXAMPLES.parent / "benchmarks" / "first_minute"
    documents = list(read(folder / "posts", "brat"))
    entities = [entity for document in documents for entity in document.entities]
    assert len(documents) == 10
    counts = Counter(entity.type for entity in entities)
    gaps = sum(len(entity.fragments) > 1 for entity in entities)
    negated = sum(path.read_text(encoding="utf-8").count("\tNegated ") for path in folder.glob("posts/*.ann"))
    said = " ".join((folder / "README.md").read_text(encoding="utf-8").split())
    types = " and ".join(f"{counts[name]} of {name}" for name in ("AdverseReaction", "Condition"))
    assert f"{len(entities)} mentions: {types}, {gaps} of them discontinuous and {negated} negated" in said
    assert [align(document).cut for document in documents] == [()] * 10
