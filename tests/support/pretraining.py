"""Small runs of gridner pretrain: an encoder, a text, a task."""

from pathlib import Path
from random import Random
from typing import Any

import torch
import transformers
from safetensors.torch import load_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from gridner.pretraining import PretrainingTask, Settings
from gridner.pretraining.text import Source

WORDS = [f"{a}{b}" for a in ("pa", "fe", "na", "ra", "si") for b in ("in", "ver", "sea", "sh", "gn", "me")]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = [*SPECIAL, *WORDS[:20], "pa", "fe", "na", "ra", "si", "##in", "##ver", "##sea", "##sh", "##gn", "##me"]


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


def task(folder: Path, output: str = "out", **changes: Any) -> PretrainingTask:
    folder.mkdir(exist_ok=True)
    model, words = folder / "encoder", folder / "text.txt"
    if not model.exists():
        encoder(model)
        text(words)
    settings = {"steps": 12, "length": 32, "batch": 8, "micro_batch": 4, "rate": 3e-3, "looks": 3} | changes
    return PretrainingTask(
        encoder=str(model), sources=[Source(words)], output=folder / output, settings=Settings(**settings), device="cpu"
    )


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")
