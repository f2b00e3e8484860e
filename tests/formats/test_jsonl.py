from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridner.documents import Document, Entity, Fragment
from gridner.errors import FormatError, GridnerError, Notes, OutputError
from gridner.formats import read, write
from gridner.formats.jsonl import from_json, to_json
from support.formats import counted, through
from support.strategies import ODD_TYPES, corpora, documents

SCHEMA = json.loads((files("gridner.formats") / "jsonl.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
GOOD: dict[str, Any] = {"id": "a", "text": "left arm", "entities": [{"type": "ADR", "fragments": [[0, 4], [5, 8]]}]}


def everything(document: Document) -> tuple[Any, ...]:
    """All that a document has, also what == leaves out."""
    found = [(entity, entity.score, entity.id, dict(entity.meta)) for entity in document.entities]
    return document, found, dict(document.meta)


def put_lines(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_bytes("\n".join(lines).encode("utf-8"))
    return path


@given(corpora(types=ODD_TYPES))
def test_carries_everything(corpus: list[Document]) -> None:
    back, notes = through(corpus, "jsonl")
    assert [everything(document) for document in back] == [everything(document) for document in corpus]
    assert not notes


@given(documents(types=ODD_TYPES))
def test_what_is_written_satisfies_the_schema(document: Document) -> None:
    assert VALIDATOR.is_valid(to_json(document))


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def changed(**fields: Any) -> dict[str, Any]:
    return {**GOOD, **fields}


def entity(**fields: Any) -> dict[str, Any]:
    return changed(entities=[{**GOOD["entities"][0], **fields}])


MALFORMED = {
    "not an object": [1, 2],
    "text": "just text",
    "number": 5,
    "null": None,
    "no id": {"text": "a"},
    "no text": {"id": "a"},
    "id is a number": changed(id=1),
    "empty id": changed(id=""),
    "text is a list": changed(text=["a"]),
    "empty text": changed(text=""),
    "white text": changed(text=" \n\t"),
    "unknown key": changed(label="x"),
    "entities null": changed(entities=None),
    "entities an object": changed(entities={}),
    "entity a list": changed(entities=[[0, 4]]),
    "entity null": changed(entities=[None]),
    "entity without type": changed(entities=[{"fragments": [[0, 4]]}]),
    "entity without fragments": changed(entities=[{"type": "A"}]),
    "entity with an unknown key": entity(label="x"),
    "type is a number": entity(type=3),
    "empty type": entity(type=""),
    "no fragments": entity(fragments=[]),
    "fragments are text": entity(fragments="0 4"),
    "flat fragments": entity(fragments=[0, 4]),
    "fragment of one": entity(fragments=[[0]]),
    "fragment of three": entity(fragments=[[0, 1, 2]]),
    "fragment of text": entity(fragments=[["0", "4"]]),
    "fragment with null": entity(fragments=[[0, None]]),
    "fragment with booleans": entity(fragments=[[False, True]]),
    "fragment with a broken number": entity(fragments=[[0, 3.5]]),
    "negative": entity(fragments=[[-1, 4]]),
    "end at 0": entity(fragments=[[0, 0]]),
    "score is text": entity(score="high"),
    "score is a boolean": entity(score=True),
    "empty entity id": entity(id=""),
    "entity id is a number": entity(id=7),
    "entity meta null": entity(meta=None),
    "entity meta a list": entity(meta=[]),
    "meta null": changed(meta=None),
    "meta text": changed(meta="x"),
    "sentences an object": changed(sentences={}),
    "sentence a number": changed(sentences=[1]),
    "empty sentence": changed(sentences=[[]]),
    "word of one": changed(sentences=[[[0]]]),
}
ONLY_THE_READER = {
    "end before start": entity(fragments=[[4, 2]]),
    "empty fragment": entity(fragments=[[4, 4]]),
    "unsorted": entity(fragments=[[5, 8], [0, 4]]),
    "overlapping": entity(fragments=[[0, 5], [4, 8]]),
    "past the end": entity(fragments=[[0, 9]]),
    "words overlap": changed(sentences=[[[0, 5], [4, 8]]]),
    "words past the end": changed(sentences=[[[0, 9]]]),
    "only a byte-order mark": changed(text="\ufeff", entities=[]),
    "type with white space at its end": entity(type="ADR "),
    "type that cannot be printed": entity(type="A\nB"),
    "id that cannot be printed": changed(id="a\nb"),
    "number with a decimal point": entity(fragments=[[0, 4.0]]),
    "score past a float": entity(score=10**400),
    "lone surrogate in the text": changed(text="left \ud800 arm"),
    "lone surrogate in an entity's id": entity(id="\ud800"),
    "lone surrogate in meta": changed(meta={"a": ["\udfff"]}),
}


@pytest.mark.parametrize("item", MALFORMED.values(), ids=list(MALFORMED))
def test_malformed_is_rejected_by_schema_and_reader(tmp_path: Path, item: Any) -> None:
    assert not VALIDATOR.is_valid(item)
    with pytest.raises(FormatError, match=r"corpus\.jsonl:1: .*(expected|cannot be written as JSON)"):
        list(read(put_lines(tmp_path, json.dumps(item))))


@pytest.mark.parametrize("item", ONLY_THE_READER.values(), ids=list(ONLY_THE_READER))
def test_what_a_schema_cannot_say_is_rejected_by_the_reader(tmp_path: Path, item: Any) -> None:
    assert VALIDATOR.is_valid(item)
    with pytest.raises(FormatError, match=r"corpus\.jsonl:1: "):
        list(read(put_lines(tmp_path, json.dumps(item))))


@given(st.recursive(st.none() | st.integers() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=3)))
def test_any_json_in_place_of_entities_is_read_only_if_the_schema_allows_it(value: Any) -> None:
    item = changed(entities=value)
    try:
        from_json(item, "here")
    except GridnerError:
        return
    assert VALIDATOR.is_valid(item)


@pytest.mark.parametrize("item", [GOOD, {"id": "a", "text": "b"}, entity(score=None, id=None), changed(sentences=None)])
def test_good_is_accepted_by_schema_and_reader(tmp_path: Path, item: Any) -> None:
    VALIDATOR.validate(item)
    assert len(list(read(put_lines(tmp_path, json.dumps(item))))) == 1


@pytest.mark.parametrize(
    "line", ["[" * 100_000, '{"a":' * 100_000, '{"id": "a", "text": ' + "[" * 500 + "]" * 500 + "}"]
)
def test_deep_nesting_is_one_clear_error(tmp_path: Path, line: str) -> None:
    with pytest.raises(FormatError, match=r"corpus\.jsonl:1: .*(expected|cannot be written as JSON)"):
        list(read(put_lines(tmp_path, line)))


@pytest.mark.parametrize("depth", range(100, 1100, 25))
def test_deep_nesting_in_meta_is_read_and_written_or_refused(tmp_path: Path, depth: int) -> None:
    line = '{"id": "a", "text": "b", "meta": {"x": ' + "[" * depth + "]" * depth + "}}"
    try:
        write(read(put_lines(tmp_path, line)), tmp_path / "again.jsonl")
    except FormatError:
        assert not (tmp_path / "again.jsonl").exists()


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 5000])
def test_a_number_that_json_does_not_have_is_an_error(tmp_path: Path, number: str) -> None:
    line = '{"id": "a", "text": "b", "meta": {"x": ' + number + "}}"
    with pytest.raises(FormatError, match=r"corpus\.jsonl:1: .*(expected|cannot be written as JSON)"):
        list(read(put_lines(tmp_path, line)))


def test_blank_lines_and_a_byte_order_mark_are_skipped(tmp_path: Path) -> None:
    path = put_lines(tmp_path, "\ufeff" + json.dumps(GOOD) + "\r", "", "  \r", json.dumps(changed(id="b")))
    assert [document.id for document in read(path)] == ["a", "b"]


def test_line_separators_inside_the_text_do_not_end_a_line(tmp_path: Path) -> None:
    document = Document("a", "x\u2028y\u0085z\r\n", (Entity("A", (Fragment(2, 3),)),))
    write([document], tmp_path / "a.jsonl")
    assert list(read(tmp_path / "a.jsonl")) == [document]


def test_a_folder_of_files_is_read_by_name(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(changed(id=name)), encoding="utf-8")
    assert [document.id for document in read(tmp_path)] == ["a", "b"]


def test_lenient_skips_bad_lines_and_names_them(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    good = json.dumps(GOOD).encode()
    path.write_bytes(good[:-5] + b"\n" + b'{"id": "\xff"}\n' + good)
    notes = Notes()
    assert [document.id for document in read(path, lenient=True, notes=notes)] == ["a"]
    assert counted(notes) == {"bad record skipped": 2}
    ((_, _, places),) = notes
    assert [place.split(": ")[0] for place in places] == [f"{path}:1", f"{path}:2"]


@pytest.mark.parametrize("meta", [{"a": {1, 2}}, {"a": float("nan")}, {"a": "\ud800"}, {"a": object()}])
def test_a_meta_that_json_cannot_carry_is_an_output_error(tmp_path: Path, meta: dict[str, Any]) -> None:
    with pytest.raises(OutputError, match=r"document d: .*JSON"):
        write([Document("d", "text", meta=meta)], tmp_path / "out.jsonl")
    assert list(tmp_path.iterdir()) == []
