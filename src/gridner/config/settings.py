"""Settings: frozen dataclasses, read from TOML. One error reports all problems, with hints for unknown keys."""

from __future__ import annotations

import dataclasses
import difflib
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from gridner.errors import UsageError
from gridner.tagging.tags import TagSet, VoteMode


@dataclass(frozen=True, slots=True)
class Range:
    """The allowed values of a setting: from `low` to `high`, both included unless `above` or `below` is set."""

    low: float
    high: float = math.inf
    above: bool = False  # exclude low itself
    below: bool = False  # exclude high itself

    def __contains__(self, value: float) -> bool:
        return (value > self.low if self.above else value >= self.low) and (
            value < self.high if self.below else value <= self.high
        )

    def __str__(self) -> str:
        low = f"{'more than' if self.above else 'at least'} {self.low:g}"
        if self.high == math.inf:
            return low
        if not self.above and not self.below:
            return f"{self.low:g} to {self.high:g}"
        return f"{low} and {'less than' if self.below else 'at most'} {self.high:g}"


Count = Annotated[int, Range(1)]
Positive = Annotated[float, Range(0, above=True)]
Probability = Annotated[float, Range(0, 1, above=True, below=True)]
Dropout = Annotated[float, Range(0, 0.99)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """The network. Names in brackets are the paper's."""

    architecture: Literal["toe", "w2ner"] = "toe"
    encoder: str = "minilm"  # a folder, a name on the hub, minilm (an installed package), or tiny (random, for tests)
    layers: Count = 1  # average this many of the last layers of the encoder
    tags: TagSet = "NNW+PNW+HTW+THW"
    width: Count = 384  # [d_h], of the BiLSTM and of the words as subjects and objects
    distance_width: Count = 20  # [d_wp]
    region_width: Count = 20  # [d_gp]
    channels: Count = 80  # [d_q], per dilated convolution
    dilations: tuple[int, ...] = (1, 2, 3)
    candidates: bool = False  # build the grid only over words that can be part of an entity
    trem: bool = True
    rounds: Count = 3
    maps: Count = 4  # [M_num]
    map_width: Count = 40  # [d_t]
    heads: Count = 8  # of TREM's attentions
    residual: Literal["words", "tags"] = "words"  # what Eq. 11 adds to: the round's words, or the recovered tags
    hidden: Count = 120  # of MLP_2
    biaffine: Count = 256  # of MLP_3 and MLP_4
    word_dropout: Dropout = 0.5
    grid_dropout: Dropout = 0.5
    trem_dropout: Dropout = 0.1
    predictor_dropout: Dropout = 0.33


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodingConfig:
    """From scores to entities. These settings can change without retraining."""

    links: VoteMode = "T"  # a link between two words needs both of its tags (T) or either one (L)
    ends: VoteMode = "L"  # the same for the pair of head and tail
    threshold: Annotated[float, Range(0, 1, below=True)] = 0.5
    link_threshold: Probability = 0.5  # link probability that counts as 0.5; a lower one gives more recall
    end_threshold: Probability = 0.5  # the same for the pair of head and tail
    name_bonus: Annotated[float, Range(0, 50)] = (
        8.0  # added to the log-odds of the relations of a gazetteer name; 0: no bonus
    )
    k: Count = 8  # mentions at most per head–tail cell and type
    limit: Count = 1000  # mentions at most per sentence
    max_words: Count = 200  # words at most per window
    overlap: Annotated[int, Range(0)] = 50  # words that two windows share


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    """Training: optimizer, choice of the epoch, sampling, device."""

    epochs: Count = 10
    batch_size: Count = 8  # sentences per optimizer step
    cells: Count = 12_000  # grid cells at once, padding included; a larger step is split into micro-batches
    encoder_rate: Positive = 5e-5
    rate: Positive = 1e-3
    warmup: Annotated[float, Range(0, 1, below=True)] = 0.1  # share of the steps
    weight_decay: Annotated[float, Range(0)] = 0.0
    clip: Positive = 5.0
    best_by: Literal["all", "mean"] = (
        "all"  # choose the epoch by the dev F1 of all entities, or by its mean with that of discontinuous entities
    )
    patience: Annotated[int, Range(0)] = (
        0  # stop after this many epochs without a better dev score; 0: never stop early
    )
    frozen_embeddings: bool = False  # do not train the piece embeddings of the encoder: faster, less memory
    empty_share: Annotated[float, Range(0, 1)] = 1.0  # share of the sentences without entities to train on
    discontinuous_times: Count = 1  # repeat sentences with a discontinuous mention this often per epoch
    coordinations: Annotated[float, Range(0, 10)] = 0.0  # synthetic coordinations, per sentence with entities
    every_round: bool = False  # average the loss over all rounds instead of using the last round
    candidate_recall: Annotated[float, Range(0, 1, above=True)] = (
        0.998  # smallest share of the entity words of dev that must be candidates
    )
    tune_thresholds: bool = False  # choose the decoding thresholds on dev after each epoch
    calibrate: bool = True  # after training, map scores to the precision measured on dev
    seeds: tuple[int, ...] = (1,)
    keep_epochs: bool = False  # also keep the model of each epoch, in epochs/1, epochs/2 …
    snapshot_minutes: Positive = 5.0
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    # auto: bf16 on a GPU that has it, else fp32. On a processor with bf16 instructions, bf16 is up to twice as fast.
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class DistillConfig:
    """How a student learns from teachers; only for `gridner distill`."""

    weight: Annotated[float, Range(0, 100, above=True)] = (
        1.0  # weight of an unlabelled cell; labelled cells have weight 1
    )
    share: Annotated[float, Range(0, 0.95, above=True)] = 0.5  # share of unlabelled sentences in a step
    temperature: Annotated[float, Range(0.1, 20)] = 1.0  # above 1, probabilities near 0 and 1 matter more


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """All settings of a run."""

    model: ModelConfig = field(default_factory=ModelConfig)
    decoding: DecodingConfig = field(default_factory=DecodingConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    distill: DistillConfig = field(default_factory=DistillConfig)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as in a TOML or JSON file."""
        return dataclasses.asdict(self)


def read_config(source: str | Path, settings: Iterable[str] = ()) -> Config:
    """Read a TOML file or a preset, such as "craft", and apply changes of the form `section.key=value`."""
    path = Path(source)
    shipped = resources.files("gridner.config") / "presets"
    try:
        if path.is_file():
            text = path.read_text(encoding="utf-8")
        elif (shipped / f"{path.name.removesuffix('.toml')}.toml").is_file() and len(path.parts) == 1:
            text = (shipped / f"{path.name.removesuffix('.toml')}.toml").read_text(encoding="utf-8")
        else:
            names = sorted(file.name for file in shipped.iterdir() if file.name.endswith(".toml"))
            raise UsageError(f"{source}: not found, expected a file or one of {', '.join(names)}")
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{source}: {error}, expected TOML") from None
    except OSError as error:
        raise UsageError(f"{source}: cannot be read ({error.strerror})") from None
    for setting in settings:
        _apply(data, setting)
    return config_from(data, str(source))


def with_settings(config: Config, settings: Iterable[str], where: str) -> Config:
    """Return a configuration changed by `section.key=value`."""
    data = config.to_dict()
    for setting in settings:
        _apply(data, setting)
    return config_from(data, where)


def config_from(data: Mapping[str, Any], where: str) -> Config:
    """Build a configuration from plain data. One error lists all problems."""
    problems: list[str] = []
    parts = {}
    sections = {part.name: get_type_hints(Config)[part.name] for part in dataclasses.fields(Config)}
    for name in data:
        if name not in sections:
            problems.append(f"[{name}] is unknown{_hint(name, sections)}")
    for name, kind in sections.items():
        values = data.get(name, {})
        if not isinstance(values, Mapping):
            problems.append(f"{name} is {values!r:.40}, expected a section [{name}]")
            continue
        parts[name] = _section(name, kind, values, problems)
    if parts.keys() == sections.keys():
        problems += _impossible(parts["model"], parts["decoding"], parts["train"])
    if problems:
        raise UsageError(f"{where}: {'; '.join(problems)}")
    return Config(**parts)


def _section(name: str, kind: Any, values: Mapping[str, Any], problems: list[str]) -> Any:
    hints = get_type_hints(kind, include_extras=True)
    known = {}
    for key, value in values.items():
        if key not in hints:
            problems.append(f"{name}.{key} is unknown{_hint(key, hints)}")
            continue
        try:
            known[key] = _cast(value, hints[key])
        except ValueError as error:
            problems.append(f"{name}.{key} is {value!r:.40}, expected {error}")
    return kind(**known)


def _cast(value: Any, kind: Any) -> Any:
    """Convert a value to its type, or raise a ValueError that says what is expected."""
    if get_origin(kind) is Annotated:
        plain, allowed = get_args(kind)
        number = _cast(value, plain)
        if number not in allowed:
            raise ValueError(str(allowed))
        return number
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise ValueError(f"one of {', '.join(map(str, get_args(kind)))}")
        return value
    if get_origin(kind) is tuple:
        if not isinstance(value, list | tuple) or not value or not all(type(item) is int for item in value):
            raise ValueError("a list of integers")
        return tuple(value)
    if kind is float and type(value) is int:
        value = float(value) if abs(value) < 2**64 else math.inf
    if kind is float and type(value) is float and not math.isfinite(value):
        raise ValueError("a finite number")
    if type(value) is not kind:
        raise ValueError({int: "an integer", float: "a number", bool: "true or false", str: "text"}[kind])
    return value


def _impossible(model: ModelConfig, decoding: DecodingConfig, train: TrainConfig) -> list[str]:
    """Return the problems of values that are valid by themselves but not together."""
    w2ner = model.architecture == "w2ner"
    checks = [
        (model.width % 2 == 0, f"model.width is {model.width}, expected an even number"),
        (
            not model.trem or model.width % model.heads == 0,
            f"model.heads is {model.heads}, expected a divisor of model.width ({model.width})",
        ),
        (all(dilation >= 1 for dilation in model.dilations), f"model.dilations are {model.dilations}, expected >= 1"),
        (
            not (w2ner and model.trem),
            'model.trem is true, expected false with architecture = "w2ner", which has none',
        ),
        (
            not w2ner or model.tags == "NNW+THW",
            f'model.tags is {model.tags}, expected NNW+THW with architecture = "w2ner"',
        ),
        (
            decoding.overlap < decoding.max_words,
            f"decoding.overlap is {decoding.overlap}, expected less than decoding.max_words ({decoding.max_words})",
        ),
        (
            min(train.seeds) >= 0 and max(train.seeds) < 2**32 and len(set(train.seeds)) == len(train.seeds),
            f"train.seeds are {train.seeds}, expected different numbers from 0 to {2**32 - 1}",
        ),
    ]
    return [problem for holds, problem in checks if not holds]


def _apply(data: dict[str, Any], setting: str) -> None:
    """Put `section.key=value` into the data; the value is TOML, or else plain text."""
    path, equals, text = setting.partition("=")
    section, dot, key = path.strip().partition(".")
    if not equals or not dot or not key:
        raise UsageError(f"--set {setting!r}, expected section.key=value, such as train.epochs=5")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()
    values = data.setdefault(section, {})
    if isinstance(values, dict):  # otherwise config_from reports it
        values[key] = value


def _hint(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else f", expected one of {', '.join(known)}"
