"""An encoder with the head of its masked-language-model training, from a folder and back to one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from gridner.errors import Notes, UsageError
from gridner.inference.word_pieces import PieceTokenizer
from gridner.model.encoder_files import DOWNLOADED, encoder_path
from gridner.model.language_model import load_masked_model, load_tokenizer, max_pieces, quiet

MASKS = ("[MASK]", "<mask>")
OLD_VOCABULARY = ("tokenizer.json", "vocab.txt")  # not copied if there are new pieces
UNSEEN = 0.5  # times that a piece which the text does not have counts as seen


class MaskedModel(nn.Module):
    """A masked language model of transformers that scores the hidden places only: the head costs a seventh."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, pieces: Tensor, places: Tensor) -> Tensor:
        """Return scores [m, vocabulary] at the places [m] of the flattened pieces [B, p]."""

        def gather(_module: nn.Module, _inputs: object, output: Any) -> Any:
            states = output[0]
            output.last_hidden_state = states.reshape(-1, states.shape[-1])[places].unsqueeze(0)
            return output

        hook = self.encoder.register_forward_hook(gather)
        try:
            scores: Tensor = self.model(input_ids=pieces).logits
        finally:
            hook.remove()
        return scores.squeeze(0)

    @property
    def encoder(self) -> nn.Module:
        """The network below the head."""
        return self.model.base_model  # type: ignore[return-value]

    def fresh_parameters(self) -> set[nn.Parameter]:
        """Return the parameters of the head alone. Its output layer shares the embeddings of the pieces."""
        return set(self.model.parameters()) - set(self.encoder.parameters())


@dataclass(frozen=True, slots=True)
class Start:
    """The network and tokenizer that a pretraining starts from."""

    folder: Path
    network: MaskedModel
    pieces: PieceTokenizer
    mask: int
    special: Sequence[int]
    fresh_head: bool
    settings: dict[str, Any]  # of transformers, as they were read
    new_pieces: int = 0  # that the vocabulary has got


def start_of(name: str, *, dropout: bool, seed: int, notes: Notes) -> Start:
    """Load an encoder by name or folder, with its head or a fresh one that is tied to the embeddings."""
    if name == "tiny":
        raise UsageError("encoder tiny: it takes its vocabulary from a corpus; expected a pretrained encoder")
    folder = encoder_path(name)
    tokenizer = load_tokenizer(name, notes=notes)
    torch.manual_seed(seed)
    model, missing = load_masked_model(name, dropout=dropout)
    pieces = PieceTokenizer(tokenizer, max_pieces=max_pieces(model))
    mask = next((number for each in MASKS if (number := tokenizer.token_to_id(each)) is not None), None)
    if mask is None:
        raise UsageError(f"encoder {name}: its vocabulary has neither {' nor '.join(MASKS)}; choose another encoder")
    special = {number for number, token in tokenizer.get_added_tokens_decoder().items() if token.special}
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return Start(folder, MaskedModel(model), pieces, mask, sorted(special | {mask}), bool(missing), settings)


def set_frequencies(network: MaskedModel, counts: Sequence[int]) -> None:
    """Set the output bias of a fresh head to the log frequency of each piece."""
    output: Any = network.model.get_output_embeddings()  # type: ignore[operator]
    bias = getattr(output, "bias", None)
    if bias is None:
        return
    seen = np.full(len(bias), UNSEEN)
    seen[: len(counts)] += counts
    with torch.no_grad():
        bias.copy_(torch.from_numpy(np.log(seen / seen.sum())).to(bias))


def save_encoder(start: Start, folder: Path) -> None:
    """Write a folder that gridner and transformers load: weights with the head, settings, vocabulary."""
    model: Any = start.network.model
    for pattern in DOWNLOADED:
        for path in start.folder.glob(pattern):
            if path.is_file() and path.name != "config.json" and not path.name.startswith("model"):
                if start.new_pieces and path.name in OLD_VOCABULARY:
                    continue
                shutil.copyfile(path, folder / path.name)
    if not (folder / "tokenizer.json").is_file():
        start.pieces.tokenizer.save(str(folder / "tokenizer.json"))
    for name, value in start.settings.items():
        if "dropout" in name:
            setattr(model.config, name, value)
    try:
        with quiet():
            model.save_pretrained(str(folder))
    except SafetensorError as error:  # a full disk, among others
        raise OSError(str(error)) from None
