"""Entities of a model in brat's .ann files, beside what annotators wrote."""

from __future__ import annotations

import stat
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridner.corpus.brat_preannotation import add_predictions, last_numbers
from gridner.documents import Document, Entity, Fragment
from gridner.errors import Notes
from gridner.formats import read
from support.formats import put
from support.strategies import ODD_TYPES, corpora

TEXT = "severe pain in left arm"
PAIN = Entity("ADR", (Fragment(7, 11),), 0.5)


def annotate(folder: Path, found: Iterable[Entity], *, lenient: bool = False) -> int:
    (document,) = read(folder, "brat", lenient=lenient)
    return add_predictions(folder / "d.ann", document, found, Notes())


def ids_of(ann: str) -> list[str]:
    return [line.split()[0] for line in ann.splitlines()]


@pytest.mark.parametrize(
    ("there", "new"),
    [
        ("T2 ADR 8 12 WRONG\n#1\tAnnotatorNotes T2\tmine\n", ["T3", "#2"]),
        ("T2\tADR 8 99\tpast the end\n", ["T3", "#1"]),
        ("\ufeffT7\tADR 0 99\tx\n", ["T8", "#1"]),
        ("#9 AnnotatorNotes T4 without tabs\n", ["T5", "#10"]),
        ("R1\tCauses Arg1:T1 Arg2:T12\n", ["T13", "#1"]),
        ("E3\tProcess:T6 Theme:T5\nA8\tNegation E3\n", ["T7", "#1"]),
        ("#3\tAnnotatorNotes T1\tsee T90 and #91\n", ["T2", "#4"]),
        ("T999999999999999999\tADR 0 99\tx\n", ["T1000000000000000000", "#1"]),
        ("T1000000000000000000\tADR 0 99\tx\n", ["T1000000000000000001", "#1"]),
        ("", ["T1", "#1"]),
    ],
)
def test_new_ids_are_beyond_every_id_in_the_file_parsed_or_not(tmp_path: Path, there: str, new: list[str]) -> None:
    put(tmp_path, {"d.txt": TEXT, "d.ann": there})
    assert annotate(tmp_path, [PAIN], lenient=True) == 1
    after = (tmp_path / "d.ann").read_text(encoding="utf-8")
    assert after.startswith(there)
    assert ids_of(after[len(there) :]) == new


def test_the_last_number_of_each_kind_is_found() -> None:
    assert last_numbers("T1\tA 0 1\tx\nR2\tB Arg1:T3 Arg2:E4\n*\tEquiv T5 T6\nM7\tC E8\n\r\nN9 broken") == {
        "T": 6,
        "R": 2,
        "E": 8,
        "M": 7,
        "N": 9,
    }


@given(corpora(types=ODD_TYPES), st.data())
def test_adding_again_adds_nothing(corpus: list[Document], data: st.DataObject) -> None:
    for document in corpus:
        found = data.draw(st.permutations(document.entities))
        with tempfile.TemporaryDirectory() as name:
            folder = put(Path(name), {"d.txt": document.text, "d.ann": ""})
            annotate(folder, found[: len(found) // 2])
            annotate(folder, found)
            before = (folder / "d.ann").read_bytes()
            assert annotate(folder, found) == 0
            assert (folder / "d.ann").read_bytes() == before
            named = [line for line in ids_of(before.decode()) if line]
            assert len(named) == len(set(named))


def test_types_that_brat_cannot_spell_are_added_once(tmp_path: Path) -> None:
    put(tmp_path, {"d.txt": TEXT, "d.ann": ""})
    found = [Entity("Sign or Symptom", (Fragment(7, 11),), 0.9), Entity("Sign_or_Symptom", (Fragment(7, 11),), 0.4)]
    assert [annotate(tmp_path, found) for _ in range(3)] == [1, 0, 0]
    assert (tmp_path / "d.ann").read_text() == ("T1\tSign_or_Symptom 7 11\tpain\n#1\tAnnotatorNotes T1\tgridner 0.90\n")


@pytest.mark.parametrize("bits", [0o666, 0o660, 0o600])
def test_the_mode_of_an_ann_file_is_kept(tmp_path: Path, bits: int) -> None:
    put(tmp_path, {"d.txt": TEXT, "d.ann": ""})
    (tmp_path / "d.ann").chmod(bits)
    annotate(tmp_path, [PAIN])
    assert stat.S_IMODE((tmp_path / "d.ann").stat().st_mode) == bits


def test_an_ann_file_that_is_a_link_stays_one(tmp_path: Path) -> None:
    put(tmp_path, {"in/d.txt": TEXT, "elsewhere/mine.ann": ""})
    (tmp_path / "in" / "d.ann").symlink_to("../elsewhere/mine.ann")
    annotate(tmp_path / "in", [PAIN])
    assert (tmp_path / "in" / "d.ann").readlink() == Path("../elsewhere/mine.ann")
    assert (tmp_path / "elsewhere" / "mine.ann").read_text().startswith("T1\tADR 7 11\tpain\n")
