"""Annotations whose offsets cover something else than the text that they repeat."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridner.documents import Document, covered_text
from gridner.errors import FormatError, Notes
from gridner.formats import read
from gridner.formats._support.repair import REPAIRED, repaired
from gridner.text.splitting import tokenize
from support.formats import counted, put
from support.strategies import texts

TEXT = "He had renal and respiratory failure, then pain in his left arm."
#       0      7         17          29       38


def read_one(folder: Path, offsets: str, said: str, *, repair: bool = True, notes: Notes | None = None) -> Document:
    put(folder, {"d.txt": TEXT, "d.ann": f"T1\tADR {offsets}\t{said}\n"})
    (document,) = read(folder, "brat", repair=repair, notes=notes)
    return document


@pytest.mark.parametrize(
    ("offsets", "said", "became"),
    [
        ("7 11;29 36", "renal failure", "renal … failure"),  # a boundary inside a word
        ("8 12;29 36", "renal failure", "renal … failure"),
        ("7 12;30 35", "renal failure", "renal … failure"),
        ("17 36", "renal and respiratory failure", "respiratory failure"),  # at word ends: kept
        ("7 36", "renal failure", "renal and respiratory failure"),
        ("44 49", "pain", "pain"),  # the stated text decides which end of a word
        ("44 49", "pain in", "pain in"),
        ("29 36;8 12", "failure renal", "renal … failure"),  # out of order
    ],
)
def test_offsets_are_kept_with_boundaries_at_the_ends_of_words(
    tmp_path: Path, offsets: str, said: str, became: str
) -> None:
    notes = Notes()
    (entity,) = read_one(tmp_path, offsets, said, notes=notes).entities
    assert covered_text(TEXT, entity.fragments) == became
    assert counted(notes) == {REPAIRED: 1}


def test_a_repair_is_named_with_what_it_was_and_what_it_became(tmp_path: Path) -> None:
    notes = Notes()
    read_one(tmp_path, "7 11;29 36", "renal failure", notes=notes)
    (place,) = notes.places(REPAIRED)
    assert place.endswith(
        "d.ann:1: 7 11;29 36 'rena … failure' became 7 12;29 36 'renal … failure', said to be 'renal failure'"
    )
    notes = Notes()
    read_one(tmp_path, "17 36", "renal and respiratory failure", notes=notes)
    (place,) = notes.places(REPAIRED)
    assert place.endswith("d.ann:1: 17 36 'respiratory failure' is kept, said to be 'renal and respiratory failure'")


def test_without_repair_it_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"d\.ann:1: the text at 7 11;29 36 is 'rena failure', expected 'renal"):
        read_one(tmp_path, "7 11;29 36", "renal failure", repair=False)


@pytest.mark.parametrize(("offsets", "said"), [("17 36", "headache"), ("7 12", "!"), ("7 900", "renal failure")])
def test_what_cannot_be_meant_stays_an_error(tmp_path: Path, offsets: str, said: str) -> None:
    with pytest.raises(FormatError, match=r"d\.ann:1: "):
        read_one(tmp_path, offsets, said)
    put(tmp_path, {"d.txt": TEXT, "d.ann": f"T1\tADR {offsets}\t{said}\n"})
    notes = Notes()
    (document,) = read(tmp_path, "brat", repair=True, lenient=True, notes=notes)
    assert not document.entities
    assert counted(notes) == {"bad record skipped": 1}


def test_what_agrees_is_not_touched(tmp_path: Path) -> None:
    notes = Notes()
    (entity,) = read_one(tmp_path, "7 11", "rena", notes=notes).entities
    assert covered_text(TEXT, entity.fragments) == "rena"
    assert not notes


@given(texts(), st.data())
def test_repaired_offsets_end_where_words_end(text: str, data: st.DataObject) -> None:
    places = sorted(data.draw(st.sets(st.integers(0, len(text)), min_size=2, max_size=4)))
    pairs = list(zip(places[::2], places[1::2], strict=False))
    said = data.draw(st.one_of(st.just(text[pairs[0][0] : pairs[-1][1]]), texts(max_pieces=3)))
    found = repaired(said, pairs, text)
    inside = {place for word in tokenize(text) for place in range(word.start + 1, word.end)}
    if found is not None:
        assert len(found) == len(pairs)
        assert not inside & {place for pair in found for place in pair}


def test_other_formats_that_repeat_their_text_are_repaired_too(tmp_path: Path) -> None:
    value = {"start": 7, "end": 11, "text": "renal", "labels": ["ADR"]}
    result = [{"id": "a", "type": "labels", "value": value}]
    spans = {"offsets": [[7, 11]], "text": ["renal"], "type": "ADR", "id": "e"}
    kb = {"id": "d", "document_id": "d", "entities": [spans]}
    kb["passages"] = [{"id": "p", "type": "x", "text": [TEXT], "offsets": [[0, len(TEXT)]]}]
    xml = '<annotations><annotation><class id="ADR"/><span start="7" end="11">renal</span></annotation></annotations>'
    put(
        tmp_path,
        {
            "labelstudio.json": json.dumps([{"data": {"text": TEXT}, "annotations": [{"result": result}]}]),
            "bigbio.json": json.dumps([kb]),
            "share/d.txt": TEXT,
            "share/d.xml": xml,
        },
    )
    for format, path in (("labelstudio", "labelstudio.json"), ("bigbio", "bigbio.json"), ("share", "share")):
        notes = Notes()
        (document,) = read(tmp_path / path, format, repair=True, notes=notes)
        assert [covered_text(TEXT, one.fragments) for one in document.entities] == ["renal"], format
        assert notes[REPAIRED] == 1
