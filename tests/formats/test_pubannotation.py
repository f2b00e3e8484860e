from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from gridner.documents import Document, Entity, Fragment
from gridner.errors import FormatError, Notes, OutputError
from gridner.formats import read, write
from support.formats import counted, put, same_documents, through
from support.strategies import ODD_TYPES, corpora

# As http://www.pubannotation.org/docs/annotation-format/ gives it.
DOCUMENTED = """{
   "text": "IRF-4 expression in CML may be induced by IFN-α therapy",
   "denotations": [
      {"id": "T1", "span": {"begin": 0, "end": 5}, "obj": "Protein"},
      {"id": "T2", "span": {"begin": 42, "end": 47}, "obj": "Protein"}
   ],
   "relations": [
      {"id": "R1", "subj": "T1", "pred": "interactWith", "obj": "T2"}
   ],
   "attributes": [
      {"id": "A1", "subj": "T1", "pred": "speculation", "obj": true}
   ]
}"""
CELLS = "ES and somatic cells"
SPANS = [{"begin": 0, "end": 2}, {"begin": 15, "end": 20}]
BAG: list[dict[str, Any]] = [
    {"id": "T1", "span": SPANS, "obj": "CL:0002322"},
    {"id": "T2", "span": {"begin": 7, "end": 20}, "obj": "X"},
]
CHAIN = [  # as PubAnnotation itself writes a bag of spans as a chain
    {"id": "T1-0", "span": SPANS[0], "obj": "_FRAGMENT"},
    {"id": "T1-1", "span": SPANS[1], "obj": "CL:0002322"},
    {"id": "T2", "span": {"begin": 7, "end": 20}, "obj": "X"},
]
CHAINED = {"id": "C-T1-0", "pred": "_lexicallyChainedTo", "subj": "T1-1", "obj": "T1-0"}


def read_one(tmp_path: Path, item: Any, notes: Notes | None = None) -> Document:
    put(tmp_path, {"d.json": item if isinstance(item, str) else json.dumps(item)})
    (document,) = read(tmp_path / "d.json", "pubannotation", notes=notes)
    return document


@given(corpora(types=ODD_TYPES))
def test_documents_come_back(corpus: list[Document]) -> None:
    same_documents(through(corpus, "pubannotation")[0], corpus)


def test_the_documented_example_is_read(tmp_path: Path) -> None:
    notes = Notes()
    document = read_one(tmp_path, DOCUMENTED, notes)
    assert document.id == "d"
    assert [(one.id, one.type, one.fragments) for one in document.entities] == [
        ("T1", "Protein", (Fragment(0, 5),)),
        ("T2", "Protein", (Fragment(42, 47),)),
    ]
    assert document.entities[0].meta == {"pubannotation": [{"pred": "speculation", "obj": True}]}
    assert counted(notes) == {"relation, left out": 1}


@pytest.mark.parametrize(("denotations", "relations"), [(BAG, []), (CHAIN, [CHAINED])], ids=["bag", "chain"])
def test_both_models_of_gaps_are_read(tmp_path: Path, denotations: Any, relations: Any) -> None:
    document = read_one(tmp_path, {"text": CELLS, "denotations": denotations, "relations": relations})
    assert [(one.type, one.fragments) for one in document.entities] == [
        ("CL:0002322", (Fragment(0, 2), Fragment(15, 20))),
        ("X", (Fragment(7, 20),)),
    ]


def test_a_chain_of_three(tmp_path: Path) -> None:
    spans = [{"begin": at, "end": at + 1} for at in (0, 4, 8)]
    denotations = [
        {"id": f"T{number}", "span": span, "obj": "A" if number == 2 else "_FRAGMENT"}
        for number, span in enumerate(spans)
    ]
    relations = [{**CHAINED, "subj": f"T{number}", "obj": f"T{number - 1}"} for number in (2, 1)]
    (entity,) = read_one(tmp_path, {"text": "a b c d e", "denotations": denotations, "relations": relations}).entities
    assert (entity.id, entity.fragments) == ("T2", (Fragment(0, 1), Fragment(4, 5), Fragment(8, 9)))


@pytest.mark.parametrize(
    ("source", "document_id"),
    [
        ({"sourcedb": "PubMed", "sourceid": "123"}, "PubMed-123"),
        ({"sourcedb": "PMC", "sourceid": 123, "divid": 0}, "PMC-123-0"),
        ({"sourceid": "123"}, "123"),
        ({"sourcedb": "PubMed"}, "d"),
        ({}, "d"),
    ],
)
def test_what_names_the_source_is_the_id_and_is_kept(tmp_path: Path, source: Any, document_id: str) -> None:
    document = read_one(tmp_path, {**source, "text": CELLS, "denotations": BAG})
    assert document.id == document_id
    write([document], tmp_path / "out", "pubannotation")
    again = json.loads((tmp_path / "out" / f"{document_id}.json").read_text(encoding="utf-8"))
    assert again["denotations"] == BAG
    kept = {key: again[key] for key in ("sourcedb", "sourceid", "divid") if key in again}
    assert kept == (source if "sourceid" in source else {"sourceid": document_id})


def test_an_array_and_lines_are_read_and_those_without_source_numbered(tmp_path: Path) -> None:
    item = json.dumps({"text": CELLS, "denotations": []})
    put(tmp_path, {"in/a.json": f"[{item}, {item}]", "in/b/c.jsonl": f"{item}\n{item}\n"})
    assert [one.id for one in read(tmp_path / "in", "pubannotation")] == ["a", "a:2", "b/c", "b/c:2"]


def test_tracks_and_modifications_are_counted(tmp_path: Path) -> None:
    notes = Notes()
    read_one(tmp_path, {"text": CELLS, "tracks": [{}, {}], "modifications": [{"id": "M1"}]}, notes)
    assert counted(notes) == {"one of the tracks, left out": 2, "one of the modifications, left out": 1}


def test_meta_that_does_not_fit_is_not_written(tmp_path: Path) -> None:
    entity = Entity("A", (Fragment(0, 2),), meta={"pubannotation": 5})
    notes = Notes()
    document = Document("d", CELLS, (entity,), meta={"pubannotation": {"sourceid": "x"}})
    write([document], tmp_path / "out", "pubannotation", notes=notes)
    assert counted(notes) == {
        "meta 'pubannotation' that does not make the id, not written": 1,
        "meta 'pubannotation' that is not attributes, not written": 1,
    }
    bad = replace(entity, meta={"pubannotation": [{"pred": "a", "obj": {1, 2}}]})
    with pytest.raises(OutputError, match=r"document d: its meta cannot be written as JSON"):
        write([Document("d", CELLS, (bad,))], tmp_path / "bad", "pubannotation")


def denotation(**changes: Any) -> dict[str, Any]:
    return {"text": CELLS, "denotations": [{"id": "T1", "span": SPANS[0], "obj": "A", **changes}]}


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ([], "no records"),
        ([1], "record 1: 1, expected an object with 'text' and 'denotations'"),
        ({"denotations": []}, "record 1: .*expected an object with 'text'"),
        ({"text": " "}, "record 1: an empty document"),
        ({"text": CELLS, "denotations": {}}, None),
        ({"text": CELLS, "denotations": {"a": 1}}, "denotations are .*expected a list of objects"),
        ({"text": CELLS, "denotations": [1]}, "denotations are .*expected a list of objects"),
        ({"text": CELLS, "denotations": [*BAG, BAG[0]]}, "denotation T1 appears twice"),
        (denotation(span=None), "denotation T1: span None, expected begin and end as numbers"),
        (denotation(span=[]), "denotation T1: no span"),
        (denotation(span={"begin": "0", "end": 2}), "denotation T1: span .*expected begin and end as numbers"),
        (denotation(span={"begin": 0, "end": 99}), "denotation T1: fragment 0-99 is past the end"),
        (denotation(span={"begin": 2, "end": 2}), "denotation T1: fragment 2-2: expected 0 <= start < end"),
        (denotation(obj=5), "denotation T1: obj is 5, expected a type"),
        (denotation(obj=" "), "record 1: entity type ''"),
        (
            denotation(obj="_FRAGMENT"),
            "denotation T1: 0 have a type; give one the type",
        ),
        (
            {"text": CELLS, "denotations": BAG, "relations": [CHAINED]},
            "a relation to 'T1-1', which is not an annotation",
        ),
        (
            {"text": CELLS, "denotations": BAG, "relations": [{**CHAINED, "subj": "T1", "obj": "T2"}]},
            "denotation T1, T2: 2 have a type",
        ),
    ],
)
def test_bad_input_is_named_in_a_line(tmp_path: Path, item: Any, said: str | None) -> None:
    if said is None:
        assert read_one(tmp_path, item).entities == ()
        return
    with pytest.raises(FormatError, match=said):
        read_one(tmp_path, item)


def test_lenient_skips_bad_denotations_alone(tmp_path: Path) -> None:
    put(tmp_path, {"d.json": json.dumps({"text": CELLS, "denotations": [{**BAG[0], "span": None}, BAG[1]]})})
    notes = Notes()
    (document,) = read(tmp_path / "d.json", "pubannotation", lenient=True, notes=notes)
    assert [one.id for one in document.entities] == ["T2"]
    assert counted(notes) == {"bad record skipped": 1}
