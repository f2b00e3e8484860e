import hashlib
import json
import os
import re
import signal
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from gridner.errors import Notes
from gridner.model.language_model import load_language_model, load_tokenizer
from gridner.pretraining import pretrain
from gridner.pretraining.network import Start, start_of
from gridner.pretraining.vocabulary import chosen_pieces, with_pieces
from gridner.training.interruption import Stopped
from gridner.training.snapshot import State
from support.pretraining import PIECES, task, weights


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@dataclass
class StopAt:
    """Asks to stop after a step, as a signal does."""

    step_number: int = -1
    losses: list[float] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)

    def begin(self, state: State, steps: int) -> None:
        self.starts.append(state.step)

    def step(self, state: State, steps: int, loss: float) -> None:
        self.losses.append(loss)
        if state.step == self.step_number:
            os.kill(os.getpid(), signal.SIGTERM)

    def look(self, state: State, steps: int) -> None: ...


def embeddings(start: Start) -> torch.Tensor:
    model: Any = start.network.model
    table: torch.Tensor = model.get_input_embeddings().weight
    return table


def test_perplexity_falls(tmp_path: Path) -> None:
    facts = pretrain(task(tmp_path, steps=400, rate=1e-2))
    scores = [row["perplexity"] for row in facts["history"]]
    assert len(scores) == 4
    assert scores[-1] < 0.7 * scores[0]


@pytest.mark.parametrize("dropout", [False, True])
@pytest.mark.parametrize("stop", [1, 5, 8])
def test_a_stopped_run_resumes_to_identical_weights(tmp_path: Path, stop: int, dropout: bool) -> None:
    whole = StopAt()
    pretrain(task(tmp_path, dropout=dropout), watcher=whole)
    parts = StopAt(stop)
    again = task(tmp_path, "again", dropout=dropout)
    with pytest.raises(Stopped):
        pretrain(again, watcher=parts)
    assert not (tmp_path / "again" / "model.safetensors").exists()
    rest = StopAt()
    facts = pretrain(again, watcher=rest, resume=True)
    assert rest.starts == [stop]
    assert parts.losses + rest.losses == whole.losses
    one, other = weights(tmp_path / "out"), weights(tmp_path / "again")
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)
    before = json.loads((tmp_path / "out" / "pretraining.json").read_text())["history"]
    assert [row["perplexity"] for row in before] == [row["perplexity"] for row in facts["history"]]


class Killed(BaseException):
    """Ends a run at once, as a kill does."""


class KillAt(StopAt):
    """Ends the run after a step, without a word."""

    def step(self, state: State, steps: int, loss: float) -> None:
        self.losses.append(loss)
        if state.step == self.step_number:
            raise Killed


@pytest.mark.parametrize(("minutes", "resumed_at"), [(0.0, 6), (100.0, 0)])
def test_a_killed_run_resumes_from_its_last_snapshot_to_identical_weights(
    tmp_path: Path, minutes: float, resumed_at: int
) -> None:
    pretrain(task(tmp_path))
    again = task(tmp_path, "again", snapshot_minutes=minutes)
    with pytest.raises(Killed):
        pretrain(again, watcher=KillAt(7))
    rest = StopAt()
    pretrain(again, watcher=rest, resume=True)
    assert rest.starts == [resumed_at]
    one, other = weights(tmp_path / "out"), weights(tmp_path / "again")
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_the_card_has_hashes_licences_and_perplexities_and_no_text(tmp_path: Path) -> None:
    one = replace(task(tmp_path), licences=["notes: CC BY 4.0"], command="gridner pretrain …")
    facts = pretrain(one)
    folder = tmp_path / "out"
    card = (folder / "README.md").read_text(encoding="utf-8")
    first, last = facts["history"][0]["perplexity"], facts["history"][-1]["perplexity"]
    assert f"{first:.2f} before, {last:.2f} after" in card
    assert "- notes: CC BY 4.0" in card
    assert hashlib.sha256((tmp_path / "text.txt").read_bytes()).hexdigest()[:16] in card
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "log.csv").read_text().startswith("step,rows,perplexity,seconds")
    words = set((tmp_path / "text.txt").read_text().split()) - {"name"}  # which is a key, too
    for name in ("README.md", "pretraining.json", "log.csv"):
        assert not words & set(re.findall(r"\w+", (folder / name).read_text(encoding="utf-8")))
    assert not (folder / "snapshot").exists()


def test_new_pieces_are_the_frequent_cut_words_and_start_as_the_mean_of_their_pieces(tmp_path: Path) -> None:
    one = task(tmp_path, new_pieces=4, steps=1)
    start = start_of(one.encoder, dropout=False, seed=1, notes=Notes())
    folder = tmp_path / "kept"
    folder.mkdir()
    notes = Notes()
    found = chosen_pieces(folder, one.sources, start.pieces, wanted=4, identity={}, notes=notes)
    counts = Counter(one.sources[0].path.read_text(encoding="utf-8").split())
    assert [piece.word for piece in found] == [word for word, _ in counts.most_common() if word not in PIECES][:4]
    before = embeddings(start).detach().clone()
    after = with_pieces(start, found)
    table = embeddings(after)
    for number, piece in enumerate(found, start=len(PIECES)):
        assert after.pieces.tokenizer.encode(piece.word, add_special_tokens=False).ids == [number]
        assert torch.equal(table[number], before[list(piece.pieces)].mean(dim=0))
    assert not list(notes)


def test_an_encoder_with_new_pieces_loads_and_a_stopped_run_resumes_with_them(tmp_path: Path) -> None:
    pretrain(task(tmp_path, new_pieces=4))
    again = task(tmp_path, "again", new_pieces=4)
    with pytest.raises(Stopped):
        pretrain(again, watcher=StopAt(5))
    facts = pretrain(again, resume=True)
    assert facts["new_pieces"] == 4
    one, other = weights(tmp_path / "out"), weights(tmp_path / "again")
    assert all(torch.equal(one[name], other[name]) for name in one)
    tokenizer = load_tokenizer(str(tmp_path / "out"))
    assert tokenizer.get_vocab_size() == len(PIECES) + 4
    assert load_language_model(str(tmp_path / "out")).config.vocab_size == len(PIECES) + 4  # type: ignore[union-attr]
    theirs = transformers.AutoTokenizer.from_pretrained(str(tmp_path / "out"))
    assert len(theirs) == len(PIECES) + 4
    assert "4 frequent words of the text are new pieces" in (tmp_path / "out" / "README.md").read_text()


def test_words_too_rare_for_new_pieces_are_counted(tmp_path: Path) -> None:
    notes = Notes()
    facts = pretrain(task(tmp_path, new_pieces=1000, steps=1), notes=notes)
    assert facts["new_pieces"] == 10
    assert [(what, count) for what, count, _ in notes] == [
        ("new piece wanted, but no other word of several pieces occurs 20 times", 990)
    ]
