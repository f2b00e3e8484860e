from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridner.documents import Document, Entity, Fragment
from gridner.errors import FormatError, Notes
from gridner.formats import read, write
from support.formats import counted, extents, put, through
from support.strategies import ODD_TYPES, TYPES, corpora, texts

GONE = "brat annotation whose target is gone, not written"
NO_LINE = "meta 'brat' that is not a line of an .ann file, not written"


def read_one(folder: Path, text: str | bytes, ann: str | bytes, notes: Notes | None = None) -> Document:
    put(folder, {"d.txt": text, "d.ann": ann})
    (document,) = read(folder, "brat", notes=notes)
    return document


def ann_of(folder: Path, *documents: Document, notes: Notes | None = None) -> str:
    write(documents, folder, "brat", notes=notes)
    return (folder / f"{documents[0].id}.ann").read_bytes().decode("utf-8")


@given(corpora(types=TYPES))
def test_text_extents_and_order_come_back(corpus: list[Document]) -> None:
    back, _ = through(corpus, "brat")
    assert {one.id: (one.text, extents(one)) for one in back} == {one.id: (one.text, extents(one)) for one in corpus}


@given(corpora(types=ODD_TYPES))
def test_what_was_read_comes_back_with_its_ids_and_lines(corpus: list[Document]) -> None:
    first, _ = through(corpus, "brat")
    again, notes = through(first, "brat")
    assert [(one.id, one.text, extents(one)) for one in again] == [(one.id, one.text, extents(one)) for one in first]
    assert [one.meta for one in again] == [one.meta for one in first]
    assert [[entity.id for entity in one.entities] for one in again] == [
        [entity.id for entity in one.entities] for one in first
    ]
    assert not notes


@given(corpora(types=ODD_TYPES))
def test_every_loss_is_counted(corpus: list[Document]) -> None:
    back, notes = through(corpus, "brat")
    found = counted(notes)
    entities = [entity for document in corpus for entity in document.entities]
    assert found.get("score, not carried by brat", 0) == sum(entity.score is not None for entity in entities)
    assert found.get("entity's meta, not carried by brat", 0) == sum(bool(entity.meta) for entity in entities)
    assert found.get("entity type that brat does not take, written with _", 0) == sum(
        entity.type not in TYPES for entity in entities
    )
    kept = {entity.id for document in back for entity in document.entities}
    renamed = found.get("entity id that brat does not take, numbered anew", 0)
    assert renamed >= sum(entity.id is not None and entity.id not in kept for entity in entities)
    lines = [document.meta.get("brat", []) for document in corpus]
    given_lines = sum(len(many) if isinstance(many, list) else 1 for many in lines)
    kept_lines = sum(len(document.meta.get("brat", [])) for document in back)
    assert kept_lines + found.get(GONE, 0) + found.get(NO_LINE, 0) == given_lines
    assert found.get("document's own sentences and words, not carried by brat", 0) == sum(
        document.sentences is not None for document in corpus
    )


@given(st.lists(texts(max_pieces=3), min_size=1, max_size=3))
def test_a_note_of_any_text_is_kept(notes_texts: list[str]) -> None:
    lines = [f"#{number}\tAnnotatorNotes T1\t{' '.join(said.split())}" for number, said in enumerate(notes_texts)]
    document = Document("d", "pain", (Entity("ADR", (Fragment(0, 4),), id="T1"),), meta={"brat": lines})
    (back,), _ = through([document], "brat")
    assert back.meta == {"brat": lines}


def test_a_discontinuous_line_is_read(tmp_path: Path) -> None:
    text = "pain in left arm and shoulder"
    document = read_one(tmp_path, text, "T1\tADR 0 12;21 29\tpain in left shoulder\n")
    assert document == Document("d", text, (Entity("ADR", (Fragment(0, 12), Fragment(21, 29))),))
    assert document.entities[0].id == "T1"


def test_a_discontinuous_line_is_written(tmp_path: Path) -> None:
    entity = Entity("ADR", (Fragment(0, 5), Fragment(16, 20)))
    assert ann_of(tmp_path / "out", Document("d", "Hurts in the arm badly", (entity,))) == (
        "T1\tADR 0 5;16 20\tHurts  bad\n"
    )


def test_fragments_that_brat_split_at_a_line_end_are_one(tmp_path: Path) -> None:
    document = read_one(tmp_path, "severe\n  pain", "T1\tADR 0 6;9 13\tsevere pain\n")
    assert document.entities[0].fragments == (Fragment(0, 13),)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\t", "\u2028", "\u0085", "\n\n"])
def test_a_fragment_is_split_at_line_ends_on_writing(tmp_path: Path, end: str) -> None:
    text = f"severe{end}pain"
    written = ann_of(tmp_path / "out", Document("d", text, (Entity("ADR", (Fragment(0, len(text)),)),)))
    assert written == f"T1\tADR 0 6;{6 + len(end)} {len(text)}\tsevere pain\n"


def test_an_entity_of_line_ends_only_stays_one_line(tmp_path: Path) -> None:
    written = ann_of(tmp_path / "out", Document("d", "a\n\r\nb", (Entity("ADR", (Fragment(1, 4),)),)))
    assert written == "T1\tADR 1 4\t   \n"


@pytest.mark.parametrize("said", ["pain shoulder", "shoulder pain", "painshoulder"])
def test_fragments_out_of_order_are_sorted_and_their_text_may_be_in_either_order(tmp_path: Path, said: str) -> None:
    document = read_one(tmp_path, "pain in the shoulder", f"T1\tADR 12 20;0 4\t{said}\n")
    assert document.entities[0].fragments == (Fragment(0, 4), Fragment(12, 20))


def test_fragments_that_overlap_are_joined_and_counted(tmp_path: Path) -> None:
    notes = Notes()
    document = read_one(tmp_path, "pain in the arm", "T1\tADR 0 7;5 11\tpain inin the\n", notes)
    assert document.entities[0].fragments == (Fragment(0, 11),)
    assert counted(notes) == {"annotation whose fragments overlap, joined": 1}


def test_a_line_without_its_text_column_is_read(tmp_path: Path) -> None:
    assert len(read_one(tmp_path, "pain", "T1\tADR 0 4\n").entities) == 1


@pytest.mark.parametrize(
    ("ann", "said"),
    [
        ("T1\tADR 0 5\tpain!\n", r"d\.ann:1: fragment 0-5 is past the end of the text \(4 characters\)"),
        ("T1\tADR 0 3\tpain\n", r"d\.ann:1: the text at 0 3 is 'pai', expected 'pain'"),
        ("T1\tADR 3 3\t\n", r"d\.ann:1: fragment 3-3: expected 0 <= start < end"),
        ("T1\tADR 3 1\tx\n", r"d\.ann:1: fragment 3-1: expected 0 <= start < end"),
        ("T1\tADR -1 3\tx\n", r"d\.ann:1: 'T1.*expected T1, tab"),
        ("T1 ADR 0 4 pain\n", r"d\.ann:1: 'T1 ADR 0 4 pain', expected T1, tab"),
        ("T1\tADR 0 4\tpain\nT1\tADR 0 3\tpai\n", r"d\.ann:2: T1 appears twice; ids must be unique"),
        ("\npain\n", r"d\.ann:2: 'pain', expected a brat annotation"),
        ("R1\n", r"d\.ann:1: 'R1', expected a brat annotation"),
        (b"T1\tADR 0 4\tpa\xffin\n", r"d\.ann:1: byte 13 is 0xff, expected UTF-8 text"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, ann: str, said: str) -> None:
    with pytest.raises(FormatError, match=said):
        read_one(tmp_path, "pain", ann)


def test_lenient_skips_the_bad_lines_of_an_ann(tmp_path: Path) -> None:
    put(tmp_path, {"d.txt": "pain", "d.ann": b"T1\tADR 0 9\tpain\nT2\tADR 0 4\tpain\nT3\tA\xff 0 4\tpain\nwhat\n"})
    notes = Notes()
    (document,) = read(tmp_path, lenient=True, notes=notes)
    assert [entity.id for entity in document.entities] == ["T2"]
    assert counted(notes) == {"bad record skipped": 3}


OTHERS = [
    "R1\tCauses Arg1:T1 Arg2:T2\t",
    "E1\tProcess:T2 Theme:T1",
    "A1\tNegation E1",
    "M1\tConfidence T1 high",
    "N1\tReference T1 ICD10:E11\tdiabetes",
    "#1\tAnnotatorNotes T1\tsee T9 and E7",
    "*\tEquiv T1 T2",
]
TWO = "T1\tDrug 0 7\tAspirin\nT2\tADR 15 19\tpain\n"
TEXT = "Aspirin causes pain"


def test_other_kinds_are_kept_as_they_stand(tmp_path: Path) -> None:
    ann = TWO + "\n".join(OTHERS) + "\n"
    document = read_one(tmp_path / "in", TEXT, ann)
    notes = Notes()
    assert document.meta == {"brat": OTHERS}
    assert ann_of(tmp_path / "out", document, notes=notes) == ann
    assert not notes


def test_annotations_whose_target_is_gone_are_dropped_and_counted_transitively(tmp_path: Path) -> None:
    put(tmp_path / "in", {"d.txt": TEXT, "d.ann": TWO + "\n".join([*OTHERS, "#2\tAnnotatorNotes A1\twhy"]) + "\n"})
    notes = Notes()
    written = ann_of(tmp_path / "out", *read(tmp_path / "in", types=["Drug"]), notes=notes)
    assert written.splitlines() == [TWO.splitlines()[0], *(line for line in OTHERS if line[0] in "MN#")]
    assert counted(notes) == {GONE: 5}  # the relation, the event, its attribute, the note on that, the equivalence


@pytest.mark.parametrize("line", ["N1\tReference T1 ICD10:T90\tx", "A1\tStage T1 T3", "M1\tStage T1 E2"])
def test_a_value_that_looks_like_an_id_is_not_a_target(tmp_path: Path, line: str) -> None:
    document = read_one(tmp_path / "in", TEXT, f"{TWO}{line}\n")
    assert ann_of(tmp_path / "out", document) == f"{TWO}{line}\n"


def test_a_new_entity_does_not_take_the_id_that_a_kept_line_refers_to(tmp_path: Path) -> None:
    document = Document("d", "pain", (Entity("ADR", (Fragment(0, 4),)),), meta={"brat": ["A1\tNegation T1"]})
    notes = Notes()
    assert ann_of(tmp_path / "out", document, notes=notes) == "T2\tADR 0 4\tpain\n"
    assert counted(notes) == {GONE: 1}


def test_ids_that_brat_does_not_take_are_numbered_anew_and_counted(tmp_path: Path) -> None:
    at = (Fragment(0, 4),)
    entities = tuple(Entity("ADR", at, id=name) for name in ("T7", "T7", "m 1", "T2b", None))
    notes = Notes()
    written = ann_of(tmp_path / "out", Document("d", "pain", entities), notes=notes)
    assert [line.split("\t")[0] for line in written.splitlines()] == ["T7", "T8", "T9", "T2b", "T10"]
    assert counted(notes) == {"entity id that brat does not take, numbered anew": 2}


@pytest.mark.parametrize(
    "meta", [5, "x", ["no tab"], ["T9\tADR 0 4\tpain"], ["#1\tA T1\tx\nT9\tADR 0 4\tpain"], [None]]
)
def test_a_meta_that_is_no_line_of_an_ann_is_not_written(tmp_path: Path, meta: object) -> None:
    notes = Notes()
    assert ann_of(tmp_path / "out", Document("d", "pain", meta={"brat": meta}), notes=notes) == ""
    assert counted(notes) == {NO_LINE: 1}


def test_annotation_conf_has_all_names_under_its_four_sections(tmp_path: Path) -> None:
    document = read_one(tmp_path / "in", TEXT, TWO + "T3\tProcess 8 14\tcauses\nE9\tProcess:T3\n" + "\n".join(OTHERS))
    ann_of(tmp_path / "out", document, Document("e", "pain", (Entity("side effect", (Fragment(0, 4),)),)))
    sections: dict[str, list[str]] = {}
    for line in (tmp_path / "out" / "annotation.conf").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            names = sections.setdefault(line, [])
        elif line:
            names.append(line.split(" ")[0])
    assert sections == {
        "[entities]": ["ADR", "Drug", "side_effect"],
        "[relations]": ["<OVERLAP>", "Causes", "Equiv"],
        "[events]": ["Process"],
        "[attributes]": ["Confidence", "Negation"],
    }


def test_ann_and_txt_may_be_in_two_folders(tmp_path: Path) -> None:
    put(tmp_path, {"original/ARTHROTEC.1.ann": "T1\tADR 0 4\tpain\n", "text/ARTHROTEC.1.txt": "pain"})
    (document,) = read(tmp_path / "original", texts=tmp_path / "text")
    assert (document.id, len(document.entities)) == ("ARTHROTEC.1", 1)


def test_one_ann_with_its_text_in_another_folder(tmp_path: Path) -> None:
    put(tmp_path, {"a/d.ann": "T1\tADR 0 4\tpain\n", "t/d.txt": "pain", "t/e.txt": "more"})
    assert [document.id for document in read(tmp_path / "a" / "d.ann", texts=tmp_path / "t")] == ["d"]


@pytest.mark.parametrize("name", ["ARTHROTEC.1.ann", "ARTHROTEC.1.txt"])
def test_one_file_is_one_document(tmp_path: Path, name: str) -> None:
    put(tmp_path, {"ARTHROTEC.1.ann": "T1\tADR 0 4\tpain\n", "ARTHROTEC.1.txt": "pain", "b.txt": "x", "b.ann": ""})
    assert [(one.id, len(one.entities)) for one in read(tmp_path / name)] == [("ARTHROTEC.1", 1)]


def test_crlf_text_keeps_its_line_ends_and_crlf_ann_is_read(tmp_path: Path) -> None:
    document = read_one(tmp_path / "in", b"mild\r\npain\r\n", b"T1\tADR 0 4;6 10\tmild pain\r\n#1\tNote T1\tx\r\n")
    assert document.text == "mild\r\npain\r\n"
    assert document.meta == {"brat": ["#1\tNote T1\tx"]}
    assert document.entities[0].fragments == (Fragment(0, 10),)
    ann_of(tmp_path / "out", document)
    assert (tmp_path / "out" / "d.txt").read_bytes() == b"mild\r\npain\r\n"


def test_a_byte_order_mark_is_a_character_of_the_text_but_not_of_the_ann(tmp_path: Path) -> None:
    document = read_one(tmp_path, "\ufeffpain", "\ufeffT1\tADR 1 5\tpain\n")
    assert document.text == "\ufeffpain"
    assert document.entities[0].fragments == (Fragment(1, 5),)


def test_a_text_without_ann_is_a_document_without_entities_and_noted(tmp_path: Path) -> None:
    put(tmp_path, {"a.txt": "pain", "b.txt": "pain", "b.ann": ""})
    notes = Notes()
    assert list(read(tmp_path, notes=notes)) == [Document("a", "pain"), Document("b", "pain")]
    assert list(notes) == [("text without .ann, read as without entities", 1, [str(tmp_path / "a.txt")])]


def test_folders_in_folders_are_part_of_the_id(tmp_path: Path) -> None:
    put(tmp_path, {"x/d.1.txt": "pain", "x/d.1.ann": "", "y/d.1.txt": "arm", "y/d.1.ann": "", ".git/z.txt": "no"})
    documents = list(read(tmp_path, "brat"))
    assert [document.id for document in documents] == ["x/d.1", "y/d.1"]
    write(documents, tmp_path / "out", "brat")
    assert list(read(tmp_path / "out", "brat")) == documents
