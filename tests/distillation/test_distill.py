"""A student of teachers: what it learns, that it resumes, and what is refused."""

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch

import gridner
from gridner.cli import main
from gridner.config import Config, config_from
from gridner.corpus.splits import Corpus, Part, part_of
from gridner.distillation.answer_file import AnswerInfo
from gridner.errors import Notes, UsageError
from gridner.formats import write
from gridner.inference.checkpoint import read_checkpoint
from gridner.training import train_once
from gridner.training.examples import TrainingSet
from gridner.training.initialization import fresh
from gridner.training.interruption import Stopped
from gridner.training.objective import Objective
from gridner.training.task import TrainingTask
from gridner.training.unlabelled import TOO_LONG, Unlabelled
from support.distillation import answers, teacher, unlabelled
from support.small import documents, part, tiny_config
from support.training import Watch, task, weights


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def student_config(architecture: str = "toe", **settings: Any) -> Config:
    data = tiny_config().to_dict()
    if architecture == "w2ner":
        data["model"] |= {"architecture": "w2ner", "trem": False, "tags": "NNW+THW"}
    else:
        data["model"] |= {"candidates": architecture == "candidates"}
    data["distill"] |= settings
    return config_from(data, "tests")


def typed() -> Part:
    """The notes, with a mention of each type that untrained teachers know."""
    first, *rest = documents()
    drug = replace(first.entities[0], type="Drug")
    return part_of([replace(first, entities=(drug, *first.entities)), *rest], notes=Notes(), name="train")


def student_task(folder: Path, file: Path, config: Config) -> TrainingTask:
    return TrainingTask(config=config, train=typed(), dev=typed(), output=folder, answers=file, command="gridner …")


@pytest.mark.parametrize("architecture", ["toe", "candidates", "w2ner"])
def test_a_stopped_student_resumes_to_identical_weights(tmp_path: Path, architecture: str) -> None:
    file = answers(tmp_path / "answers.jsonl", [teacher(tmp_path / "teacher")])
    config = student_config(architecture, temperature=2.0, share=0.6)
    train_once(student_task(tmp_path / "whole", file, config))
    stopped = student_task(tmp_path / "stopped", file, config)

    with pytest.raises(Stopped):
        train_once(stopped, watcher=Watch(at=3, then=lambda: os.kill(os.getpid(), signal.SIGTERM)))
    facts = train_once(stopped, resume=True)
    assert weights(tmp_path / "stopped") == weights(tmp_path / "whole")
    assert facts["distillation"]["per_step"] == 3
    card = (tmp_path / "whole" / "README.md").read_text(encoding="utf-8")
    assert "## Teachers" in card
    assert "each step had 3 of 5 unlabelled sentences" in card


@pytest.mark.parametrize("architecture", ["candidates", "w2ner"])
def test_a_student_of_several_corpora_learns_all_groups_from_teachers_of_the_same(
    tmp_path: Path, architecture: str
) -> None:
    file = answers(tmp_path / "answers.jsonl", [teacher(tmp_path / "teacher", "groups")])
    config = student_config(architecture)
    several = replace(
        student_task(tmp_path / "student", file, config), name="a", dev=None, more=(Corpus("b", part(), None, None),)
    )
    scheme = several.scheme
    assert [group.types for group in scheme.groups] == [("Drug", "Sign"), ("Sign",)]
    start = fresh(config, scheme, typed().sentences, seed=1, notes=Notes())
    soft = Unlabelled(
        AnswerInfo.read(file), scheme=scheme, pieces=start.pieces, config=config, seed=1, notes=Notes()
    ).step(0)
    loss = Objective(config, scheme, start.pieces)(start.model, soft, torch.device("cpu"))
    loss.backward()  # type: ignore[no-untyped-call]
    head = start.model.candidates
    if head is not None:
        assert head.out.bias.grad is not None
        assert (head.out.bias.grad != 0).all()
    assert torch.isfinite(loss)
    train_once(several)
    with pytest.raises(UsageError, match="types by corpus a, b, which differ from those of the training corpus"):
        train_once(replace(several, output=tmp_path / "other", more=()))


def test_answers_change_what_is_learned_and_are_part_of_a_runs_identity(tmp_path: Path) -> None:
    file = answers(tmp_path / "answers.jsonl", [teacher(tmp_path / "teacher")])
    other = answers(tmp_path / "other.jsonl", [tmp_path / "teacher"], least=0.2)
    done = student_task(tmp_path / "student", file, student_config())
    train_once(done)
    train_once(replace(done, output=tmp_path / "alone", answers=None))
    assert weights(tmp_path / "student") != weights(tmp_path / "alone")
    with pytest.raises(gridner.GridnerError, match=r"a finished run with data\.answers"):
        train_once(replace(done, answers=other), resume=True)


def test_the_loss_of_a_step_is_the_weighted_mean_over_its_cells(tmp_path: Path) -> None:
    config = student_config(weight=3.0, share=0.5)
    scheme = TrainingTask(config=config, train=typed(), output=tmp_path).scheme
    start = fresh(config, scheme, typed().sentences, seed=1, notes=Notes())
    start.model.eval()
    file = AnswerInfo.read(answers(tmp_path / "answers.jsonl", [teacher(tmp_path / "teacher")]))
    soft = Unlabelled(file, scheme=scheme, pieces=start.pieces, config=config, seed=1, notes=Notes()).step(0)
    gold = TrainingSet(
        student_task(tmp_path / "out", file.path, config).corpora, pieces=start.pieces, config=config, notes=Notes()
    ).epoch(1, 0)[0]
    objective = Objective(config, scheme, start.pieces)
    device = torch.device("cpu")
    both = objective(start.model, [*gold, *soft], device)
    apart = objective(start.model, gold, device) + objective(start.model, soft, device)
    assert torch.allclose(both, apart, rtol=1e-4)
    light = Objective(student_config(weight=1.0), scheme, start.pieces)(start.model, soft, device)
    assert torch.allclose(objective(start.model, soft, device), 3 * light, rtol=1e-4)
    cells = sum(one.cells for one in gold), sum(one.cells for one in soft)
    assert objective.weighted_cells([*gold, *soft]) == cells[0] + 3 * cells[1]


def test_steps_read_all_sentences_once_per_pass_and_long_ones_never(tmp_path: Path) -> None:
    lines = [f"Pain in arm {number}." for number in range(7)] + ["pain " * 30 + "stops."]
    file = AnswerInfo.read(answers(tmp_path / "answers.jsonl", [teacher(tmp_path / "teacher")], lines=lines))
    data = student_config(share=0.6).to_dict()
    data["decoding"] |= {"max_words": 20, "overlap": 5}
    config = config_from(data, "tests")
    scheme = TrainingTask(config=config, train=typed(), output=tmp_path).scheme
    start = fresh(config, scheme, typed().sentences, seed=1, notes=Notes())
    notes = Notes()
    found = Unlabelled(file, scheme=scheme, pieces=start.pieces, config=config, seed=1, notes=notes)
    assert [(what, count) for what, count, _ in notes] == [(TOO_LONG, 1)]
    order = [found._shuffled_index(place) for place in range(14)]
    assert sorted(order[:7]) == sorted(order[7:]) == list(range(7))
    assert [example.words for example in found.step(2)] == [found._example(place).words for place in order[6:9]]


def test_a_student_agrees_more_with_its_teacher(tmp_path: Path) -> None:
    """The teacher knows all notes, the student two of them and what the teacher says about other sentences."""
    settings: dict[str, Any] = {"epochs": 20, "encoder_rate": 3e-3, "rate": 1e-2}
    train_once(replace(task(tmp_path / "teacher", **settings), dev=None))
    random = Random(1)
    signs, places = ["Pain", "Swelling", "Nausea"], ["left arm", "right arm", "left knee", "ankles", "legs", "shoulder"]
    lines = [f"{random.choice(signs)} in {' and '.join(random.sample(places, 2))}." for _ in range(50)]
    file = answers(tmp_path / "answers.jsonl", [tmp_path / "teacher"], lines=lines[:40], least=0.01)
    config = tiny_config(**settings)
    config = replace(config, distill=replace(config.distill, share=0.8))
    alone = TrainingTask(config=config, train=part(2), output=tmp_path / "alone")
    train_once(alone)
    train_once(replace(alone, output=tmp_path / "student", answers=file))

    def tags(folder: Path) -> list[Any]:
        recognizer = gridner.load(folder)
        windows = sorted(recognizer.score_windows(unlabelled(lines[40:])), key=lambda window: window.sentence)
        return [window.tags for window in windows]

    def disagreement(folder: Path) -> float:
        pairs = zip(tags(folder), tags(tmp_path / "teacher"), strict=True)
        return float(np.mean([np.abs(one - other).mean() for one, other in pairs]))

    assert disagreement(tmp_path / "student") < 0.5 * disagreement(tmp_path / "alone")


Refused = Callable[..., str]


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Refused:
    """The one line that a command says which is refused."""
    monkeypatch.chdir(tmp_path)
    write(documents(), tmp_path / "corpus", "brat")
    (tmp_path / "text.txt").write_text("Pain in arm.\nNo pain.\n", encoding="utf-8")
    (tmp_path / "other.txt").write_text("Swelling of legs.\n", encoding="utf-8")

    def run(*arguments: str, code: int = 2) -> str:
        monkeypatch.setattr(sys, "argv", ["gridner", "distill", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main()
        said = capsys.readouterr().err
        assert (stopped.value.code or 0) == code, said
        return said

    return run


def test_the_command_asks_once_and_refuses_what_does_not_fit(tmp_path: Path, refused: Refused) -> None:
    train_once(replace(task(tmp_path / "teacher"), config=tiny_config(epochs=1)))
    teacher(tmp_path / "stranger")
    ask = ("teacher", "--text", "text.txt", "--answers", "answers.jsonl", "--only-answers")
    assert "the answers are in answers.jsonl" in refused(*ask, code=0)
    before = (tmp_path / "answers.jsonl").read_bytes()
    assert "asking" not in refused(*ask, code=0)
    assert (tmp_path / "answers.jsonl").read_bytes() == before
    common = ("--train", "corpus", "--dev", "none", "--output", "out")
    assert refused("tiny", "--answers", "answers.jsonl", "--text", "other.txt", *common) == (
        "gridner: answers.jsonl: answers about other text than other.txt; choose another --answers\n"
    )
    assert refused("stranger", "tiny", "--answers", "answers.jsonl", *common) == (
        "gridner: answers.jsonl: answers of other teachers than stranger; choose another --answers\n"
    )
    assert refused("stranger", "tiny", "--text", "text.txt", *common) == (
        "gridner: stranger: types Drug, Sign; expected Sign, those of the training corpus\n"
    )
    assert "not found, and no teachers given to make it" in refused("tiny", "--text", "text.txt", *common)
    assert "no --train or no --output" in refused("teacher", "tiny", "--text", "text.txt")
    assert "distill.weight is 0, expected more than 0" in refused(
        "teacher", "tiny", "--text", "text.txt", "--set", "distill.weight=0", *common
    )
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "out.answers.jsonl").exists()


def test_answers_with_other_types_are_refused(tmp_path: Path) -> None:
    file = answers(tmp_path / "answers.jsonl", [teacher(tmp_path / "teacher")])
    with pytest.raises(UsageError, match="types Drug, Sign; expected Sign, those of the training corpus"):
        train_once(replace(task(tmp_path / "student"), answers=file))
    assert not (tmp_path / "student").exists()


def test_the_command_distils(tmp_path: Path, refused: Refused) -> None:
    train_once(replace(task(tmp_path / "teacher"), config=tiny_config(epochs=1)))
    (tmp_path / "student.toml").write_text(
        '[model]\nencoder = "tiny"\nwidth = 16\nchannels = 4\nrounds = 2\nheads = 2\n[train]\nepochs = 1\n'
        "[distill]\nshare = 0.8\n"
    )
    said = refused(
        *("teacher", "student.toml", "--text", "text.txt", "--train", "corpus", "--dev", "none"),
        *("--output", "out"),
        code=0,
    )
    assert "asking 1 teacher about text.txt" in said
    assert "the model is in out" in said
    assert (tmp_path / "out.answers.jsonl").exists()
    checkpoint, _ = read_checkpoint(tmp_path / "out")
    assert checkpoint.training["distillation"]["text"][0]["name"] == "text.txt"
