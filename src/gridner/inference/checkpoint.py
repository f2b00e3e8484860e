"""A trained model as a directory: settings, types, tokenizer and weights. No pickle, no network.

gridner.json        what the model is, and the sizes and hashes of the other files; written last
tokenizer.json      of the `tokenizers` library
model.safetensors   the weights; an exported model has the network in two steps, words.onnx and grid.onnx, instead
names.tsv           the names of its lexicon, if it has one
README.md           the model card
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from gridner.config import Config, config_from
from gridner.corpus.gazetteer import Lexicon
from gridner.errors import FormatError, OutputError, UsageError
from gridner.inference.calibration import Calibration
from gridner.inference.word_pieces import PieceTokenizer
from gridner.tagging.tags import TagScheme, TypeGroup

FORMAT, GROUPED = 2, 3  # of the directory, and where its types are in several groups
TASK = "discontinuous-ner"
ABOUT, TOKENIZER, CARD = "gridner.json", "tokenizer.json", "README.md"
WEIGHTS = "model.safetensors"
EXPORTED = ("words.onnx", "grid.onnx")  # what an exported model has instead
NAMES = "names.tsv"
ATTRIBUTION = "ATTRIBUTION.md"  # of what a model that is handed on was made of
MAX_ABOUT = 2**20  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What a model is, apart from its weights and its tokenizer."""

    config: Config
    types: tuple[str, ...]
    language_model: Mapping[str, Any]  # the settings of the encoder, as transformers writes them
    max_pieces: int
    training: Mapping[str, Any] = field(default_factory=dict)  # data, seed, scores of dev and test
    calibration: Calibration = field(default_factory=Calibration)
    version: str  # of gridner
    exported: bool = False  # to ONNX
    int8: bool = False  # an exported network of 8 bits
    lexicon: Lexicon = field(default_factory=Lexicon)
    groups: tuple[TypeGroup, ...] = ()  # of types, with the names of the corpora that mark them; none: one group

    @property
    def network(self) -> tuple[str, ...]:
        """The files that the network is in."""
        return EXPORTED if self.exported else (WEIGHTS,)

    @property
    def scheme(self) -> TagScheme:
        """Its tags."""
        return TagScheme(self.types, self.config.model.tags, self.groups)


def write_checkpoint(
    directory: Path,
    checkpoint: Checkpoint,
    *,
    tokenizer: Tokenizer,
    write_network: Callable[[Sequence[Path]], None],
    card: str,
) -> None:
    """Write a model. A model that is there is replaced once all is written; what makes it a model comes last.

    `write_network` is given a path for each of `checkpoint.network`.
    """
    names = (NAMES,) if checkpoint.lexicon else ()
    parts = {name: directory / f"{name}.part" for name in (TOKENIZER, *checkpoint.network, *names, CARD, ABOUT)}
    try:
        directory.mkdir(parents=True, exist_ok=True)
        parts[TOKENIZER].write_text(tokenizer.to_str(pretty=True), encoding="utf-8")
        network = [parts[name] for name in checkpoint.network]
        write_network(network)
        for part in network:
            part.chmod(parts[TOKENIZER].stat().st_mode)  # safetensors gives it to its owner alone
        if checkpoint.lexicon:
            parts[NAMES].write_text(checkpoint.lexicon.to_text(), encoding="utf-8")
        parts[CARD].write_text(card, encoding="utf-8")
        about = {
            "format": GROUPED if checkpoint.groups else FORMAT,
            "task": TASK,
            "gridner": checkpoint.version,
            "types": list(checkpoint.types),
            **({"groups": [asdict(group) for group in checkpoint.groups]} if checkpoint.groups else {}),
            "max_pieces": checkpoint.max_pieces,
            "config": checkpoint.config.to_dict(),
            "language_model": dict(checkpoint.language_model),
            "training": dict(checkpoint.training),
            "calibration": asdict(checkpoint.calibration),
            "int8": checkpoint.int8,
            "files": {name: _fingerprint(parts[name]) for name in (TOKENIZER, *checkpoint.network, *names)},
        }
        parts[ABOUT].write_text(json.dumps(about, indent=1, ensure_ascii=False), encoding="utf-8")
        (directory / ABOUT).unlink(missing_ok=True)
        for name in {WEIGHTS, *EXPORTED, NAMES} - parts.keys():
            (directory / name).unlink(missing_ok=True)  # of a model that was here
        for name, part in parts.items():
            part.replace(directory / name)
    except OSError as error:
        raise OutputError(f"{error.filename or directory}: cannot be written ({error.strerror})") from None
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)


def read_checkpoint(directory: str | Path) -> tuple[Checkpoint, PieceTokenizer]:
    """What a model is, and its pieces; its files are checked against their hashes."""
    folder = Path(directory)
    about = _about(folder)
    for name, expected in about["files"].items():
        path = folder / name
        if not path.is_file():
            raise FormatError(f"{path}: missing, expected it beside {ABOUT}")
        if _fingerprint(path) != expected:
            raise FormatError(f"{path}: altered, expected the size and the hash that {ABOUT} names")
    where = str(folder / ABOUT)
    checkpoint = Checkpoint(
        config=config_from(about["config"], f"{where}, written by gridner {about['gridner']}"),
        types=tuple(about["types"]),
        groups=_groups(about, where),
        language_model=about["language_model"],
        max_pieces=about["max_pieces"],
        training=about.get("training", {}),
        calibration=_calibration(about.get("calibration"), where),
        version=about["gridner"],
        exported=WEIGHTS not in about["files"],
        int8=about.get("int8") is True,
        lexicon=_lexicon(folder / NAMES) if NAMES in about["files"] else Lexicon(),
    )
    return checkpoint, PieceTokenizer.load(folder / TOKENIZER, max_pieces=checkpoint.max_pieces)


def _about(folder: Path) -> dict[str, Any]:
    """The contents of gridner.json, checked as far as they are used."""
    path = folder / ABOUT
    if not path.is_file():
        if (folder / "snapshot").is_dir():
            raise FormatError(f"{folder}: a training that has not ended; go on with gridner train … --resume")
        inside = ", ".join(sorted(str(about.parent) for about in folder.glob(f"*/{ABOUT}"))[:5])
        hint = f" (there are models in it: {inside})" if inside else ""
        raise FormatError(f"{folder}: not a gridner model, expected a folder with {ABOUT}{hint}")
    try:
        if path.stat().st_size > MAX_ABOUT:
            raise FormatError(f"{path}: {path.stat().st_size:,} bytes, expected at most {MAX_ABOUT:,}")
        about = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: {str(error)[:120]}, expected JSON") from None
    if not isinstance(about, dict) or "format" not in about:
        raise FormatError(f"{path}: no format, expected that of a gridner model")
    if about["format"] not in (FORMAT, GROUPED):
        by = f" (written by gridner {about.get('gridner')})" if about.get("gridner") else ""
        raise FormatError(f"{path}: format {about['format']!r}{by}, expected {FORMAT}; use that version or train again")
    if about.get("task") != TASK:
        raise FormatError(f"{path}: task {about.get('task')!r}, expected {TASK}")
    kinds = {
        "training": dict,
        "types": list,
        "config": dict,
        "language_model": dict,
        "files": dict,
        "max_pieces": int,
        "gridner": str,
    }
    for key, kind in kinds.items():
        if not isinstance(about.get(key), kind):
            raise FormatError(f"{path}: {key} is {about.get(key)!r:.40}, expected {kind.__name__}")
    if set(about["files"]) - {NAMES} not in ({TOKENIZER, WEIGHTS}, {TOKENIZER, *EXPORTED}):
        found = sorted(about["files"])
        raise FormatError(
            f"{path}: files are {found!r:.80}, expected {TOKENIZER} and {WEIGHTS} or {' and '.join(EXPORTED)}"
        )
    if about["max_pieces"] < 3:
        raise FormatError(f"{path}: max_pieces is {about['max_pieces']}, expected at least 3")
    if not about["types"] or not all(isinstance(name, str) for name in about["types"]):
        raise FormatError(f"{path}: types are {about['types']!r:.40}, expected names")
    return about


def _groups(about: Mapping[str, Any], where: str) -> tuple[TypeGroup, ...]:
    """The groups of types; none in a model with one."""
    try:
        groups = tuple(TypeGroup(str(one["name"]), tuple(map(str, one["types"]))) for one in about.get("groups", ()))
        return TagScheme(tuple(about["types"]), groups=groups).groups if groups else ()
    except (TypeError, KeyError, UsageError) as error:
        raise FormatError(f"{where}: groups are {about.get('groups')!r:.80} ({error!s:.120})") from None


def _lexicon(path: Path) -> Lexicon:
    try:
        return Lexicon.from_text(path.read_text(encoding="utf-8"), where=str(path))
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: {error}, expected what gridner wrote") from None


def _calibration(found: Any, where: str) -> Calibration:
    if found is None:
        return Calibration()
    try:
        return Calibration(*(tuple(map(float, found[name])) for name in ("score_odds", "right_odds")))
    except (TypeError, KeyError, ValueError) as error:
        raise FormatError(f"{where}: {error!s:.120}, expected a calibration with score_odds and right_odds") from None


def _fingerprint(path: Path) -> dict[str, Any]:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(2**20):
            digest.update(block)
    return {"bytes": path.stat().st_size, "sha256": digest.hexdigest()}


def check_same_sizes(found: Config, wanted: Config, *, where: str) -> None:
    """A model that is trained on must have the sizes that the settings name; dropout may differ."""
    free = {"word_dropout", "grid_dropout", "trem_dropout", "predictor_dropout", "encoder"}
    have, want = found.to_dict()["model"], wanted.to_dict()["model"]
    differing = [f"model.{key} = {have[key]!r}, not {want[key]!r}" for key in have if have[key] != want[key]]
    differing = [text for text in differing if text.split(" = ")[0].removeprefix("model.") not in free]
    if differing:
        raise UsageError(f"{where} has {'; '.join(differing)}: expected the settings to agree (see --set)")
