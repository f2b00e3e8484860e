from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import bioc as library  # type: ignore[import-untyped]
import pytest
from bioc import biocjson, biocxml
from hypothesis import given
from hypothesis import strategies as st

from gridner.documents import Document, Entity, Fragment
from gridner.errors import FormatError, Notes, UsageError
from gridner.formats import read, write
from gridner.formats._support.safe_xml import NOT_XML, xml_text
from support.formats import counted, put, same_documents, through
from support.strategies import ODD_TYPES, corpora

ARM = Document(
    "note-1", "pain in left arm and shoulder", (Entity("ADR", (Fragment(0, 7), Fragment(21, 29)), 0.93, "T7"),)
)
LOST = "meta 'bioc' that is not infons, names and texts, not written"


def clean(document: Document) -> Document:
    return replace(document, text=xml_text(document.text, Notes(), ""))


@given(corpora(types=ODD_TYPES))
def test_xml_brings_back_what_it_was_given(corpus: list[Document]) -> None:
    back, notes = through(corpus, "bioc")
    same_documents(back, [clean(document) for document in corpus])
    bad = sum(len(NOT_XML.findall(document.text)) for document in corpus)
    assert counted(notes).get("character that XML cannot carry, replaced", 0) == bad


@given(corpora(types=ODD_TYPES))
def test_json_brings_back_what_it_was_given(corpus: list[Document]) -> None:
    same_documents(through(corpus, "biocjson")[0], corpus)


def annotation(name: str, kind: str, said: str, *places: tuple[int, int]) -> Any:
    made = library.BioCAnnotation()
    made.id, made.text, made.infons = name, said, {"type": kind, "identifier": "D010146"}
    for offset, length in places:
        made.add_location(library.BioCLocation(offset, length))
    return made


def collection() -> Any:
    """A collection as the library has it: two passages, one in sentences, annotations on every level, a relation."""
    title = library.BioCPassage.of_text("Pain & 💩", 0)
    title.infons["type"] = "title"
    title.add_annotation(annotation("T1", "ADR", "Pain", (0, 4)))
    body = library.BioCPassage()
    body.offset = 10
    for offset, said in ((10, "Pain in left arm and shoulder."), (42, "No rash.")):
        body.add_sentence(library.BioCSentence.of_text(said, offset))
    body.sentences[0].add_annotation(annotation("T2", "ADR", "Pain in ... shoulder", (31, 8), (10, 7)))
    document = library.BioCDocument()
    document.id = "12345"
    document.infons = {"journal": "J"}
    for passage in (title, body):
        document.add_passage(passage)
    document.add_annotation(annotation("T3", "Finding", "rash", (45, 4)))
    relation = library.BioCRelation()
    relation.id = "R1"
    relation.add_node(library.BioCNode("T1", "a"))
    document.add_relation(relation)
    other = library.BioCDocument()
    other.id = "6"
    other.add_passage(library.BioCPassage.of_text("Fine.", 0))
    made = library.BioCCollection()
    made.documents = [document, other]
    made.source, made.date, made.key = "PubMed", "20260101", "k.key"
    return made


@pytest.mark.parametrize("form", ["dump", "iterwrite", "dtd", "json", "array", "lines", "one"])
def test_what_the_library_writes_is_read(tmp_path: Path, form: str) -> None:
    made = collection()
    path = tmp_path / ("c.xml" if form in ("dump", "iterwrite", "dtd") else "c.json")
    if form == "iterwrite":
        with biocxml.iterwrite(str(path)) as writer:
            writer.write_collection_info(made)
            for one in made.documents:
                writer.write_document(one)
    elif form in ("dump", "dtd"):
        said = library.dumps(made)
        if form == "dtd":
            said = said.replace("<collection>", '<!DOCTYPE collection SYSTEM "BioC.dtd">\n<collection>')
        path.write_text(said, encoding="utf-8")
    elif form == "lines":
        with biocjson.iterwriter(str(path)) as lines:
            for one in made.documents:
                lines.write(one)
    else:
        said = biocjson.dumps(made, indent=2) if form == "json" else biocjson.dumps(made)
        path.write_text(f"[{said}]" if form == "array" else said, encoding="utf-8")
    notes = Notes()
    document, other = read(path, "bioc" if path.suffix == ".xml" else "biocjson", notes=notes)
    assert document.id == "12345"
    assert document.text == "Pain & 💩\n\nPain in left arm and shoulder.\n\nNo rash."
    assert {(one.id, one.type, one.fragments) for one in document.entities} == {
        ("T1", "ADR", (Fragment(0, 4),)),
        ("T2", "ADR", (Fragment(10, 17), Fragment(31, 39))),
        ("T3", "Finding", (Fragment(45, 49),)),
    }
    assert document.meta == {"bioc": {"journal": "J"}}
    assert {json.dumps(one.meta) for one in document.entities} == {'{"bioc": {"identifier": "D010146"}}'}
    assert (other.id, other.text, other.entities) == ("6", "Fine.", ())
    assert counted(notes) == {"relation, left out": 1, "infons of passages or sentences, left out": 1}


@pytest.mark.parametrize("format", ["bioc", "biocjson"])
def test_the_library_reads_and_validates_what_is_written(tmp_path: Path, format: str) -> None:
    kept = replace(ARM.entities[0], meta={"bioc": {"identifier": "D010146"}})
    other = Document("💩", "a 𝒳 b", (Entity("X", (Fragment(2, 3),)),))
    write([replace(ARM, entities=(kept,), meta={"bioc": {"journal": "J"}}), other], tmp_path / "out", format)
    with open(tmp_path / "out", encoding="utf-8") as file:
        found = biocjson.load(file) if format == "biocjson" else library.load(file)
    library.validate(found)
    (passage,) = found.documents[0].passages
    (made,) = passage.annotations
    assert found.documents[0].infons == {"journal": "J"}
    assert made.infons == {"type": "ADR", "identifier": "D010146", "score": "0.93"}
    assert [(at.offset, at.length) for at in made.locations] == [(0, 7), (21, 8)]
    assert found.documents[1].passages[0].text == "a 𝒳 b"


@pytest.mark.parametrize("format", ["bioc", "biocjson"])
@pytest.mark.parametrize("meta", [5, ["x"], {"a": 1}, {"a": {"b": "c"}}])
def test_a_meta_that_is_no_infons_is_not_written(tmp_path: Path, meta: object, format: str) -> None:
    notes = Notes()
    write([Document("d", "pain", meta={"bioc": meta})], tmp_path / "out", format, notes=notes)
    assert counted(notes) == {LOST: 1}


def test_a_folder_of_files_is_read_and_an_id_may_come_once(tmp_path: Path) -> None:
    for name in ("a.xml", "b/c.xml"):
        write([replace(ARM, id=name)], tmp_path / "in" / name, "bioc")
    assert sorted(one.id for one in read(tmp_path / "in", "bioc")) == ["a.xml", "b/c.xml"]
    write([replace(ARM, id="a.xml")], tmp_path / "in" / "z.xml", "bioc")
    with pytest.raises(FormatError, match=r"z\.xml:5: document a\.xml appears twice"):
        list(read(tmp_path / "in", "bioc"))


def xml(annotation: str, text: str = "<text>pain</text>", offset: str = "<offset>0</offset>") -> str:
    return (
        "<collection><source/><date/><key/>\n<document><id>d</id><passage>"
        f"{offset}{text}{annotation}</passage></document></collection>"
    )


TYPE = '<infon key="type">ADR</infon>'
PLACE = '<location offset="0" length="4"/>'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", r"c\.xml: not well-formed"),
        ("x", r"c\.xml: not well-formed"),
        ("<annotations/>", r"c\.xml: <annotations>, expected <collection>"),
        ("<collection/>", r"c\.xml: no documents"),
        (xml("").removesuffix("</collection>"), r"c\.xml: not well-formed XML \(.*\)"),
        ("<collection><document/></collection>", r"c\.xml:1: a document without an id"),
        (xml("", "", ""), r"c\.xml:2: not a BioC document \(TypeError"),
        (xml("", "<text>x</text>", "<offset>many</offset>"), r"c\.xml:2: not a BioC document \(ValueError"),
        (xml("", "<text>x</text>", "<offset>-5</offset>"), r"document d: a passage at -5, expected 0 to"),
        (xml("", "<text>x</text>", "<offset>99999999999</offset>"), r"document d: a passage at 99999999999, expected"),
        (xml("", ""), r"document d: an empty document"),
        (xml(f"<annotation>{TYPE}{PLACE}</annotation>"), r"c\.xml:2: not a BioC document \(KeyError\('id'\)"),
        (xml(f'<annotation id="1">{PLACE}</annotation>'), "annotation 1: no infon 'type'"),
        (xml(f'<annotation id="1">{TYPE}<location offset="0"/></annotation>'), r"not a BioC document \(KeyError"),
        (
            xml(f'<annotation id="1">{TYPE}<location offset="0" length="5"/></annotation>'),
            "annotation 1: fragment 0-5 is past the end of the text",
        ),
        (xml(f'<annotation id="1">{TYPE}<location offset="0" length="0"/></annotation>'), "annotation 1: fragment 0-0"),
        (
            xml(f'<annotation id="1">{TYPE}<location offset="1" length="3"/><text>pai</text></annotation>'),
            r"c\.xml:2: document d: annotation 1: the text at 1 4 is 'ain', expected 'pai'",
        ),
        (
            xml("</passage><passage><offset>2</offset><text>arm</text>"),
            "document d: the passage at 2, 'arm', starts inside the one before it, expected 4 or more",
        ),
    ],
)
def test_bad_xml_is_named_in_a_line(tmp_path: Path, content: str, said: str) -> None:
    put(tmp_path, {"c.xml": content})
    with pytest.raises(FormatError, match=said) as caught:
        list(read(tmp_path / "c.xml", "bioc"))
    assert "\n" not in str(caught.value)


LAUGHS = '<!DOCTYPE c [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'
SECRET = '<!DOCTYPE c [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
PARAMETER = '<!DOCTYPE c [<!ENTITY % a SYSTEM "http://127.0.0.1:9/a.dtd">%a;]>'


@pytest.mark.parametrize("start", [LAUGHS, SECRET, PARAMETER])
def test_entities_are_refused_and_nothing_is_fetched(tmp_path: Path, start: str) -> None:
    put(tmp_path, {"c.xml": start + xml("", "<text>&a;</text>")})
    with pytest.raises(FormatError, match=r"c\.xml: XML that declares entities"):
        list(read(tmp_path / "c.xml", "bioc"))


def test_a_dtd_is_taken_and_left_alone(tmp_path: Path) -> None:
    put(tmp_path, {"BioC.dtd": '<!ENTITY a "secret">', "c.xml": '<!DOCTYPE collection SYSTEM "BioC.dtd">' + xml("")})
    assert [one.text for one in read(tmp_path / "c.xml", "bioc")] == ["pain"]
    put(tmp_path, {"c.xml": '<!DOCTYPE collection SYSTEM "BioC.dtd">' + xml("", "<text>pain &a;</text>")})
    try:
        assert "secret" not in next(read(tmp_path / "c.xml", "bioc")).text
    except FormatError as error:
        assert "not well-formed" in str(error)


def doc(**changes: Any) -> dict[str, Any]:
    passage = {"offset": 0, "infons": {}, "text": "pain", "sentences": [], "annotations": [], "relations": []}
    return {"id": "d", "infons": {}, "passages": [{**passage, **changes}], "relations": []}


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ([], "no records, expected JSON with 'documents'"),
        ({"documents": []}, "no records"),
        ([1], "record 1: 1, expected a BioC document"),
        ({"documents": [{"id": "d"}]}, "record 1: no 'infons', which BioC JSON requires"),
        ({"bioctype": "BioCPassage"}, "record 1: 'BioCPassage', expected a BioC document"),
        ({"documents": [{**doc(), "id": 5}]}, "record 1: a document without an id"),
        ({"documents": [doc(offset="0")]}, "document d: a passage at '0', expected a number"),
        ({"documents": [doc(), doc()]}, "record 2: document d appears twice"),
        ({"documents": [doc(annotations=[{"id": "1", "infons": {}, "text": "", "locations": []}])]}, "no infon 'type'"),
        (
            {
                "documents": [
                    doc(
                        annotations=[
                            {
                                "id": "1",
                                "infons": {"type": "A"},
                                "text": "",
                                "locations": [{"offset": 0, "length": 1.5}],
                            }
                        ]
                    )
                ]
            },
            "annotation 1: locations .*, expected offset and length as numbers",
        ),
    ],
)
def test_bad_json_is_named_in_a_line(tmp_path: Path, item: Any, said: str) -> None:
    put(tmp_path, {"c.json": json.dumps(item)})
    with pytest.raises(FormatError, match=said) as caught:
        list(read(tmp_path / "c.json", "biocjson"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "content", ['{"documents": [', '{"documents": [1', '{"a": ', '{"a" 1}', "{", '{"a": 1} x', "nul"]
)
def test_json_that_is_cut_off_is_named(tmp_path: Path, content: str) -> None:
    put(tmp_path, {"c.json": content})
    with pytest.raises(FormatError, match=r"c\.json: (after )?record \d: .*(, expected|, which BioC JSON requires)"):
        list(read(tmp_path / "c.json", "biocjson"))


def test_lenient_skips_a_bad_annotation_and_a_bad_document_alone(tmp_path: Path) -> None:
    good = f'<annotation id="1">{TYPE}{PLACE}</annotation>'
    bad = f'<annotation id="2">{TYPE}<location offset="0" length="5"/></annotation>'
    content = xml(good + bad).replace("</document>", "</document><document><id>e</id><passage/></document>")
    put(tmp_path, {"c.xml": content})
    notes = Notes()
    (document,) = read(tmp_path / "c.xml", "bioc", lenient=True, notes=notes)
    assert [one.id for one in document.entities] == ["1"]
    assert counted(notes) == {"bad record skipped": 2}


@pytest.mark.parametrize("format", ["bioc", "biocjson"])
def test_the_extra_is_named_where_the_library_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    write([ARM], tmp_path / "in", format)
    for name in ("bioc", "bioc.biocxml", "bioc.biocjson"):
        monkeypatch.setitem(sys.modules, name, None)
    said = r"bioc is missing; install it with: pip install 'gridner\[formats\]'"
    with pytest.raises(UsageError, match=said):
        list(read(tmp_path / "in", format))
    with pytest.raises(UsageError, match=said):
        write([ARM], tmp_path / "out", format)
    assert not (tmp_path / "out").exists()


def test_the_library_itself_would_expand_entities() -> None:
    """Why a file is looked at before: if this fails, the library has become safe."""
    data = f"{LAUGHS}{xml('', '<text>&b;</text>')}".encode()
    (document,) = biocxml.BioCXMLDocumentReader(BytesIO(data))
    assert document.passages[0].text == "hahahaha"


def test_a_text_that_has_the_mark_of_gaps_in_it_is_no_gap() -> None:
    for text, at in (
        ("pain … here and there", (Fragment(0, 11),)),
        ("pain … x and here", (Fragment(0, 6), Fragment(13, 17))),
    ):
        document = Document("a", text, (Entity("Sign", at),))
        (found,), _ = through([document], "bioc")
        assert found == document


@given(st.lists(st.sampled_from("abcdefé€ßж😀漢"), unique=True, min_size=2), st.data())
def test_offsets_in_bytes_are_told_by_what_annotations_say(letters: list[str], data: st.DataObject) -> None:
    """Letters that come once, so that no other place says the same."""
    text = "".join(letters)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), min_size=2, max_size=4)))
    fragments = tuple(Fragment(*pair) for pair in zip(cuts[::2], cuts[1::2], strict=False))
    documents = [Document("a", text, (Entity("X", fragments, None, "T1"),))]
    with TemporaryDirectory() as folder:
        path = Path(folder, "bytes.json")
        write(documents, path, "biocjson")
        item = json.loads(path.read_text())
        (annotation,) = item["documents"][0]["passages"][0]["annotations"]
        for location in annotation["locations"]:
            start, end = location["offset"], location["offset"] + location["length"]
            location["offset"], location["length"] = len(text[:start].encode()), len(text[start:end].encode())
        path.write_text(json.dumps(item))
        notes = Notes()
        same_documents(list(read(path, "biocjson", notes=notes)), documents)
        told = "document with offsets in bytes of UTF-8, made characters"
        assert counted(notes) == ({} if text[: fragments[-1].end].isascii() else {told: 1})


def test_offsets_that_are_wrong_in_characters_and_in_bytes_are_an_error(tmp_path: Path) -> None:
    write([Document("a", "é pain", (Entity("X", (Fragment(2, 6),), None, "T1"),))], tmp_path / "a.json", "biocjson")
    wrong = (tmp_path / "a.json").read_text().replace('"offset": 2', '"offset": 1')
    (tmp_path / "a.json").write_text(wrong)
    with pytest.raises(FormatError, match=r"a\.json: record 1: .*the text at 1 5 is ' pai', expected 'pain'"):
        list(read(tmp_path / "a.json", "biocjson"))


@pytest.mark.parametrize("text", ["a pain", "é pain"])
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"locations": [{"offset": "2", "length": 4}]}, "expected offset and length as numbers"),
        ({"locations": [{"offset": None, "length": 4}]}, "expected offset and length as numbers"),
        ({"locations": [{"offset": 2, "length": [4]}]}, "expected offset and length as numbers"),
        ({"locations": [{"offset": -1, "length": 4}]}, "fragment -1-3"),
        ({"text": 5}, "text is 5, expected text"),
    ],
)
def test_an_annotation_of_other_shape_is_named_and_can_be_skipped(
    tmp_path: Path, text: str, wrong: dict[str, Any], said: str
) -> None:
    path = tmp_path / "a.json"
    write([Document("a", text, (Entity("X", (Fragment(2, 6),), None, "T1"),))], path, "biocjson")
    item = json.loads(path.read_text())
    item["documents"][0]["passages"][0]["annotations"][0] |= wrong
    path.write_text(json.dumps(item))
    with pytest.raises(FormatError, match=f"annotation T1: .*{said}"):
        list(read(path, "biocjson"))
    (document,) = read(path, "biocjson", lenient=True)
    assert (document.text, document.entities) == (text, ())


def places_in(item: Any) -> Iterator[tuple[Any, Any]]:
    """Each container with each of its keys, at any depth."""
    for key in list(item) if isinstance(item, dict) else range(len(item)) if isinstance(item, list) else ():
        yield item, key
        yield from places_in(item[key])


def test_whatever_stands_anywhere_is_read_or_named(tmp_path: Path) -> None:
    write([Document("a", "é pain", (Entity("X", (Fragment(2, 6),), 0.5, "T1"),))], tmp_path / "a.json", "biocjson")
    item = json.loads((tmp_path / "a.json").read_text())
    refused = 0
    for container, key in list(places_in(item)):
        usual = container[key]
        for strange in (None, 5, "x", [], ["x"], [5], {"a": 5}, {}):
            container[key] = strange
            (tmp_path / "a.json").write_text(json.dumps(item))
            try:
                list(read(tmp_path / "a.json", "biocjson", notes=Notes()))
            except FormatError:
                refused += 1
        container[key] = usual
    assert refused > 50
