from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from gridner.documents import Document, Entity, Fragment
from gridner.errors import FormatError, Notes, OutputError
from gridner.formats import read, write
from support.formats import counted, extents, put, through
from support.strategies import ODD_TYPES, corpora

TEXT = "pain in left arm and shoulder"
PIECES = (Fragment(0, 12), Fragment(21, 29))
KNOWTATOR_1 = """<?xml version="1.0" encoding="UTF-8"?>
<annotations textSource="d.txt">
  <annotation>
    <mention id="m1"/><annotator id="a">Someone</annotator>
    <span start="21" end="29"/><span start="0" end="12"/>
    <spannedText>pain in left ... shoulder</spannedText>
  </annotation>
  <classMention id="m1"><mentionClass id="Disease_Disorder">Disease_Disorder</mentionClass></classMention>
</annotations>
"""
KNOWTATOR_2 = """<?xml version="1.0" encoding="UTF-8"?>
<knowtator-project><document id="d" text-file="d.txt">
  <annotation id="d-1" annotator="Default">
    <class id="CL:0000540"/><span id="s-1" start="0" end="12">pain in left</span>
    <span id="s-2" start="21" end="29">shoulder</span>
  </annotation>
</document></knowtator-project>
"""


def read_pipe(tmp_path: Path, *lines: str, text: str = TEXT) -> Document:
    put(tmp_path, {"d.txt": text, "d.pipe.txt": "".join(line + "\n" for line in lines)})
    (document,) = read(tmp_path, "share")
    return document


@given(corpora(types=ODD_TYPES))
def test_text_and_extents_come_back(corpus: list[Document]) -> None:
    back, _ = through(corpus, "share")
    assert {one.id: (one.text, [at for _, at in extents(one)]) for one in back} == {
        one.id: (one.text, [at for _, at in extents(one)]) for one in corpus
    }


@given(corpora(types=ODD_TYPES))
def test_every_loss_is_counted(corpus: list[Document]) -> None:
    _, notes = through(corpus, "share")
    found = counted(notes)
    entities = [entity for document in corpus for entity in document.entities]
    assert found.get("score, not carried by share", 0) == sum(entity.score is not None for entity in entities)
    assert found.get("entity id, not carried by share", 0) == sum(entity.id is not None for entity in entities)
    assert found.get("document's meta, not carried by share", 0) == sum(bool(document.meta) for document in corpus)
    assert found.get("entity type, written as Disease_Disorder", 0) == sum(
        entity.type != "Disease_Disorder" for entity in entities
    )


@given(corpora(types=["Disease_Disorder"], plain=True))
def test_what_was_read_comes_back_whole(corpus: list[Document]) -> None:
    first, nothing = through(corpus, "share")
    again, notes = through(first, "share")
    assert again == first
    assert [[entity.meta for entity in one.entities] for one in again] == [
        [entity.meta for entity in one.entities] for one in first
    ]
    assert not nothing
    assert not notes


def test_the_2013_form_is_read(tmp_path: Path) -> None:
    document = read_pipe(tmp_path, "d.txt||Disease_Disorder||C0030193||0||12||21||29")
    assert document.entities == (Entity("Disease_Disorder", PIECES),)
    assert document.entities[0].meta == {"share": {"cui": "C0030193"}}


def test_the_2014_form_is_read(tmp_path: Path) -> None:
    document = read_pipe(tmp_path, "d.txt|0-12,21-29|C0030193|no|*NULL|patient")
    assert document.entities == (Entity("Disease_Disorder", PIECES),)
    assert document.entities[0].meta == {"share": {"cui": "C0030193", "columns": "no|*NULL|patient"}}


@pytest.mark.parametrize("rest", ["C1", "C1|", "|", "", "C1|no||*NULL|", "||", "CUI-less|x\ty|ü"])
def test_the_columns_of_the_2014_form_are_written_as_they_were(tmp_path: Path, rest: str) -> None:
    line = f"d.txt|0-4|{rest}"
    write([read_pipe(tmp_path / "in", line)], tmp_path / "out", "share")
    assert (tmp_path / "out" / "d.pipe.txt").read_text(encoding="utf-8") == f"{line}\n"


def test_a_line_of_name_and_spans_only_is_read(tmp_path: Path) -> None:
    assert len(read_pipe(tmp_path, "d.txt|0-4").entities) == 1


def test_the_name_may_lack_its_ending(tmp_path: Path) -> None:
    assert len(read_pipe(tmp_path, "d|0-4|C1", "d||Disease_Disorder||C1||0||4").entities) == 2


def test_fragments_out_of_order_are_sorted_and_those_a_space_apart_joined(tmp_path: Path) -> None:
    document = read_pipe(tmp_path, "d.txt|8-12,0-4|C1", "d.txt|13-16,8-12|C1")
    assert [entity.fragments for entity in document.entities] == [(Fragment(0, 4), Fragment(8, 12)), (Fragment(8, 16),)]


def test_one_pipe_file_for_many_documents_with_interleaved_lines(tmp_path: Path) -> None:
    lines = ["a.txt|0-4|C1", "b.txt|0-3|C2", "a.txt|5-7|C3", "", "c.txt|0-4|C5", "b.txt|4-6|C4"]
    put(tmp_path, {"a.txt": "pain in", "b.txt": "arm is", "c.txt": "back", "e.txt": "fine"})
    put(tmp_path, {"all.pipe": "\ufeff" + "\r\n".join(lines)})
    notes = Notes()
    documents = list(read(tmp_path, "share", notes=notes))
    assert [(one.id, [entity.meta["share"]["cui"] for entity in one.entities]) for one in documents] == [
        ("a", ["C1", "C3"]),
        ("b", ["C2", "C4"]),
        ("c", ["C5"]),
        ("e", []),
    ]
    assert list(notes) == [
        ("text without annotations, read as without entities", 1, [str(tmp_path / "e.txt")]),
    ]
    assert list(read(tmp_path / "all.pipe")) == documents


def test_annotation_files_may_have_the_names_of_the_texts(tmp_path: Path) -> None:
    put(tmp_path, {"Gold_SN2012/d.txt": "d.txt||Disease_Disorder||C1||0||4\n", "Gold_SN2012/e.txt": ""})
    put(tmp_path, {"ALLREPORTS/d.txt": TEXT, "ALLREPORTS/e.txt": TEXT})
    documents = list(read(tmp_path / "Gold_SN2012", "share", texts=tmp_path / "ALLREPORTS"))
    assert [(one.id, len(one.entities)) for one in documents] == [("d", 1), ("e", 0)]


@pytest.mark.parametrize("texts", ["", "texts"])
def test_the_folder_of_the_texts_may_hold_or_be_in_that_of_the_annotations(tmp_path: Path, texts: str) -> None:
    put(tmp_path, {f"{texts}/d.txt".lstrip("/"): TEXT, "d.xml": KNOWTATOR_1})
    (document,) = read(tmp_path, "share", texts=tmp_path / texts)
    assert (document.id, len(document.entities)) == ("d", 1)


@pytest.mark.parametrize(("xml", "type"), [(KNOWTATOR_1, "Disease_Disorder"), (KNOWTATOR_2, "CL:0000540")])
@pytest.mark.parametrize("name", ["d.txt.knowtator.xml", "d.knowtator.xml", "d.xml"])
def test_knowtator_of_both_generations_is_read_under_all_its_names(
    tmp_path: Path, name: str, xml: str, type: str
) -> None:
    put(tmp_path, {"d.txt": TEXT, name: xml})
    (document,) = read(tmp_path)
    assert document == Document("d", TEXT, (Entity(type, PIECES),))


def test_knowtator_keeps_the_concept(tmp_path: Path) -> None:
    slots = """<stringSlotMention id="s"><mentionSlot id="Associate CUI"/><stringSlotMentionValue value="C1"/>
        </stringSlotMention></annotations>"""
    xml = KNOWTATOR_1.replace("<mentionClass", '<hasSlotMention id="s"/><mentionClass', 1).replace(
        "</annotations>", slots
    )
    put(tmp_path, {"d.txt": TEXT, "d.xml": xml})
    (document,) = read(tmp_path, "share")
    assert {"share": {"cui": "C1"}} in [entity.meta for entity in document.entities]


def test_knowtator_in_another_folder(tmp_path: Path) -> None:
    put(tmp_path, {"texts/d.txt": TEXT, "texts/e.txt": "fine", "xml/part-1/d.txt.knowtator.xml": KNOWTATOR_1})
    found = [(one.id, len(one.entities)) for one in read(tmp_path / "xml", "share", texts=tmp_path / "texts")]
    assert found == [("d", 1), ("e", 0)]


def test_knowtator_in_folders_beside_its_texts(tmp_path: Path) -> None:
    put(tmp_path, {"x/d.txt": TEXT, "x/d.xml": KNOWTATOR_1, "y/d.txt": TEXT, "y/d.xml": KNOWTATOR_2})
    assert [(one.id, one.entities[0].type) for one in read(tmp_path, "share")] == [
        ("x/d", "Disease_Disorder"),
        ("y/d", "CL:0000540"),
    ]


def test_one_knowtator_file_is_one_document(tmp_path: Path) -> None:
    put(tmp_path, {"d.txt": TEXT, "d.xml": KNOWTATOR_1, "e.txt": TEXT, "e.xml": KNOWTATOR_1})
    assert [document.id for document in read(tmp_path / "d.xml")] == ["d"]


def test_a_knowtator_file_without_annotations_is_a_document_without_entities(tmp_path: Path) -> None:
    put(tmp_path, {"d.txt": TEXT, "d.xml": '<annotations textSource="d.txt"/>'})
    assert list(read(tmp_path)) == [Document("d", TEXT)]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("d.txt|0-99|C1", r":1: fragment 0-99 is past the end of the text \(29 characters\)"),
        ("d.txt|4-4|C1", r":1: fragment 4-4: expected 0 <= start < end"),
        ("d.txt|4|C1", r":1: 'd\.txt\|4\|C1', expected name\|\|type"),
        ("d.txt||Disease_Disorder||C1||0", r":1: 'd\.txt\|\|.*expected name\|\|type"),
        ("e.txt|0-4|C1", r":1: no text for document e; add e\.txt"),
    ],
)
def test_a_bad_pipe_line_is_named(tmp_path: Path, line: str, said: str) -> None:
    with pytest.raises(FormatError, match=rf"d\.pipe\.txt{said}"):
        read_pipe(tmp_path, line)


@pytest.mark.parametrize(
    ("xml", "said"),
    [
        (KNOWTATOR_2.replace('"29"', '"99"'), r": annotation 1: fragment 21-99 is past the end"),
        (KNOWTATOR_2.replace('"29"', '"x"'), r": annotation 1: span .*expected start and end as numbers"),
        (KNOWTATOR_2.replace(' end="29"', ""), r": annotation 1: span .*expected start and end as numbers"),
        (KNOWTATOR_2.replace('<class id="CL:0000540"/>', ""), r": annotation 1: no type; add"),
        (KNOWTATOR_1.replace('id="m1"/>', 'id="m2"/>'), r": annotation 1: no type; add"),
        ("<annotations><annotation><class id='A'/></annotation></annotations>", r": annotation 1: no <span>"),
        (KNOWTATOR_1[:-20], r": not well-formed"),
        ("<html/>", r": <html>, expected <annotations>"),
        ("", r": not well-formed"),
        ('<?xml version="1.0" encoding="nonsense"?><annotations/>', r": not well-formed"),
        ("<annotations>" + "<a>" * 50_000 + "</a>" * 50_000 + "</annotation>", r": not well-formed"),
    ],
)
def test_bad_knowtator_is_named(tmp_path: Path, xml: str, said: str) -> None:
    put(tmp_path, {"d.txt": TEXT, "d.xml": xml})
    with pytest.raises(FormatError, match=rf"d\.xml{said}"):
        list(read(tmp_path))


def test_lenient_skips_bad_lines_and_lines_without_text(tmp_path: Path) -> None:
    put(
        tmp_path, {"d.txt": TEXT, "x.pipe": b"d.txt|0-99|C1\nd.txt|\xff|C1\nd.txt|0-4|C2\ne.txt|0-4|C3\nd.txt|5-7|C4\n"}
    )
    notes = Notes()
    (document,) = read(tmp_path, lenient=True, notes=notes)
    assert [entity.meta["share"]["cui"] for entity in document.entities] == ["C2", "C4"]
    assert counted(notes) == {"bad record skipped": 3}


def test_lenient_skips_a_document_whose_xml_is_broken(tmp_path: Path) -> None:
    put(tmp_path, {"d.txt": TEXT, "d.xml": "<annotations>", "e.txt": TEXT, "e.xml": KNOWTATOR_1})
    notes = Notes()
    assert [document.id for document in read(tmp_path, lenient=True, notes=notes)] == ["e"]
    assert counted(notes) == {"bad record skipped": 1}


@pytest.mark.parametrize("name", ["a|b", "a.pipe"])
def test_an_id_that_a_pipe_file_cannot_hold_is_an_output_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(OutputError, match=r"document id '.*; rename the document"):
        write([Document(name, "pain")], tmp_path / "out", "share")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "meta", [5, None, {"cui": 5}, {"cui": "a|b"}, {"cui": "a\nb"}, {"columns": "a\nb"}, {"columns": 1}]
)
def test_a_meta_that_is_no_column_is_not_written(tmp_path: Path, meta: Any) -> None:
    notes = Notes()
    document = Document("d", "pain", (Entity("Disease_Disorder", (Fragment(0, 4),), meta={"share": meta}),))
    write([document], tmp_path / "out", "share", notes=notes)
    assert (tmp_path / "out" / "d.pipe.txt").read_text(encoding="utf-8") == "d.txt|0-4|CUI-less\n"
    assert counted(notes) == {"meta 'share' that is not columns of a pipe file, not written": 1}
