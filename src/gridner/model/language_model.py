"""Language models and their tokenizers: pretrained ones by name, saved ones by their settings, and a tiny one.

gridner reads no pickle and runs no code that comes with a model.
"""

from __future__ import annotations

import importlib.util
import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import transformers
from tokenizers import Tokenizer
from torch import nn

from gridner.errors import FormatError, Notes, UsageError, first_line
from gridner.inference.word_pieces import PieceTokenizer
from gridner.model.encoder_files import encoder_path, has_file
from gridner.model.tokenizer import SPECIAL, tiny_tokenizer, with_capitals, with_word_starts

__all__ = [
    "language_model_config",
    "language_model_from",
    "load_language_model",
    "load_masked_model",
    "load_tokenizer",
    "max_pieces",
    "quiet",
    "tiny_language_model",
    "tiny_tokenizer",
]

# Settings that name code or a precision. gridner always uses the code of transformers and float32.
IGNORED_SETTINGS = {"auto_map", "attn_implementation", "quantization_config", "dtype", "torch_dtype"}
OWN_CODE = "it comes with its own code, which gridner does not run"

T = TypeVar("T")


def load_language_model(name: str) -> nn.Module:
    """Return a pretrained encoder by name or folder, without its pooler, in float32."""
    folder = encoder_path(name)
    with _errors_as_usage(f"encoder {name}: cannot be loaded"), quiet():
        config = _configuration(_read_settings(folder))
        model, report = _without_pooler(
            lambda **options: transformers.AutoModel.from_pretrained(
                str(folder),
                config=config,
                use_safetensors=True,
                local_files_only=True,
                trust_remote_code=False,
                output_loading_info=True,
                **options,
            )
        )
        _check_none_missing([key for key in report["missing_keys"] if "pooler" not in key], config)
        loaded: nn.Module = model.float()
    return loaded


def load_masked_model(name: str, *, dropout: bool) -> tuple[nn.Module, list[str]]:
    """Return a pretrained encoder with its masked-language-model head, in float32, and the names of missing weights.

    Only weights of the head may be missing; they are initialized from torch's seed. `dropout=False` turns dropout off.
    """
    folder = encoder_path(name)
    with _errors_as_usage(f"encoder {name}: cannot be loaded for masked-language-model training"), quiet():
        config = _configuration(_read_settings(folder))
        for key in [] if dropout else [key for key in config.to_dict() if "dropout" in key]:
            setattr(config, key, 0.0 if isinstance(getattr(config, key), float) else getattr(config, key))
        if type(config) not in transformers.MODEL_FOR_MASKED_LM_MAPPING:
            raise ValueError(f"transformers has no head for a {config.model_type}")
        model, report = transformers.AutoModelForMaskedLM.from_pretrained(
            str(folder),
            config=config,
            use_safetensors=True,
            local_files_only=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
        encoder_keys = {f"{model.base_model_prefix}.{key}" for key in model.base_model.state_dict()}
        _check_none_missing([key for key in report["missing_keys"] if key in encoder_keys], config)
        model.tie_weights()
    return model.float(), sorted(report["missing_keys"])


def load_tokenizer(name: str, *, notes: Notes | None = None) -> Tokenizer:
    """Return the tokenizer of an encoder, adapted to text that is already split into words."""
    folder = encoder_path(name)
    with _errors_as_usage(f"encoder {name}: its tokenizer cannot be used"), quiet():
        config = _configuration(_read_settings(folder))
        tokenizer = with_word_starts(_tokenizer_in(folder))
        cased = with_capitals(tokenizer)
        if cased is not None:
            tokenizer = cased
            if notes is not None:
                notes.add(
                    "tokenizer that lowercases although its vocabulary has capitals, lowercasing turned off", name
                )
        padding = PieceTokenizer(tokenizer, max_pieces=512).padding
        if config.pad_token_id not in (None, padding):
            raise ValueError(f"it pads with piece {padding}, but pad_token_id in config.json is {config.pad_token_id}")
        special = {number for number, token in tokenizer.get_added_tokens_decoder().items() if token.special}
        last = max(set(tokenizer.get_vocab().values()) - special)
        if last >= config.vocab_size:
            raise ValueError(f"it has a piece {last}, but vocab_size in config.json is {config.vocab_size}")
    return tokenizer


def max_pieces(language_model: nn.Module) -> int:
    """Return how many pieces the encoder takes, including special ones; 512 if it has no limit of its own."""
    limit = getattr(language_model.config, "max_position_embeddings", None)
    limits = [limit] if isinstance(limit, int) and limit > 0 else []
    for name, module in language_model.named_modules():
        if isinstance(module, nn.Embedding) and name.endswith("position_embeddings"):
            unused = 0 if module.padding_idx is None else module.padding_idx + 1  # RoBERTa and MPNet start there
            limits.append(module.num_embeddings - unused)
    return min(limits, default=512)


def language_model_config(language_model: nn.Module) -> dict[str, Any]:
    """Return the settings of an encoder as plain JSON data for `language_model_from`."""
    settings = language_model.config.to_dict()  # type: ignore[union-attr, operator]
    plain: dict[str, Any] = json.loads(json.dumps(_used_settings(settings)))
    return plain


def language_model_from(config: Mapping[str, Any]) -> nn.Module:
    """Return an encoder of these settings with random weights, drawn from torch's seed."""
    try:
        if "auto_map" in config:
            raise ValueError(OWN_CODE)
        settings = _configuration(config)
        with quiet():
            auto: Any = transformers.AutoModel
            model: nn.Module = _without_pooler(
                lambda **options: auto.from_config(settings, trust_remote_code=False, **options)
            )
    except Exception as error:  # transformers checks settings in many ways
        raise FormatError(f"settings of an encoder: {first_line(error)}") from error
    return model.float()


def tiny_language_model(vocabulary: int) -> nn.Module:
    """Return a two-layer BERT with random weights, drawn from torch's seed."""
    settings = {
        "model_type": "bert",
        "vocab_size": vocabulary,
        "hidden_dropout_prob": 0.0,  # gridner's own dropouts are enough
        "attention_probs_dropout_prob": 0.0,
        "hidden_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 192,
        "pad_token_id": SPECIAL.index("[PAD]"),
    }
    return language_model_from(settings)


def _read_settings(folder: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return data


def _configuration(data: Mapping[str, Any]) -> Any:
    """Return settings as a configuration object of transformers."""
    kind: Any = data.get("model_type")
    if kind not in transformers.CONFIG_MAPPING:
        unknown = f"model_type is {kind!r}, expected one that transformers {transformers.__version__} knows"
        raise ValueError(OWN_CODE if "auto_map" in data else unknown)
    config = transformers.CONFIG_MAPPING[kind].from_dict(_used_settings(data))
    if config.is_encoder_decoder:
        raise ValueError(f"a {kind} has an encoder and a decoder, expected an encoder only")
    return config


def _used_settings(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in IGNORED_SETTINGS and not key.startswith("_")}


def _check_none_missing(keys: Sequence[str], config: Any) -> None:
    """Raise ValueError if weights are missing. transformers would continue with random ones."""
    if keys:
        raise ValueError(f"its weights lack {len(keys)} that a {config.model_type} has, such as {min(keys)}")


def _without_pooler(construct: Callable[..., T]) -> T:
    try:
        return construct(add_pooling_layer=False)
    except TypeError as error:  # an architecture without a pooler
        if "add_pooling_layer" not in str(error):
            raise
        return construct()


def _tokenizer_in(folder: Path) -> Tokenizer:
    path = folder / "tokenizer.json"
    if path.is_file():
        return Tokenizer.from_file(str(path))
    if has_file(folder, ("*.model",)) and importlib.util.find_spec("sentencepiece") is None:
        raise ValueError("it has no tokenizer.json; to convert its vocabulary, pip install sentencepiece protobuf")
    converted = transformers.AutoTokenizer.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
    return Tokenizer.from_str(converted.backend_tokenizer.to_str())


@contextmanager
def _errors_as_usage(problem: str) -> Iterator[None]:
    """Turn the errors of transformers and tokenizers, which are of many kinds, into UsageError."""
    try:
        yield
    except Exception as error:
        raise UsageError(f"{problem} ({first_line(error)})") from error


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the warnings and progress bars of transformers. gridner checks itself what matters in them."""
    logging: Any = transformers.utils.logging
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # torch warns of DeBERTa's code
            yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
