"""Bad input of gridner pretrain: one clear line, exit code 2, and nothing is lost."""

import gzip
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from gridner.cli import main
from gridner.errors import OutputError
from gridner.pretraining import network, pretrain
from gridner.training.snapshot import State
from support.pretraining import encoder, task, text, weights


def refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path, *arguments: object
) -> str:
    """The one line that the command says."""
    output = folder / "out"
    given = ["gridner", "pretrain", *map(str, arguments), "--steps", "1", "--length", "32", "--output", str(output)]
    monkeypatch.setattr(sys, "argv", given)
    capsys.readouterr()
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert not output.exists()
    return said


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"pain\0fever\n" * 100, "text.txt: byte 4 is 0x00; expected text, this is a binary file"),
        (b"pain \xff\xfe fever\n" * 100, "text.txt: near byte 5: 0xff is not UTF-8; convert the text to UTF-8"),
        (b"", "text.txt: no text; expected at least a sentence"),
        (b" \n\t\n\n" * 100, "text.txt: no text; expected at least a sentence"),
        (b"pain " * 10_000, "text.txt: 10,000 pieces, but only 1 different; expected running text"),
    ],
)
def test_text_that_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], data: bytes, said: str
) -> None:
    (tmp_path / "text.txt").write_bytes(data)
    model = encoder(tmp_path / "encoder")
    assert said in refused(monkeypatch, capsys, tmp_path, model, tmp_path / "text.txt")


def test_too_little_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    model, words = encoder(tmp_path / "encoder"), text(tmp_path / "text.txt", lines=1)
    words.write_text(" ".join(words.read_text().split()[:5] + [f"{a}{b}" for a in "pfnrs" for b in "abcde"]))
    assert "expected" in refused(monkeypatch, capsys, tmp_path, model, words)


def test_a_damaged_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    words = text(tmp_path / "text.txt")
    (tmp_path / "cut.txt.gz").write_bytes(gzip.compress(words.read_bytes())[:-20])
    said = refused(monkeypatch, capsys, tmp_path, encoder(tmp_path / "encoder"), tmp_path / "cut.txt.gz")
    assert "cut.txt.gz: a damaged archive" in said


def test_an_encoder_without_a_vocabulary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = encoder(tmp_path / "encoder")
    (model / "tokenizer.json").unlink()
    said = refused(monkeypatch, capsys, tmp_path, model, text(tmp_path / "text.txt"))
    assert "encoder: has no tokenizer.json" in said


class FullDisk:
    """Lets no file grow past some bytes, from a step on."""

    def __init__(self, step: int, most: int) -> None:
        self.from_step, self.most = step, most

    def begin(self, state: State, steps: int) -> None: ...

    def step(self, state: State, steps: int, loss: float) -> None:
        if state.step == self.from_step:
            resource.setrlimit(resource.RLIMIT_FSIZE, (self.most, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

    def look(self, state: State, steps: int) -> None: ...


@pytest.fixture
def sizes_restored() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("step", [5, 12])  # within the run, and at its end
def test_a_full_disk_during_a_snapshot_loses_nothing(tmp_path: Path, sizes_restored: None, step: int) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    pretrain(task(tmp_path))
    again = task(tmp_path, "again", snapshot_minutes=0.0)  # after every step
    with pytest.raises(OutputError, match=r"state\.safetensors: cannot be written"):
        pretrain(again, watcher=FullDisk(step, 10_000))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    pretrain(again, resume=True)
    one, other = weights(tmp_path / "out"), weights(tmp_path / "again")
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_full_disk_while_the_encoder_is_written(
    tmp_path: Path, sizes_restored: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    pretrain(task(tmp_path))
    again = task(tmp_path, "again")
    write = network.save_encoder

    def full(*given: object) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
        write(*given)  # type: ignore[arg-type]

    monkeypatch.setattr("gridner.pretraining.run.save_encoder", full)
    with pytest.raises(OutputError, match=r"again.*: cannot be written"):
        pretrain(again)
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    monkeypatch.undo()
    assert not (tmp_path / "again" / "model.safetensors").exists()
    pretrain(again, resume=True)
    one, other = weights(tmp_path / "out"), weights(tmp_path / "again")
    assert all(torch.equal(one[name], other[name]) for name in one)
