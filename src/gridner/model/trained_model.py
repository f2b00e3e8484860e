"""A trained model: save it, load it, share it through the Hugging Face hub, predict with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from huggingface_hub import ModelHubMixin, snapshot_download
from huggingface_hub.errors import HfHubHTTPError
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from gridner.errors import FormatError, GridnerError, OutputError, UsageError, first_line
from gridner.inference.checkpoint import (
    CARD,
    MANIFEST,
    NAMES,
    TOKENIZER,
    WEIGHTS,
    Checkpoint,
    read_checkpoint,
    write_checkpoint,
)
from gridner.inference.engine import GridBatch, WordVectors
from gridner.inference.recognizer import Recognizer
from gridner.inference.word_pieces import PieceBatch, PieceTokenizer
from gridner.model.build import build
from gridner.model.language_model import language_model_from
from gridner.model.toe import Batch, Toe


class TorchEngine:
    """Runs a network with torch, on the network's device. Torch divides a batch among its threads by itself."""

    workers = 1

    def __init__(self, model: Toe) -> None:
        self.model = model.eval()
        self.device = model.convolution.mlp.weight.device

    def to(self, device: torch.device) -> None:
        """Move the network to a device."""
        self.model.to(device)
        self.device = device

    @torch.inference_mode()
    def encode(self, batch: PieceBatch) -> WordVectors:
        """Return the word vectors [B, n, width] of a batch and their excess [B, n]."""
        return WordVectors(*(_array(tensor) for tensor in self.model.read(Batch(*self._tensors(batch)))))

    @torch.inference_mode()
    def tag(self, grid: GridBatch) -> NDArray[np.floating]:
        """Return the scores [B, m, m, labels] of grids over m words."""
        return _array(self.model.tag(*self._tensors(grid))[-1])

    def _tensors(self, arrays: Iterable[NDArray[np.generic]]) -> Iterator[torch.Tensor]:
        return (torch.from_numpy(array).to(self.device) for array in arrays)


def _array(tensor: torch.Tensor) -> NDArray[np.floating]:
    array: NDArray[np.floating] = tensor.float().cpu().numpy()
    return array


class TrainedModel(ModelHubMixin, library_name="gridner", tags=["token-classification", "discontinuous-ner"]):
    """A network, its tokenizer and its manifest, with `save_pretrained`, `from_pretrained` and `push_to_hub`."""

    def __init__(self, model: Toe, checkpoint: Checkpoint, pieces: PieceTokenizer, card: str = "") -> None:
        self.model = model
        self.checkpoint = checkpoint
        self.pieces = pieces
        self.card = card
        self._hub_mixin_config = None  # gridner.json has what the mixin would write

    @classmethod
    def load(cls, directory: str | Path) -> TrainedModel:
        """Load a model from a folder, without network access."""
        checkpoint, pieces = read_checkpoint(directory)
        path = Path(directory) / WEIGHTS
        if checkpoint.exported:
            raise FormatError(
                f"{directory}: an exported model, which can only predict; expected a model with {WEIGHTS}"
            )
        language_model = language_model_from(checkpoint.language_model)
        scheme = checkpoint.scheme
        model = build(
            checkpoint.config.model, language_model=language_model, labels=len(scheme.labels), groups=len(scheme.groups)
        )
        try:
            load_weights(model, load_file(path), where=str(path))
        except SafetensorError as error:
            raise FormatError(f"{path}: {error}, expected safetensors") from None
        card = Path(directory) / CARD
        card_text = card.read_text(encoding="utf-8", errors="replace") if card.is_file() else ""
        return cls(model.eval(), checkpoint, pieces, card_text)

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: str | Path, **options: Any) -> TrainedModel:
        """Load a model from a folder, or from the hub by its name."""
        if Path(pretrained_model_name_or_path).is_dir():
            return cls.load(pretrained_model_name_or_path)
        try:
            return super().from_pretrained(pretrained_model_name_or_path, **options)
        except GridnerError:
            raise
        except (OSError, ValueError, HfHubHTTPError) as error:
            reason = first_line(error)
            raise UsageError(
                f"{pretrained_model_name_or_path}: cannot be loaded ({reason}), expected a folder or a name on the hub"
            ) from None

    def recognizer(self, **decoding: Any) -> Recognizer:
        """Return a recognizer with the model's decoding settings, except those given."""
        return recognizer_of(self.model, self.checkpoint, self.pieces, **decoding)

    def _save_pretrained(self, save_directory: Path) -> None:
        tensors = {name: tensor.contiguous() for name, tensor in self.model.state_dict().items()}

        def write_network(paths: Sequence[Path]) -> None:
            (path,) = paths
            try:
                save_file(tensors, path)
            except SafetensorError as error:
                raise OutputError(f"{path}: cannot be written ({error})") from None

        write_checkpoint(
            save_directory,
            self.checkpoint,
            tokenizer=self.pieces.tokenizer,
            write_network=write_network,
            card=self.card,
        )

    @classmethod
    def _from_pretrained(  # the mixin dictates the arguments
        cls,
        *,
        model_id: str,
        revision: str | None,
        cache_dir: str | Path | None,
        force_download: bool,
        local_files_only: bool,
        token: str | bool | None,
        **_: Any,
    ) -> TrainedModel:
        folder = snapshot_download(
            model_id,
            revision=revision,
            cache_dir=cache_dir,
            force_download=force_download,
            local_files_only=local_files_only,
            token=token,
            allow_patterns=[MANIFEST, TOKENIZER, WEIGHTS, NAMES, CARD],
        )
        return cls.load(folder)


def recognizer_of(model: Toe, checkpoint: Checkpoint, pieces: PieceTokenizer, **decoding: Any) -> Recognizer:
    """Return a recognizer that runs the network with torch, with the model's decoding settings except those given."""
    return Recognizer.from_checkpoint(checkpoint, engine=TorchEngine(model), tokenizer=pieces, **decoding)


def load_weights(model: torch.nn.Module, tensors: Mapping[str, torch.Tensor], *, where: str) -> None:
    """Load tensors into a network. Raise FormatError unless names and shapes match exactly."""
    own = model.state_dict()
    for name in sorted(own.keys() | tensors.keys()):
        found = tuple(tensors[name].shape) if name in tensors else None
        expected = tuple(own[name].shape) if name in own else None
        if found != expected:
            raise FormatError(f"{where}: {name} has shape {found}, expected {expected}")
    model.load_state_dict(dict(tensors))
