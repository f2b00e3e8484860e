"""Prediction in several processes, stopped and gone on with."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from answers import Deadly, corpus, same_answers
from gridner import bulk, load, write
from gridner.bulk import Task, in_processes
from gridner.errors import FormatError, GridnerError, Notes, OutputError
from gridner.kept import Kept


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "CHARACTERS", 200)


@pytest.mark.usefixtures("small_chunks")
def test_several_processes_find_what_one_finds(exported: Path) -> None:
    task = Task(model=exported, threshold=0.3, types=("Sign",), max_gap=3, threads=1)
    alone, parted = Notes(), Notes()
    sentences = []
    expected = list(task.answers(task.load(), corpus(12), notes=alone))
    same_answers(in_processes(task, corpus(12), workers=2, notes=parted, each=lambda: sentences.append(1)), expected)
    assert {what: count for what, count, _ in parted} == {what: count for what, count, _ in alone}
    assert len(sentences) >= 24


@pytest.mark.usefixtures("small_chunks")
def test_a_process_that_dies_loses_nothing(exported: Path, tmp_path: Path) -> None:
    deadly = Deadly(model=exported, threads=1, victim="d7", marker=tmp_path / "died")
    same_answers(in_processes(deadly, corpus(12), workers=2, notes=Notes()), load(exported, threads=1).pipe(corpus(12)))
    assert (tmp_path / "died").exists()


def test_a_process_that_dies_again_and_again_is_said(exported: Path) -> None:
    with pytest.raises(GridnerError, match=r"processes died 4 times in a row .* at work on d0"):
        list(in_processes(Deadly(model=exported, victim="d0"), corpus(2), workers=1, notes=Notes()))


def test_what_is_wrong_with_the_model_is_said_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="nowhere"):
        list(in_processes(Task(model=tmp_path / "nowhere"), corpus(2), workers=1, notes=Notes()))


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gridner", "predict", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_what_was_stopped_is_gone_on_with(exported: Path, tmp_path: Path) -> None:
    write(corpus(1500), tmp_path / "in.jsonl")
    common = ["--input", tmp_path / "in.jsonl", "--model", exported, "--threads", 1]
    assert run(*common, "--output", tmp_path / "whole.jsonl").returncode == 0
    stopped = subprocess.Popen(
        [sys.executable, "-m", "gridner", "predict", *map(str, common), "--output", str(tmp_path / "out.jsonl")],
        stderr=subprocess.PIPE,
    )
    done = tmp_path / "out.jsonl.part" / "documents.jsonl"
    while not done.exists() or not done.stat().st_size:
        with pytest.raises(subprocess.TimeoutExpired):  # until something is done
            stopped.wait(0.05)
    stopped.kill()
    stopped.communicate()
    assert not (tmp_path / "out.jsonl").exists()
    with open(done, "ab") as file:
        file.write(b'{"id": "torn')
    again = run(*common, "--output", tmp_path / "out.jsonl")
    assert again.returncode == 2
    assert "from a prediction that was stopped; --resume goes on with it" in again.stderr
    other = run(*common, "--output", tmp_path / "out.jsonl", "--resume", "--threshold", "0.9")
    assert other.returncode == 2
    assert "threshold was None, expected the same again" in other.stderr
    more = run(*common, "--output", tmp_path / "out.jsonl", "--resume", "--workers", "2")
    assert more.returncode == 0, more.stderr
    assert "documents were done before" in more.stderr
    whole, parted = (
        [json.loads(line) for line in (tmp_path / name).read_text().splitlines()]
        for name in ("whole.jsonl", "out.jsonl")
    )
    assert [one["id"] for one in parted] == [one["id"] for one in whole]
    assert [[(e["type"], e["fragments"]) for e in one["entities"]] for one in parted] == [
        [(e["type"], e["fragments"]) for e in one["entities"]] for one in whole
    ]
    assert not done.parent.exists()


def test_notes_outlive_a_stop(tmp_path: Path) -> None:
    notes = Notes()
    notes.add("cut", "d0")
    with pytest.raises(KeyboardInterrupt), Kept(tmp_path / "out", {}, resume=False, notes=notes) as kept:
        list(kept.add(corpus(1)))
        raise KeyboardInterrupt
    later = Notes()
    with Kept(tmp_path / "out", {}, resume=True, notes=later) as kept:
        assert kept.done == {"d0"}
        list(kept.add(corpus(2)[1:]))
        assert [one.id for one in kept.documents()] == ["d0", "d1"]
    assert list(later) == [("cut", 1, ["d0"])]
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_ours_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "out.part").mkdir()
    (tmp_path / "out.part" / "mine").write_text("mine")
    with pytest.raises(OutputError, match="--resume"):
        Kept(tmp_path / "out", {}, resume=False, notes=Notes())
    with pytest.raises(FormatError, match=r"no settings\.json"):
        Kept(tmp_path / "out", {}, resume=True, notes=Notes())
    assert (tmp_path / "out.part" / "mine").exists()


def test_nothing_is_left_when_nothing_was_done(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="bad"), Kept(tmp_path / "out", {}, resume=False, notes=Notes()):
        raise ValueError("bad")
    assert not list(tmp_path.iterdir())
