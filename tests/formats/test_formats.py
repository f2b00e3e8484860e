from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tracemalloc
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from gridner import files
from gridner.documents import Document, Entity, Fragment
from gridner.errors import FormatError, Notes, OutputError, UsageError
from gridner.formats import FORMATS, guess, read, read_ids, write
from support.formats import counted, put

READABLE = [name for name in FORMATS if name != "parquet"]  # a table has no texts
LINE = json.dumps({"id": "a", "text": "pain"})


WITHOUT_GAPS = ("conll",)  # formats that take neither gaps nor two entities at one word


def some(*names: str, format: str = "") -> list[Document]:
    at = (Fragment(0, 4),)
    entities = (Entity("ADR", at), Entity("Drug", at))
    return [Document(name, "pain", entities[:1] if format in WITHOUT_GAPS else entities) for name in names]


def corpus(tmp_path: Path, *names: str) -> Path:
    write(some(*names), tmp_path / "in.jsonl")
    return tmp_path / "in.jsonl"


@pytest.mark.parametrize(
    ("names", "format"),
    [
        (["d.txt", "d.ann"], "brat"),
        (["d.txt", "annotation.conf"], "brat"),
        (["a.jsonl"], "jsonl"),
        (["train.json"], "w2ner"),
        (["train.inline"], "inline"),
        (["d.txt", "d.pipe.txt"], "share"),
        (["d.txt", "all.pipe"], "share"),
        (["d.txt", "d.txt.knowtator.xml"], "share"),
        (["d.txt", "d.xml"], "share"),
        (["d.xmi", "TypeSystem.xml"], "cas"),
        (["train.conll"], "conll"),
        (["train.bio"], "conll"),
        (["train/d.txt", "dev/e.txt", "dev/e.ann"], "brat"),
        (["deep/er/a.jsonl", ".hidden/d.ann", "README.md"], "jsonl"),
        (["a.jsonl", "old/d.ann"], "jsonl"),
    ],
)
def test_the_format_of_a_folder_is_guessed_from_its_files(tmp_path: Path, names: list[str], format: str) -> None:
    assert guess(put(tmp_path, dict.fromkeys(names, ""))) == format


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("d.txt", "brat"),
        ("d.ann", "brat"),
        ("a.jsonl", "jsonl"),
        ("a.json", "w2ner"),
        ("a.inline", "inline"),
        ("a.pipe", "share"),
        ("a.pipe.txt", "share"),
        ("a.knowtator.xml", "share"),
        ("a.xmi", "cas"),
        ("a.conll", "conll"),
        ("a.bio", "conll"),
    ],
)
def test_the_format_of_a_file_is_guessed_from_its_name(tmp_path: Path, name: str, format: str) -> None:
    assert guess(put(tmp_path, {name: ""}) / name) == format


@pytest.mark.parametrize("name", ["out.txt", "out.ann", "out.pipe.txt", "corpus.v2"])
def test_a_name_that_does_not_tell_the_format_is_not_written_on_a_guess(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=f"{name}: cannot tell its format; name one of brat, jsonl"):
        write(some("a"), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("asked", "hint"), [("Brat", "brat"), ("json", "jsonl"), ("w2nre", "w2ner")])
def test_an_unknown_format_gets_a_hint(tmp_path: Path, asked: str, hint: str) -> None:
    with pytest.raises(UsageError, match=f"format '{asked}', expected one of .*did you mean {hint}"):
        read(corpus(tmp_path, "a"), asked)


@pytest.mark.parametrize("format", READABLE)
def test_every_format_writes_and_reads_one_document(tmp_path: Path, format: str) -> None:
    write(some("1", format=format), tmp_path / "out", format)
    (document,) = read(tmp_path / "out", format)
    assert (document.id, document.text) == ("1", "pain")
    assert document.entities == some("1", format=format)[0].entities or format == "share"  # which has one type
    assert len(document.entities) == (1 if format in WITHOUT_GAPS else 2)


def test_ids_select_documents(tmp_path: Path) -> None:
    path = corpus(tmp_path, "a", "b", "c")
    assert [one.id for one in read(path, ids=["c", "a"])] == ["a", "c"]
    assert [one.id for one in read(path, except_ids=["c", "a"])] == ["b"]
    assert [one.id for one in read(path, ids=["c", "a"], except_ids=["c"])] == ["a"]


@pytest.mark.parametrize("format", [name for name in READABLE if name != "inline"])
def test_ids_select_in_every_format_that_has_them(tmp_path: Path, format: str) -> None:
    write(some("a", "b", "c", format=format), tmp_path / "out", format)
    assert [one.id for one in read(tmp_path / "out", format, ids=["b"])] == ["b"]


def test_ids_that_are_not_there_are_an_error_that_names_them(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"in\.jsonl: 2 of the ids not found: x, y"):
        list(read(corpus(tmp_path, "a"), ids=["a", "y", "x"]))


def test_lenient_counts_ids_that_are_not_there(tmp_path: Path) -> None:
    notes = Notes()
    assert len(list(read(corpus(tmp_path, "a"), ids=["a", "x"], lenient=True, notes=notes))) == 1
    assert list(notes) == [("id asked for, but not found", 1, ["x"])]


def test_ids_that_leave_nothing_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no documents"):
        list(read(corpus(tmp_path, "a"), except_ids=["a"]))


def test_types_select_entities_and_keep_documents_without_any(tmp_path: Path) -> None:
    notes = Notes()
    (document,) = read(corpus(tmp_path, "a"), types=["Drug", "Nothing"], notes=notes)
    assert [entity.type for entity in document.entities] == ["Drug"]
    assert list(notes) == [("type asked for, but not found", 1, ["Nothing"])]


def test_read_ids_takes_one_a_line_with_or_without_endings(tmp_path: Path) -> None:
    put(tmp_path, {"ids": "\ufeffARTHROTEC.1.ann\r\n\n LIPITOR.2.txt \nVOLTAREN.3"})
    assert read_ids(tmp_path / "ids") == {"ARTHROTEC.1", "LIPITOR.2", "VOLTAREN.3"}


@pytest.mark.parametrize(("content", "said"), [(b"\n \n", "no ids"), (b"\xff", ":1: byte 0 is 0xff")])
def test_read_ids_says_what_is_wrong(tmp_path: Path, content: bytes, said: str) -> None:
    put(tmp_path, {"ids": content})
    with pytest.raises(FormatError, match=said):
        read_ids(tmp_path / "ids")


@pytest.mark.parametrize("name", ["missing", "."])
def test_read_ids_of_what_is_no_file_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(FormatError, match=r"cannot be read"):
        read_ids(tmp_path / name)


def test_the_same_id_twice_is_an_error_and_lenient_keeps_the_first(tmp_path: Path) -> None:
    put(tmp_path, {"a.jsonl": f"{LINE}\n{LINE}\n"})
    with pytest.raises(FormatError, match=r"a\.jsonl:2: document a appears twice"):
        list(read(tmp_path / "a.jsonl"))
    notes = Notes()
    assert len(list(read(tmp_path / "a.jsonl", lenient=True, notes=notes))) == 1
    assert counted(notes) == {"bad record skipped": 1}


@pytest.mark.parametrize("format", READABLE)
def test_the_same_id_twice_is_not_written(tmp_path: Path, format: str) -> None:
    with pytest.raises(OutputError, match="document a appears twice"):
        write(some("a", "a", format=format), tmp_path / "out", format)
    assert list(tmp_path.iterdir()) == []


def test_a_message_stays_short_whatever_was_found(tmp_path: Path) -> None:
    put(tmp_path, {"a.jsonl": json.dumps({"id": "a", "text": "b", "x" * 10_000: 1})})
    with pytest.raises(FormatError) as caught:
        list(read(tmp_path / "a.jsonl"))
    assert len(str(caught.value)) < 1000


def test_lenient_says_how_many_were_bad_when_none_was_good(tmp_path: Path) -> None:
    put(tmp_path, {"a.jsonl": "x\ny\n"})
    with pytest.raises(FormatError, match=r"a\.jsonl: no documents \(2 bad records skipped, first .*a\.jsonl:1: "):
        list(read(tmp_path / "a.jsonl", lenient=True))


def test_a_failed_writing_leaves_nothing_not_even_new_folders(tmp_path: Path) -> None:
    def broken(format: str) -> Iterator[Document]:
        yield from some("a", "b", format=format)
        raise FormatError("in.txt: bad")

    for format in READABLE:
        with pytest.raises(FormatError, match=r"in\.txt: bad"):
            write(broken(format), tmp_path / "new" / "folders" / "out", format)
        assert list(tmp_path.iterdir()) == []


def test_a_folder_is_written_into_the_current_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    write(some("a"), ".", "brat")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.ann", "a.txt", "annotation.conf", "here"]


def test_a_folder_in_the_way_of_a_file_stops_before_anything_is_replaced(tmp_path: Path) -> None:
    put(tmp_path, {"out/a.txt": "old", "out/b.txt/keep": "old"})
    with pytest.raises(OutputError, match=r"b\.txt: is a folder"):
        write(some("a", "b"), tmp_path / "out", "brat", force=True)
    assert (tmp_path / "out" / "a.txt").read_text(encoding="utf-8") == "old"
    assert not list(tmp_path.glob(".*"))


def test_force_does_not_replace_a_device_or_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "out")
    with pytest.raises(OutputError, match="out: is a device or a pipe, expected a file"):
        write(some("a"), tmp_path / "out", "jsonl", force=True)
    assert (tmp_path / "out").is_fifo()


def test_a_file_may_be_replaced_by_what_is_read_from_it(tmp_path: Path) -> None:
    path = corpus(tmp_path, "a", "b")
    write(read(path, ids=["b"]), path, force=True)
    assert [one.id for one in read(path)] == ["b"]


def test_a_line_past_the_limit_is_named_and_lenient_goes_on_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 100)
    exact = json.dumps({"id": "b", "text": "x" * (100 - len(json.dumps({"id": "b", "text": ""})))})
    put(tmp_path, {"a.jsonl": f"{LINE}\n{'x' * 1000}\n{exact}\r\n{exact} \n"})
    with pytest.raises(FormatError, match=r"a\.jsonl:2: a line longer than 100 bytes, expected at most that"):
        list(read(tmp_path / "a.jsonl"))
    notes = Notes()
    assert [one.id for one in read(tmp_path / "a.jsonl", lenient=True, notes=notes)] == ["a", "b"]
    assert counted(notes) == {"bad record skipped": 2}


@pytest.mark.parametrize("name", ["d.txt", "d.xml"])
def test_a_file_past_the_limit_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    put(tmp_path, {"d.txt": "pain", "d.xml": "<annotations/>", name: "x" * 101})
    monkeypatch.setattr(files, "MAX_BYTES", 100)
    with pytest.raises(FormatError, match=rf"{name}: larger than 100 bytes"):
        list(read(tmp_path, "share"))


def large_documents(count: int, format: str) -> Iterator[Document]:
    """Documents of 8 kB and one sentence each."""
    words = tuple(Fragment(start, start + 79) for start in range(0, 8000, 80))
    last = 1 if format in WITHOUT_GAPS else 2
    at = tuple(Entity("Disease_Disorder", (words[number], words[number + 3])[:last]) for number in range(0, 90, 10))
    for number in range(count):
        yield Document(f"d{number:04}", " ".join(["x" * 79] * 100), at, (words,))


def peak(path: Path, format: str) -> int:
    """The most memory that reading takes, in bytes."""
    for _ in read(path, format):  # once before, so that imports and caches are not counted
        pass
    gc.collect()
    tracemalloc.start()
    try:
        for _ in read(path, format):
            pass
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("format", READABLE)
def test_memory_of_reading_does_not_grow_with_the_corpus(tmp_path: Path, format: str) -> None:
    write(large_documents(40, format), tmp_path / "small", format)
    write(large_documents(400, format), tmp_path / "large", format)
    grown = peak(tmp_path / "large", format) - peak(tmp_path / "small", format)
    assert grown < 360 * 8000 / 2  # ids and paths add up; the text of the 360 documents that are more does not


@pytest.mark.parametrize("format", READABLE)
def test_writing_takes_documents_one_at_a_time(tmp_path: Path, format: str) -> None:
    alive: weakref.WeakSet[Weak] = weakref.WeakSet()
    most = 0

    def tracked() -> Iterator[Document]:
        nonlocal most
        for number in range(30):
            text = Weak(f"pain {number}")
            alive.add(text)
            document = Document(f"d{number}", text, (Entity("Disease_Disorder", (Fragment(0, 4),)),))
            del text
            most = max(most, len(alive))
            yield document
            del document

    write(tracked(), tmp_path / "out", format)
    assert most <= 3


class Weak(str):
    """Text that can be referred to weakly."""


def test_the_libraries_of_formats_are_loaded_only_where_they_are_needed() -> None:
    code = "import sys, gridner.cli; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"bioc", "cassis", "lxml", "defusedxml"} & set(loaded)
