from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import cassis  # type: ignore[import-untyped]
import pytest
from hypothesis import given

from gridner.documents import Document, Entity, Fragment
from gridner.errors import FormatError, Notes, UsageError
from gridner.formats import read, write
from gridner.formats._support.safe_xml import xml_text
from gridner.formats.cas import LAYER, NAMED
from support.formats import counted, put, same_documents, through
from support.strategies import ODD_TYPES, corpora

TEXT = "💩 pain in left arm\r\nand shoulder & <more>"
Spans = list[tuple[int, int, dict[str, Any]]]


def types_with(*layers: str, features: tuple[str, ...] = ("value", "entity")) -> Any:
    """A type system as an INCEpTION project has one: its own layers, made with the library."""
    types = cassis.TypeSystem()
    for layer in layers:
        made = types.create_type(name=layer, supertypeName="uima.tcas.Annotation")
        for feature in features:
            types.create_feature(domainType=made, name=feature, rangeType="uima.cas.String")
    return types


def put_cas(folder: Path, types: Any, spans: dict[str, Spans], text: str | None = TEXT, name: str = "d.xmi") -> Path:
    """Files as the library writes them."""
    folder.mkdir(parents=True, exist_ok=True)
    types.to_xml(folder / "TypeSystem.xml")
    cas = cassis.Cas(typesystem=types)
    if text is not None:
        cas.sofa_string = text
        cas.sofa_mime = "text/plain"
    for layer, found in spans.items():
        for begin, end, features in found:
            cas.add(types.get_type(layer)(begin=begin, end=end, **features))
    cas.to_xmi(folder / name, pretty_print=True)
    return folder


def places(document: Document) -> list[tuple[str, str, str | None]]:
    return [(one.type, ";".join(map(str, one.fragments)), one.id) for one in document.entities]


@given(corpora(types=ODD_TYPES))
def test_documents_come_back(corpus: list[Document]) -> None:
    back, _ = through(corpus, "cas")
    same_documents(back, [replace(document, text=xml_text(document.text, Notes(), "")) for document in corpus])


@pytest.mark.parametrize("layer", [LAYER, "webanno.custom.Entity"])
def test_what_the_library_writes_is_read_and_fragments_are_joined(tmp_path: Path, layer: str) -> None:
    spans: Spans = [
        (24, 32, {"value": "ADR", "entity": "e1"}),
        (2, 18, {"value": "ADR"}),
        (2, 9, {"value": "ADR", "entity": "e1"}),
        (0, 1, {"value": "Sign", "entity": ""}),
        (0, 1, {}),
    ]
    types = types_with(layer, NAMED, "custom.Other")
    other: Spans = [(0, 1, {"value": "x"})]
    notes = Notes()
    put_cas(tmp_path / "in", types, {layer: spans, NAMED: other, "custom.Other": other})
    (document,) = read(tmp_path / "in", notes=notes)
    assert (document.id, document.text) == ("d", TEXT)
    assert sorted(places(document)) == [
        ("ADR", "2-18", None),
        ("ADR", "2-9;24-32", "e1"),
        ("Sign", "0-1", None),
    ]
    assert counted(notes) == {"annotation without a value, left out": 1, "other layers of a CAS, left out": 1}


def test_named_entities_of_dkpro_are_read_where_there_is_no_layer_of_ours(tmp_path: Path) -> None:
    types = cassis.load_typesystem(Path(cassis.__file__).parent / "resources" / "dkpro-core-types.xml")
    put_cas(tmp_path / "in", types, {NAMED: [(2, 6, {"value": "ADR", "identifier": "x"}), (0, 1, {"value": "Sign"})]})
    (document,) = read(tmp_path / "in", "cas")
    assert sorted(places(document)) == [("ADR", "2-6", None), ("Sign", "0-1", None)]


def test_the_library_reads_what_is_written(tmp_path: Path) -> None:
    entity = Entity("ADR", (Fragment(2, 9), Fragment(24, 32)), 0.5)
    write([Document("a/b", TEXT, (entity, Entity("Sign", (Fragment(0, 1),))))], tmp_path / "out", "cas")
    types = cassis.load_typesystem(tmp_path / "out" / "TypeSystem.xml")
    cas = cassis.load_cas_from_xmi(tmp_path / "out" / "a" / "b.xmi", typesystem=types)
    assert cas.sofa_string == TEXT
    assert [(one.get_covered_text(), one.value, one.entity, one.score) for one in cas.select(LAYER)] == [
        ("💩", "Sign", None, None),
        ("pain in", "ADR", "T1", 0.5),
        ("shoulder", "ADR", "T1", 0.5),
    ]
    assert 'begin="3" end="10"' in (tmp_path / "out" / "a" / "b.xmi").read_text(encoding="utf-8")  # UTF-16 units
    assert [one.id for one in read(tmp_path / "out", "cas")] == ["a/b"]


def test_one_file_and_a_type_system_in_a_folder_above(tmp_path: Path) -> None:
    put_cas(tmp_path / "in", types_with(LAYER), {LAYER: [(2, 6, {"value": "ADR"})]})
    assert [one.id for one in read(tmp_path / "in" / "d.xmi")] == ["d"]
    put_cas(tmp_path / "in" / "x", types_with(LAYER), {})
    (tmp_path / "in" / "x" / "TypeSystem.xml").unlink()
    assert [one.id for one in read(tmp_path / "in", "cas")] == ["d", "x/d"]
    with pytest.raises(FormatError, match=r"d\.xmi: no type system; export it with TypeSystem\.xml"):
        list(read(tmp_path / "in" / "x" / "d.xmi"))


def test_a_cas_without_our_layer_says_which_it_has(tmp_path: Path) -> None:
    put_cas(tmp_path / "in", types_with("custom.Drug", "custom.Place"), {})
    said = (
        r"TypeSystem\.xml: layers are .*custom\.Drug, custom\.Place.*, expected custom\.Entity or DKPro's NamedEntity"
    )
    with pytest.raises(FormatError, match=said) as caught:
        list(read(tmp_path / "in"))
    assert "\n" not in str(caught.value)


def test_a_layer_without_value_is_an_error(tmp_path: Path) -> None:
    put_cas(tmp_path / "in", types_with(LAYER, features=("label",)), {})
    with pytest.raises(FormatError, match=r"layer custom\.Entity has no feature 'value'; add it"):
        list(read(tmp_path / "in"))


def test_a_layer_with_value_alone_has_entities_without_gaps(tmp_path: Path) -> None:
    put_cas(tmp_path / "in", types_with(LAYER, features=("value",)), {LAYER: [(2, 6, {"value": "ADR"})]})
    assert places(next(read(tmp_path / "in"))) == [("ADR", "2-6", None)]


@pytest.mark.parametrize(
    ("spans", "said"),
    [
        (
            [(2, 6, {"value": "A", "entity": "e"}), (7, 9, {"value": "B", "entity": "e"})],
            r"d\.xmi: Entity \d+: entity e has the values A, B; give its fragments the same one",
        ),
        ([(2, 2, {"value": "A"})], r"d\.xmi: Entity \d+: fragment 2-2: expected 0 <= start < end"),
    ],
)
def test_bad_annotations_are_named_and_lenient_skips_them(tmp_path: Path, spans: Spans, said: str) -> None:
    put_cas(tmp_path / "in", types_with(LAYER), {LAYER: [*spans, (2, 6, {"value": "ADR"})]})
    with pytest.raises(FormatError, match=said):
        list(read(tmp_path / "in"))
    notes = Notes()
    assert places(next(read(tmp_path / "in", lenient=True, notes=notes))) == [("ADR", "2-6", None)]
    assert counted(notes) == {"bad record skipped": 1}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('begin="3"', 'begin="1"', r"d\.xmi: an offset that is outside the text or inside a character"),
        ('end="7"', 'end="700"', r"d\.xmi: an offset that is outside the text or inside a character"),
        ("custom:Entity", "custom:Unknown", r"d\.xmi: cassis cannot read it \(TypeNotFoundError"),
        ("</xmi:XMI>", "", r"d\.xmi: cassis cannot read it \(XMLSyntaxError"),
        ('begin="3"', 'begin="x"', r"d\.xmi: cassis cannot read it \(ValueError"),
        ("<xmi:XMI", '<!DOCTYPE x [<!ENTITY a "b">]><xmi:XMI', r"d\.xmi: XML that declares entities"),
        ("<", "", r"d\.xmi: not well-formed"),
        ('value="ADR"', 'value="\0"', r"d\.xmi: cassis cannot read it"),
    ],
)
def test_bad_files_are_named_in_a_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = put_cas(tmp_path / "in", types_with(LAYER), {LAYER: [(2, 6, {"value": "ADR"})]}) / "d.xmi"
    content = path.read_text(encoding="utf-8")
    assert old in content
    path.write_text(content.replace(old, new), encoding="utf-8")
    with pytest.raises(FormatError, match=said) as caught:
        list(read(tmp_path / "in"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"), [(None, "no text; the initial view needs a sofaString"), (" ", "an empty document")]
)
def test_a_cas_without_text_is_an_error(tmp_path: Path, text: str | None, said: str) -> None:
    put_cas(tmp_path / "in", types_with(LAYER), {}, text=text)
    with pytest.raises(FormatError, match=rf"d\.xmi: {said}"):
        list(read(tmp_path / "in"))


def test_what_is_no_cas_is_an_error(tmp_path: Path) -> None:
    put(tmp_path, {"a.txt": "x", "in/a.xmi": "<x/>", "in/TypeSystem.xml": "x"})
    with pytest.raises(FormatError, match=r"a\.txt: not an \.xmi file"):
        list(read(tmp_path / "a.txt", "cas"))
    with pytest.raises(FormatError, match=r"TypeSystem\.xml: not well-formed"):
        list(read(tmp_path / "in"))


def test_the_extra_is_named_where_the_library_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write([Document("d", "pain")], tmp_path / "in", "cas")
    monkeypatch.setitem(sys.modules, "cassis", None)
    said = r"cassis is missing; install it with: pip install 'gridner\[formats\]'"
    with pytest.raises(UsageError, match=said):
        list(read(tmp_path / "in"))
    with pytest.raises(UsageError, match=said):
        write([Document("d", "pain")], tmp_path / "out", "cas")
