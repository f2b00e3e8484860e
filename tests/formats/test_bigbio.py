from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from gridner.documents import Document, Entity, Fragment
from gridner.errors import FormatError, Notes
from gridner.formats import read, write
from gridner.formats.bigbio import from_kb, to_kb
from support.formats import counted, put, same_documents, through
from support.strategies import ODD_TYPES, corpora

# An example as the `bc5cdr_bigbio_kb` configuration of BigBIO has them, shortened; the second entity is given a gap.
EXAMPLE: dict[str, Any] = {
    "id": "0",
    "document_id": "6794356",
    "passages": [
        {"id": "1", "type": "title", "text": ["Tricuspid valve regurgitation."], "offsets": [[0, 30]]},
        {"id": "2", "type": "abstract", "text": ["Pain in left arm and shoulder."], "offsets": [[31, 61]]},
    ],
    "entities": [
        {
            "id": "3",
            "type": "Disease",
            "text": ["Tricuspid valve regurgitation"],
            "offsets": [[0, 29]],
            "normalized": [{"db_name": "MESH", "db_id": "D014262"}],
        },
        {
            "id": "4",
            "type": "Disease",
            "text": ["Pain in", "shoulder"],
            "offsets": [[31, 38], [52, 60]],
            "normalized": [],
        },
    ],
    "events": [],
    "coreferences": [{"id": "5", "entity_ids": ["3", "4"]}],
    "relations": [{"id": "6", "type": "CID", "arg1_id": "3", "arg2_id": "4", "normalized": []}],
}


@given(corpora(types=ODD_TYPES))
def test_documents_come_back(corpus: list[Document]) -> None:
    back, notes = through(corpus, "bigbio")
    same_documents(back, corpus, scores=False)
    scored = sum(entity.score is not None for document in corpus for entity in document.entities)
    assert counted(notes).get("score, not carried by bigbio", 0) == scored


@given(corpora(types=ODD_TYPES))
def test_what_is_made_is_what_the_schema_of_bigbio_asks_for(corpus: list[Document]) -> None:
    """The checks of BigBIO's own tests: texts at their offsets, ids that come once."""
    seen: set[str] = set()
    for document in corpus:
        item = json.loads(json.dumps(to_kb(document)))
        keys = ["id", "document_id", "passages", "entities", "events", "coreferences", "relations"]
        assert list(item) == keys
        text = " ".join(said for passage in item["passages"] for said in passage["text"])
        for part in [*item["passages"], *item["entities"]]:
            assert [text[start:end] for start, end in part["offsets"]] == part["text"]
            assert part["id"] not in seen
            seen.add(part["id"])
        assert all(list(one) == ["id", "type", "text", "offsets", "normalized"] for one in item["entities"])


@pytest.mark.parametrize("form", ["array", "lines"])
def test_an_example_of_bigbio_is_read(tmp_path: Path, form: str) -> None:
    put(tmp_path, {"a.json": json.dumps([EXAMPLE]) if form == "array" else json.dumps(EXAMPLE) + "\n"})
    notes = Notes()
    (document,) = read(tmp_path / "a.json", "bigbio", notes=notes)
    assert (document.id, document.text) == ("6794356", "Tricuspid valve regurgitation.\nPain in left arm and shoulder.")
    first, second = document.entities
    assert (first.id, first.type, first.fragments) == ("3", "Disease", (Fragment(0, 29),))
    assert first.meta == {"bigbio": [{"db_name": "MESH", "db_id": "D014262"}]}
    assert second.fragments == (Fragment(31, 38), Fragment(52, 60))
    assert counted(notes) == {"one of the coreferences, left out": 1, "one of the relations, left out": 1}
    assert from_kb(EXAMPLE, "row 1") == document


def test_offsets_are_code_points_and_concepts_are_written_again() -> None:
    concept = [{"db_name": "MESH", "db_id": "D010146"}]
    document = Document("💩", "💩 pain", (Entity("ADR", (Fragment(2, 6),), id="T9", meta={"bigbio": concept}),))
    item = to_kb(document)
    assert item["entities"] == [
        {"id": "💩_T9", "type": "ADR", "text": ["pain"], "offsets": [[2, 6]], "normalized": concept}
    ]
    assert from_kb(item, "row 1") == document
    assert from_kb(item, "row 1").entities[0].id == "T9"


@pytest.mark.parametrize("meta", [5, [1], [{"db_name": "MESH"}], [{"db_name": "MESH", "db_id": 5}]])
def test_a_meta_that_is_no_concepts_is_not_written(meta: object) -> None:
    notes = Notes()
    item = to_kb(Document("d", "pain", (Entity("A", (Fragment(0, 4),), meta={"bigbio": meta}),)), notes)
    assert item["entities"][0]["normalized"] == []
    assert counted(notes) == {"meta 'bigbio' that is not a list of db_name and db_id, not written": 1}


def changed(key: str, **changes: Any) -> dict[str, Any]:
    return {**EXAMPLE, key: [{**EXAMPLE[key][0], **changes}]}


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (1, "record 1: 1, expected an object with 'passages' and 'entities'"),
        ({"id": "1", "passages": []}, "expected an object with 'passages' and 'entities'"),
        ({**EXAMPLE, "document_id": [1]}, r"document_id is \[1\], expected text"),
        ({**EXAMPLE, "passages": []}, "document 6794356: an empty document"),
        ({**EXAMPLE, "passages": 5}, "passages are 5, expected a list of objects"),
        ({**EXAMPLE, "entities": [5]}, r"entities are \[5\], expected a list of objects"),
        (changed("passages", text="Pain"), r"passages\[0\]: text is 'Pain', expected a list of texts"),
        (changed("passages", offsets=[[0, 31]]), r"passages\[0\]: offsets 0-31 for a text of 30 characters"),
        (
            changed("passages", offsets=[[0, 30], [1, 2]]),
            r"passages\[0\]: 1 texts and 2 offsets, expected the same number",
        ),
        (changed("passages", offsets=[[99999999999, 100000000029]]), "a passage at 99999999999"),
        (changed("entities", offsets=[]), r"entities\[0\]: offsets are \[\], expected a list of \[start, end\]"),
        (changed("entities", offsets=[[0, "9"]]), r"entities\[0\]: offsets \[0, '9'\], expected \[start, end\]"),
        (changed("entities", offsets=[[1, 30]]), r"entities\[0\]: the text at 1 30 is 'ricuspid .*', expected 'Tricus"),
        (changed("entities", offsets=[[0, 99]]), r"entities\[0\]: fragment 0-99 is past the end"),
        (changed("entities", type=None), r"entities\[0\]: type is None, expected text"),
    ],
)
def test_bad_input_is_named_in_a_line(tmp_path: Path, item: Any, said: str) -> None:
    put(tmp_path, {"a.json": json.dumps([item])})
    with pytest.raises(FormatError, match=said) as caught:
        list(read(tmp_path / "a.json", "bigbio"))
    assert "\n" not in str(caught.value)


def test_a_passage_that_says_what_is_there_already_adds_nothing() -> None:
    again = {"id": "9", "type": "sentence", "text": ["Pain in left arm"], "offsets": [[31, 47]]}
    assert from_kb({**EXAMPLE, "passages": [*EXAMPLE["passages"], again]}, "row 1") == from_kb(EXAMPLE, "row 1")
    other = {**again, "text": ["Rash in left arm"]}
    with pytest.raises(FormatError, match="row 1: document 6794356: the passage at 31, 'Rash in left arm', starts ins"):
        from_kb({**EXAMPLE, "passages": [*EXAMPLE["passages"], other]}, "row 1")


def test_lenient_skips_bad_entities_alone(tmp_path: Path) -> None:
    put(tmp_path, {"a.json": json.dumps([{**EXAMPLE, "entities": [{}, EXAMPLE["entities"][1]]}, 5])})
    notes = Notes()
    (document,) = read(tmp_path / "a.json", "bigbio", lenient=True, notes=notes)
    assert len(document.entities) == 1
    assert counted(notes)["bad record skipped"] == 2


def test_nothing_is_written_as_an_empty_array(tmp_path: Path) -> None:
    write([], tmp_path / "out.json", "bigbio")
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8")) == []
