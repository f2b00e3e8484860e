"""Prediction in several processes, stopped and gone on with."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gridner import Entity, Fragment, load, write
from gridner.errors import FormatError, GridnerError, InUseError, Notes, OutputError
from gridner.inference import parallel
from gridner.inference.parallel import PredictionTask, predict_in_processes
from gridner.inference.resumable import PartialPredictions
from support.many_documents import Deadly, corpus, same_answers


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "CHUNK_CHARACTERS", 200)


@pytest.mark.usefixtures("small_chunks")
def test_several_processes_find_what_one_finds(exported: Path) -> None:
    task = PredictionTask(model=exported, threshold=0.3, types=("Sign",), max_gap=3, threads=1)
    alone, parted = Notes(), Notes()
    sentences = []
    expected = list(task.predict(task.load(), corpus(12), notes=alone))
    same_answers(
        predict_in_processes(task, corpus(12), workers=2, notes=parted, each=lambda: sentences.append(1)), expected
    )
    assert {what: count for what, count, _ in parted} == {what: count for what, count, _ in alone}
    assert len(sentences) >= 24


@pytest.mark.usefixtures("small_chunks")
def test_a_process_that_dies_loses_nothing(exported: Path, tmp_path: Path) -> None:
    deadly = Deadly(model=exported, threads=1, victim="d7", marker=tmp_path / "died")
    same_answers(
        predict_in_processes(deadly, corpus(12), workers=2, notes=Notes()), load(exported, threads=1).pipe(corpus(12))
    )
    assert (tmp_path / "died").exists()


def test_a_process_that_dies_again_and_again_is_an_error(exported: Path) -> None:
    with pytest.raises(GridnerError, match=r"processes died 4 times in a row, at work on d0"):
        list(predict_in_processes(Deadly(model=exported, victim="d0"), corpus(2), workers=1, notes=Notes()))


def test_an_error_of_the_model_is_raised_unchanged(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="nowhere"):
        list(predict_in_processes(PredictionTask(model=tmp_path / "nowhere"), corpus(2), workers=1, notes=Notes()))


def run(*arguments: object, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gridner", "predict", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, input=stdin)


def test_an_interrupted_run_resumes(exported: Path, tmp_path: Path) -> None:
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
    assert "from an interrupted prediction; pass --resume to continue it" in again.stderr
    other = run(*common, "--output", tmp_path / "out.jsonl", "--resume", "--threshold", "0.9")
    assert other.returncode == 2
    assert "threshold was None; resume with the same options" in other.stderr
    more = run(*common, "--output", tmp_path / "out.jsonl", "--resume", "--workers", "2")
    assert more.returncode == 0, more.stderr
    assert "documents already done" in more.stderr
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
    with pytest.raises(KeyboardInterrupt), PartialPredictions(tmp_path / "out", {}, resume=False, notes=notes) as kept:
        list(kept.add(corpus(1)))
        raise KeyboardInterrupt
    later = Notes()
    with PartialPredictions(tmp_path / "out", {}, resume=True, notes=later) as kept:
        assert list(kept.done) == ["d0"]
        list(kept.add(corpus(2)[1:]))
        assert [one.id for one in kept.documents()] == ["d0", "d1"]
    assert list(later) == [("cut", 1, ["d0"])]
    assert not list(tmp_path.iterdir())


def test_a_resumed_run_counts_a_bad_record_once(exported: Path, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('bad\n{"id": "../d", "text": "Pain in left arm."}\n')
    common = ["--input", tmp_path / "in.jsonl", "--lenient", "--model", exported, "--output", tmp_path / "out"]
    failed = run(*common, "--to", "brat")  # which cannot write a document of that id
    assert failed.returncode == 2
    assert "out.part; pass --resume to continue" in failed.stderr
    done = run(*common, "--to", "jsonl", "--resume")
    assert done.returncode == 0, done.stderr
    assert "1 document already done" in done.stderr
    assert "1 × bad record skipped" in done.stderr


def test_a_run_that_was_killed_while_it_wrote_its_settings_can_be_started_again(tmp_path: Path) -> None:
    (tmp_path / "out.part").mkdir()
    (tmp_path / "out.part" / "settings.json.part").write_text('{"model')
    for resume in (False, True):
        with PartialPredictions(tmp_path / "out", {}, resume=resume, notes=Notes()) as kept:
            assert not kept.done
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_ours_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "out.part").mkdir()
    (tmp_path / "out.part" / "mine").write_text("mine")
    with pytest.raises(OutputError, match="--resume"):
        PartialPredictions(tmp_path / "out", {}, resume=False, notes=Notes())
    with pytest.raises(FormatError, match=r"no settings\.json"):
        PartialPredictions(tmp_path / "out", {}, resume=True, notes=Notes())
    assert (tmp_path / "out.part" / "mine").exists()


def test_nothing_is_left_when_nothing_was_done(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="bad"), PartialPredictions(tmp_path / "out", {}, resume=False, notes=Notes()):
        raise ValueError("bad")
    assert not list(tmp_path.iterdir())


def test_only_one_process_writes_an_output(exported: Path, tmp_path: Path) -> None:
    write(corpus(2), tmp_path / "in.jsonl")
    common = ["--input", tmp_path / "in.jsonl", "--model", exported, "--output", tmp_path / "out.jsonl"]
    with PartialPredictions(tmp_path / "out.jsonl", {}, resume=False, notes=Notes()):
        for more in ([], ["--resume"]):
            done = run(*common, *more)
            assert done.returncode == 2
            assert "out.jsonl: another process writes it" in done.stderr
            assert len(done.stderr.splitlines()) == 1
        with pytest.raises(InUseError):
            PartialPredictions(tmp_path / "out.jsonl", {}, resume=True, notes=Notes())
    assert run(*common).returncode == 0


def test_what_another_process_keeps_is_not_removed(tmp_path: Path) -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        PartialPredictions(tmp_path / "out", {}, resume=False, notes=Notes()) as kept,
    ):
        with pytest.raises(InUseError):
            PartialPredictions(tmp_path / "out", {}, resume=False, notes=Notes())
        list(kept.add(corpus(1)))
        raise KeyboardInterrupt
    with PartialPredictions(tmp_path / "out", {}, resume=True, notes=Notes()) as kept:
        assert list(kept.done) == ["d0"]


def interrupted(tmp_path: Path, count: int) -> Path:
    """An output of which some documents are done."""
    with (
        pytest.raises(KeyboardInterrupt),
        PartialPredictions(tmp_path / "out", {}, resume=False, notes=Notes()) as kept,
    ):
        list(kept.add(corpus(count)))
        raise KeyboardInterrupt
    return tmp_path / "out"


def test_documents_that_are_done_are_not_done_again(tmp_path: Path) -> None:
    with PartialPredictions(interrupted(tmp_path, 3), {}, resume=True, notes=Notes()) as kept:
        assert [one.id for one in kept.left(corpus(5))] == ["d3", "d4"]
    with PartialPredictions(interrupted(tmp_path, 3), {}, resume=True, notes=Notes()) as kept:
        assert not list(kept.left(corpus(3)))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda before: [before[0], replace(before[1], text="Another text."), *before[2:]],
            "document d1 has changed since",
        ),
        (lambda before: [before[0], replace(before[1], meta={"a": 1}), *before[2:]], "document d1 has changed since"),
        (lambda before: [before[0], *before[2:]], "document d2 is in the place of document d1, which is finished"),
        (lambda before: [replace(before[0], id="new"), *before], "document new is in the place of document d0"),
        (lambda before: before[:2], "document d2 is finished and no longer in the input"),
    ],
)
def test_an_input_that_has_changed_is_refused_and_the_document_named(tmp_path: Path, change: Any, said: str) -> None:
    output = interrupted(tmp_path, 3)
    changed = change(corpus(5))
    refused = pytest.raises(OutputError, match=f"the input has changed: {said}")
    with refused, PartialPredictions(output, {}, resume=True, notes=Notes()) as kept:
        list(kept.left(changed))
    with PartialPredictions(output, {}, resume=True, notes=Notes()) as kept:
        assert [one.id for one in kept.left(corpus(4))] == ["d3"]


def test_entities_of_the_input_do_not_matter_as_they_are_replaced(tmp_path: Path) -> None:
    output = interrupted(tmp_path, 2)
    entity = Entity("Sign", (Fragment(0, 4),))
    with PartialPredictions(output, {}, resume=True, notes=Notes()) as kept:
        assert not list(kept.left([replace(one, entities=(entity,)) for one in corpus(2)]))


def test_documents_that_are_done_may_be_compared_in_any_order(tmp_path: Path) -> None:
    output = interrupted(tmp_path, 3)
    refused = pytest.raises(OutputError, match="document d0 is finished and no longer in the input")
    with refused, PartialPredictions(output, {}, resume=True, notes=Notes()) as kept:
        kept.check_all(reversed(corpus(3)))
        kept.check_all(corpus(3)[1:])


def test_damaged_predictions_are_named(tmp_path: Path) -> None:
    output = interrupted(tmp_path, 2)
    documents = tmp_path / "out.part" / "documents.jsonl"
    documents.write_bytes(documents.read_bytes().replace(b'"id"', b'"id', 1))
    with pytest.raises(FormatError, match=r"documents\.jsonl:1: damaged"):
        PartialPredictions(output, {}, resume=True, notes=Notes())


def test_a_command_resumes_only_what_it_began(exported: Path, tmp_path: Path) -> None:
    lexicon = tmp_path / "names.tsv"
    lexicon.write_text("Drug\tzyrtec\n")
    lines = [json.dumps({"id": one.id, "text": one.text}) for one in corpus(300)]
    common = ["-", "--model", exported, "--threads", 1, "--lexicon", lexicon, "--output", tmp_path / "out.jsonl"]
    failed = run(*common, stdin="\n".join([*lines, "bad"]))
    assert failed.returncode == 2
    assert "partial predictions are kept in out.jsonl.part; pass --resume to continue" in failed.stderr
    other = [*lines[:3], lines[3].replace("pain", "ache").replace("Pain", "Ache"), *lines[4:]]
    changed = run(*common, "--resume", stdin="\n".join(other))
    assert changed.returncode == 2
    assert "the input has changed: document d3 has changed since" in changed.stderr
    lexicon.write_text("Drug\tzyrtec\nSign\tache\n")
    names = run(*common, "--resume", stdin="\n".join(lines))
    assert names.returncode == 2
    assert "out.jsonl.part: a different lexicon; resume with the same options" in names.stderr
    lexicon.write_text("Drug\tzyrtec\n")
    done = run(*common, "--resume", stdin="\n".join(lines))
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["id"] for line in (tmp_path / "out.jsonl").read_text().splitlines()] == [
        one.id for one in corpus(300)
    ]
