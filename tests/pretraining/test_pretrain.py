import json
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from gridner.pretraining import Settings, Task, pretrain
from gridner.pretraining.text import Source
from gridner.training.interruption import Stopped
from gridner.training.snapshot import State

WORDS = [f"{a}{b}" for a in ("pa", "fe", "na", "ra", "si") for b in ("in", "ver", "sea", "sh", "gn", "me")]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = [*SPECIAL, *WORDS[:20], "pa", "fe", "na", "ra", "si", "##in", "##ver", "##sea", "##sh", "##gn", "##me"]


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def encoder(folder: Path, *, dropout: float = 0.1) -> Path:
    """A tiny BERT without a head."""
    tokenizer = Tokenizer(models.WordPiece({piece: n for n, piece in enumerate(PIECES)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    folder.mkdir(parents=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=len(PIECES),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        hidden_dropout_prob=dropout,
    )
    transformers.BertModel(config, add_pooling_layer=False).save_pretrained(folder)  # type: ignore[no-untyped-call]
    return folder


def text(path: Path, *, lines: int = 300, seed: int = 0) -> Path:
    """Lines in which each word tells the topic of the others."""
    random = Random(seed)
    found = []
    for _ in range(lines):
        topic = random.randrange(5)
        found.append(" ".join(random.choice(WORDS[6 * topic : 6 * topic + 6]) for _ in range(random.randint(20, 40))))
    path.write_text("\n".join(found) + "\n", encoding="utf-8")
    return path


def task(folder: Path, output: str = "out", **changes: Any) -> Task:
    folder.mkdir(exist_ok=True)
    model, words = folder / "encoder", folder / "text.txt"
    if not model.exists():
        encoder(model)
        text(words)
    settings = {"steps": 12, "length": 32, "batch": 8, "micro_batch": 4, "rate": 3e-3, "looks": 3} | changes
    return Task(
        encoder=str(model), sources=[Source(words)], output=folder / output, settings=Settings(**settings), device="cpu"
    )


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
            import os
            import signal

            os.kill(os.getpid(), signal.SIGTERM)

    def look(self, state: State, steps: int) -> None: ...


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


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
