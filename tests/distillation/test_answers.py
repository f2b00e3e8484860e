"""Teachers' answers: averaged, kept in a file that can be resumed, and refused if it is not what it should be."""

import json
import resource
from pathlib import Path

import numpy as np
import pytest

from gridner.distillation.answer_file import AnswerFile, AnswerInfo, header_of
from gridner.distillation.collecting import TOO_LONG, chosen_share, collect_answers
from gridner.distillation.sparse_grid import LabelMap, SparseGrid
from gridner.distillation.teachers import Teachers
from gridner.errors import FormatError, Notes, OutputError, UsageError
from gridner.export.onnx import export
from gridner.model.trained_model import TrainedModel
from gridner.text.alignment import Sentence
from support.distillation import LINES, answers, teacher, unlabelled


def test_answers_are_the_mean_of_the_teachers_probabilities(tmp_path: Path) -> None:
    folders = [teacher(tmp_path / "a"), teacher(tmp_path / "b", "candidates"), teacher(tmp_path / "c", "w2ner")]
    sentences = unlabelled()
    together = Teachers.load(folders)
    found = together.answer(sentences, least=0.05)
    total = [np.zeros((len(one.words), len(one.words), len(together.scheme.labels))) for one in sentences]
    for recognizer in together.recognizers:
        labels = LabelMap.between(recognizer.scheme, together.scheme)
        for window in recognizer.score_windows(sentences):
            at = np.ix_(window.candidates, window.candidates)
            total[window.sentence][at] += labels.dense(window.tags) / 3
    for grid, wanted in zip(found, total, strict=True):
        assert grid is not None
        np.testing.assert_allclose(
            grid.dense(len(together.scheme.labels)), np.where(wanted >= 0.05, wanted, 0), atol=1e-6
        )


def test_a_file_gives_back_words_and_probabilities(tmp_path: Path) -> None:
    folder = teacher(tmp_path / "a")
    info = AnswerInfo.read(answers(tmp_path / "file.jsonl", [folder]))
    file = AnswerFile(info)
    wanted = Teachers.load([folder]).answer(unlabelled(), least=0.05)
    assert len(file) == len(unlabelled())
    for number in reversed(range(len(file))):  # in any order
        grid = wanted[number]
        assert grid is not None
        assert file[number].words == tuple(word.text for word in unlabelled()[number].words)
        assert (file[number].grid.cells == grid.cells).all()
        np.testing.assert_allclose(file[number].grid.probabilities, grid.probabilities, atol=1e-4)


def test_an_exported_teacher_says_the_same(tmp_path: Path) -> None:
    folder = teacher(tmp_path / "torch", "candidates")
    export(TrainedModel.load(folder), tmp_path / "onnx")
    one, other = (Teachers.load([place]).answer(unlabelled(), least=0.3) for place in (folder, tmp_path / "onnx"))
    for grid, same in zip(one, other, strict=True):
        assert isinstance(grid, SparseGrid)
        assert isinstance(same, SparseGrid)
        np.testing.assert_allclose(grid.dense(6), same.dense(6), atol=1e-4)


@pytest.mark.parametrize("torn", [b"", b'{"words":["Pa', b'{"sentences":3,"sha256":"0","notes":[]}\n'])
def test_an_interrupted_run_resumes_to_the_same_file(
    tmp_path: Path, torn: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gridner.distillation.collecting.MOST_SENTENCES", 1)
    folder = teacher(tmp_path / "a")
    whole = answers(tmp_path / "whole.jsonl", [folder]).read_bytes()
    teachers = Teachers.load([folder])
    header = header_of(teachers.scheme, least=0.05, share=1.0, text=[], teachers=teachers.fingerprints)
    path = tmp_path / "again.jsonl"
    asked: list[Sentence] = []

    def until_third(self: Teachers, sentences: list[Sentence], *, least: float) -> list[SparseGrid | None]:
        if len(asked) == 3:
            raise KeyboardInterrupt
        asked.extend(sentences)
        return answer(self, sentences, least=least)

    answer = Teachers.answer
    monkeypatch.setattr(Teachers, "answer", until_third)
    with pytest.raises(KeyboardInterrupt):
        collect_answers(path, header, unlabelled(), teachers, notes=Notes())
    assert not path.exists()
    part = tmp_path / "again.jsonl.part" / "answers.jsonl"
    with open(part, "ab") as file:
        file.write(torn)
    monkeypatch.setattr(Teachers, "answer", answer)
    collect_answers(path, header, unlabelled(), teachers, notes=Notes())
    assert path.read_bytes() == whole
    assert not part.parent.exists()


def test_answers_that_another_run_left_are_not_mixed(tmp_path: Path) -> None:
    part = tmp_path / "file.jsonl.part"
    part.mkdir()
    (part / "answers.jsonl").write_text('{"format":"gridner answers 1"}\n{}\n')
    with pytest.raises(OutputError, match=r"file\.jsonl\.part: answers about other text, or of other teachers"):
        answers(tmp_path / "file.jsonl", [teacher(tmp_path / "a")])
    assert (part / "answers.jsonl").read_text().endswith("{}\n")


def test_a_sentence_longer_than_a_window_is_left_out_and_counted(tmp_path: Path) -> None:
    notes = Notes()
    lines = [LINES[0], "pain and " * 120 + "fever", LINES[1]]
    info = AnswerInfo.read(answers(tmp_path / "file.jsonl", [teacher(tmp_path / "a")], lines=lines, notes=notes))
    assert [(what, count) for what, count, _ in notes] == [(TOO_LONG, 1)]
    assert list(info.notes[0][:2]) == [TOO_LONG, 1]
    assert [len(AnswerFile(info)[number].words) for number in range(2)] == [8, 7]


def damaged(path: Path, how: str) -> None:
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    first = json.loads(lines[1])
    if how == "cut off":
        lines = lines[:-1]
    elif how == "half a line":
        lines[-1] = lines[-1][:20]
    elif how == "another word":
        lines[1] = lines[1].replace("Pain", "Gain")
    elif how == "a sentence missing":
        del lines[2]
    elif how == "outside":
        lines[1] = json.dumps({**first, "cells": [[0, 99, 0, 0.5]]}) + "\n"
    elif how == "certain":
        lines[1] = json.dumps({**first, "cells": [[0, 0, 0, 1.0]]}) + "\n"
    elif how == "not answers":
        lines = ["Pain in arm.\n"]
    elif how == "binary":
        path.write_bytes(bytes(range(256)) * 100)
        return
    path.write_text("".join(lines), encoding="utf-8")


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("cut off", "truncated, its last line is missing; copy it again"),
        ("half a line", "truncated, its last line is missing; copy it again"),
        ("another word", "damaged, its hash differs from that in its last line; copy it again"),
        ("a sentence missing", "make the file again with gridner distill"),
        ("outside", "file.jsonl:2: a cell outside the grid; make the file again with gridner distill"),
        ("certain", "file.jsonl:2: a probability that is not between 0 and 1"),
        ("not answers", "not a file of teachers' answers; make one with gridner distill"),
        ("binary", "not a file of teachers' answers; make one with gridner distill"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, how: str, said: str) -> None:
    path = answers(tmp_path / "file.jsonl", [teacher(tmp_path / "a")])
    damaged(path, how)
    with pytest.raises(FormatError) as error:
        AnswerFile(AnswerInfo.read(path))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_teachers_must_know_the_same_types_and_differ(tmp_path: Path) -> None:
    one, grouped = teacher(tmp_path / "a"), teacher(tmp_path / "groups", "groups")
    with pytest.raises(UsageError, match="types by corpus a, b, which differ"):
        Teachers.load([one, grouped])
    with pytest.raises(UsageError, match="the same model twice"):
        Teachers.load([one, one])


def test_a_share_of_the_sentences_is_the_same_in_every_run() -> None:
    sentences = unlabelled(f"Word{number} hurts." for number in range(500))
    some = list(chosen_share(sentences, 0.3))
    assert some == list(chosen_share(sentences, 0.3))
    assert 100 < len(some) < 200
    assert list(chosen_share(sentences, 1.0)) == sentences


def test_a_full_disk_loses_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gridner.distillation.collecting.MOST_SENTENCES", 1)
    folder = teacher(tmp_path / "a")
    whole = answers(tmp_path / "whole.jsonl", [folder]).read_bytes()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) // 2, before[1]))
    try:
        with pytest.raises(OutputError, match="cannot be written"):
            answers(tmp_path / "again.jsonl", [folder])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not (tmp_path / "again.jsonl").exists()
    assert len((tmp_path / "again.jsonl.part" / "answers.jsonl").read_bytes()) > len(whole) // 4
    assert answers(tmp_path / "again.jsonl", [folder]).read_bytes() == whole
