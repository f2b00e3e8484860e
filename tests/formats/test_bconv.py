"""Files that bconv 1.2.1 wrote, a library that converts between formats of biomedical corpora."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridner.errors import Notes
from gridner.formats import read
from support.formats import counted

FILES = Path(__file__).parent / "bconv-1.2.1"
BYTES = "document with offsets in bytes of UTF-8, made characters"
TEXT = "Pain in left arm and shoulder 😀\nSince café au lait. No fever."
ENTITIES = {("Disorder", "Pain in left arm"), ("Disorder", "Pain in|shoulder"), ("Finding", "fever")}


@pytest.mark.parametrize(
    ("name", "format", "said"),
    [
        ("note.json", "pubannotation", {}),
        ("note.ann", "brat", {}),
        ("note.bioc.xml", "bioc", {BYTES: 1, "infons of passages or sentences, left out": 1}),
        ("note.bioc.json", "biocjson", {BYTES: 1, "infons of passages or sentences, left out": 1}),
    ],
)
def test_what_it_writes_is_read(name: str, format: str, said: dict[str, int]) -> None:
    notes = Notes()
    (document,) = read(FILES / name, format, notes=notes)
    assert document.id == ("note" if format == "brat" else "note-1")
    assert document.text == TEXT
    found = [
        (entity.type, "|".join(document.text[one.start : one.end] for one in entity.fragments))
        for entity in document.entities
    ]
    assert len(found) == 3
    assert set(found) == ENTITIES
    assert counted(notes) == said


def test_its_conll_has_columns_between_and_names_the_document_in_a_remark() -> None:
    (document,) = read(FILES / "note.conll", "conll")
    assert document.id == "note-1"
    assert document.sentences is not None
    assert len(document.sentences) == 3
    found = [(entity.type, document.text[entity.start : entity.end]) for entity in document.entities]
    # It has no place for gaps, so bconv has made an entity of each piece.
    assert found == [("Disorder", "Pain in left arm"), ("Disorder", "shoulder"), ("Finding", "fever")]
