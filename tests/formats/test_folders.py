"""Which files of a folder are read, and how files that are there are replaced."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from gridner.documents import Document, Entity, Fragment
from gridner.errors import FormatError, Notes, OutputError
from gridner.formats import FORMATS, guess, read, read_ids, write
from gridner.formats._support.folders import READ_ALREADY
from support.formats import put

PAIN = "T1\tADR 0 4\tpain\n"


def ids(folder: Path, format: str = "auto", notes: Notes | None = None, lenient: bool = False) -> list[str]:
    return [document.id for document in read(folder, format, notes=notes, lenient=lenient)]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_files_of_linked_folders_are_read(tmp_path: Path) -> None:
    put(tmp_path, {"elsewhere/deep/d.txt": "pain", "elsewhere/deep/d.ann": PAIN, "in/e.txt": "pain", "in/e.ann": ""})
    (tmp_path / "in" / "more").symlink_to(tmp_path / "elsewhere")
    assert ids(tmp_path / "in") == ["e", "more/deep/d"]


def test_a_folder_is_read_once_whatever_links_lead_to_it(tmp_path: Path) -> None:
    put(tmp_path, {"in/b/d.txt": "pain", "in/b/d.ann": PAIN})
    (tmp_path / "in" / "a").symlink_to("b")
    (tmp_path / "in" / "b" / "up").symlink_to(tmp_path / "in")
    (tmp_path / "in" / "b" / "itself").symlink_to("itself")
    notes = Notes()
    assert ids(tmp_path / "in", notes=notes) == ["b/d"]
    assert sorted(notes.places(READ_ALREADY)) == [str(tmp_path / "in" / "a"), str(tmp_path / "in" / "b" / "up")]


@pytest.mark.parametrize("format", ["auto", "brat", "share", "jsonl"])
def test_a_folder_that_cannot_be_read_is_named(tmp_path: Path, format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, {"d.txt": "pain", "d.ann": PAIN, "a.jsonl": '{"id": "a", "text": "pain"}', "locked/e.txt": "pain"})
    listdir = os.listdir

    def refuse(path: Path) -> list[str]:  # root may read everything
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied", str(path))
        return listdir(path)

    monkeypatch.setattr(os, "listdir", refuse)
    with pytest.raises(FormatError, match=r"locked: cannot be read \(Permission denied\)"):
        ids(tmp_path, format)
    notes = Notes()
    assert ids(tmp_path, format, notes=notes, lenient=True)
    assert notes["bad record skipped"] == 1


@pytest.mark.parametrize("name", ["e.txt", "e.ann"])
def test_a_link_that_leads_nowhere_is_named(tmp_path: Path, name: str) -> None:
    put(tmp_path, {"d.txt": "pain", "d.ann": PAIN})
    (tmp_path / name).symlink_to("gone")
    with pytest.raises(FormatError, match=rf"{name}: is a link that leads nowhere, expected a file"):
        ids(tmp_path)
    notes = Notes()
    assert ids(tmp_path, notes=notes, lenient=True) == ["d"]
    assert notes["bad record skipped"] == 1


def test_a_pipe_among_the_files_is_not_waited_for(tmp_path: Path) -> None:
    put(tmp_path, {"d.txt": "pain", "d.ann": PAIN})
    os.mkfifo(tmp_path / "e.txt")
    with pytest.raises(FormatError, match=r"e\.txt: is a pipe, a socket or a device, expected a file"):
        ids(tmp_path)


def test_endings_may_be_in_upper_case(tmp_path: Path) -> None:
    put(tmp_path, {"A.TXT": "pain", "A.ANN": PAIN, "b.txt": "pain", "b.Ann": PAIN})
    assert [(one.id, len(one.entities)) for one in read(tmp_path)] == [("A", 1), ("b", 1)]
    assert [(one.id, len(one.entities)) for one in read(tmp_path / "A.TXT")] == [("A", 1)]
    assert [(one.id, len(one.entities)) for one in read(tmp_path / "b.Ann")] == [("b", 1)]
    assert read_ids(put(tmp_path, {"ids": "A.TXT\nb.ann\n"}) / "ids") == {"A", "b"}


@pytest.mark.parametrize("format", [name for name in FORMATS if name != "parquet"])
def test_every_format_reads_files_that_end_in_upper_case(tmp_path: Path, format: str) -> None:
    document = Document("d", "pain", (Entity("ADR", (Fragment(0, 4),)),))
    folder = FORMATS[format].folder
    ending = {"bioc": ".xml", "conll": ".conll", "inline": ".inline", "jsonl": ".jsonl"}.get(format, ".json")
    write([document], tmp_path / "in" if folder else tmp_path / "in" / f"d{ending}", format)
    for path in (tmp_path / "in").iterdir():
        if path.name not in ("TypeSystem.xml", "annotation.conf"):
            path.rename(path.with_name(path.name.replace(path.suffix, path.suffix.upper())))
    assert [len(one.entities) for one in read(tmp_path / "in", format)] == [1]


def test_two_spellings_of_an_ending_are_two_files_for_a_document(tmp_path: Path) -> None:
    put(tmp_path, {"d.txt": "pain", "d.TXT": "arm", "d.ann": ""})
    with pytest.raises(FormatError, match="remove one of the two"):
        ids(tmp_path)


def test_the_format_of_a_folder_in_upper_case_or_behind_a_link_is_guessed(tmp_path: Path) -> None:
    put(tmp_path, {"one/D.ANN": "", "elsewhere/d.xmi": ""})
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "more").symlink_to(tmp_path / "elsewhere")
    assert [guess(tmp_path / "one"), guess(tmp_path / "two")] == ["brat", "cas"]


def one(text: str = "pain") -> list[Document]:
    return [Document("d", text)]


@pytest.mark.parametrize("bits", [0o666, 0o640, 0o600])
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path: Path, bits: int) -> None:
    for name in ("out.jsonl", "out/d.txt"):
        put(tmp_path, {name: "old"})
        (tmp_path / name).chmod(bits)
    write(one(), tmp_path / "out.jsonl", force=True)
    write(one(), tmp_path / "out", "brat", force=True)
    assert [mode(tmp_path / "out.jsonl"), mode(tmp_path / "out" / "d.txt")] == [bits, bits]


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path: Path) -> None:
    put(tmp_path, {"real/d.jsonl": "old", "real/d.txt": "old", "out/d.ann": ""})
    (tmp_path / "out.jsonl").symlink_to("real/d.jsonl")
    (tmp_path / "out" / "d.txt").symlink_to("../real/d.txt")
    write(one(), tmp_path / "out.jsonl", force=True)
    write(one(), tmp_path / "out", "brat", force=True)
    assert (tmp_path / "out.jsonl").is_symlink()
    assert (tmp_path / "out" / "d.txt").is_symlink()
    assert list(read(tmp_path / "real" / "d.jsonl")) == one()
    assert (tmp_path / "real" / "d.txt").read_text() == "pain"
    assert sorted(path.name for path in (tmp_path / "real").iterdir()) == ["d.jsonl", "d.txt"]


@pytest.mark.parametrize("name", ["out.jsonl", "out"])
def test_a_link_that_leads_nowhere_is_not_replaced(tmp_path: Path, name: str) -> None:
    (tmp_path / name).symlink_to("later/it")
    with pytest.raises(OutputError, match=r"is a link to .*later/it, which does not exist; --force writes it there"):
        write(one(), tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    write(one(), tmp_path / name, force=True)
    assert (tmp_path / name).is_symlink()
    assert [document.id for document in read(tmp_path / name)] == ["d"]


def test_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").symlink_to("out.jsonl")
    with pytest.raises(OutputError, match="leads to itself"):
        write(one(), tmp_path / "out.jsonl", force=True)


def test_what_appeared_during_the_work_is_not_overwritten(tmp_path: Path) -> None:
    def documents() -> list[Document]:
        (tmp_path / "out.jsonl").write_text("of another process")
        return one()

    with pytest.raises(OutputError, match="exists already"):
        write((document for _ in range(1) for document in documents()), tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text() == "of another process"
