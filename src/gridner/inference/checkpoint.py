"""A trained model as a folder: settings, types, tokenizer and weights. No pickle, no download.

gridner.json        the manifest: settings, types, and the size and hash of the other files; written last
tokenizer.json      of the `tokenizers` library
model.safetensors   the weights; an exported model has words.onnx and grid.onnx, the two steps of the network, instead
names.tsv           the gazetteer, if it has one
README.md           the model card
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from gridner.config import Config, config_from
from gridner.corpus.gazetteer import Lexicon
from gridner.errors import FormatError, OutputError, UsageError
from gridner.files import write_text, write_whole
from gridner.inference.calibration import Calibration
from gridner.inference.group_tuning import GroupTuning, read_group_tunings
from gridner.inference.model_description import ModelAbout, TypeAbout, about_from
from gridner.inference.word_pieces import PieceTokenizer
from gridner.tagging.tags import TagScheme, TypeGroup

FORMAT, GROUPED = 2, 3  # version of the folder; of one whose types are in several groups
TASK = "discontinuous-ner"
MANIFEST, TOKENIZER, CARD = "gridner.json", "tokenizer.json", "README.md"
WEIGHTS = "model.safetensors"
EXPORTED = ("words.onnx", "grid.onnx")  # instead of the weights
NAMES = "names.tsv"
ATTRIBUTION = "ATTRIBUTION.md"  # sources of a model that is passed on
MAX_MANIFEST = 2**20  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A model without its weights and its tokenizer."""

    config: Config
    types: tuple[str, ...]
    language_model: Mapping[str, Any]  # the settings of the encoder, as transformers writes them
    max_pieces: int
    training: Mapping[str, Any] = field(default_factory=dict)  # data, seed, scores of dev and test
    calibration: Calibration = field(default_factory=Calibration)
    version: str  # of gridner
    exported: bool = False  # to ONNX
    int8: bool = False  # an exported network with 8-bit weights
    lexicon: Lexicon = field(default_factory=Lexicon)
    groups: tuple[TypeGroup, ...] = ()  # of types, named after the corpora that annotate them; empty: one group
    group_tunings: tuple[GroupTuning, ...] = ()  # one per group, if the groups were tuned by themselves
    about: ModelAbout = field(default_factory=ModelAbout)  # what it is for, in words

    @property
    def described_types(self) -> tuple[TypeAbout, ...]:
        """All types with what they mean."""
        return _described(self.types, self.groups, self.about)

    @property
    def network(self) -> tuple[str, ...]:
        """The names of the files that hold the network."""
        return EXPORTED if self.exported else (WEIGHTS,)

    @property
    def scheme(self) -> TagScheme:
        """The tag scheme of the model."""
        return TagScheme(self.types, self.config.model.tags, self.groups)


def write_checkpoint(
    directory: Path,
    checkpoint: Checkpoint,
    *,
    tokenizer: Tokenizer,
    write_network: Callable[[Sequence[Path]], None],
    card: str,
) -> None:
    """Write a model. It replaces a model in the folder once everything is written; the manifest comes last.

    `write_network` gets a path for each of `checkpoint.network`.
    """
    names = (NAMES,) if checkpoint.lexicon else ()
    parts = {name: directory / f"{name}.part" for name in (TOKENIZER, *checkpoint.network, *names, CARD, MANIFEST)}
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
        manifest = {
            "format": GROUPED if checkpoint.groups else FORMAT,
            "task": TASK,
            "gridner": checkpoint.version,
            "types": list(checkpoint.types),
            **({"groups": [asdict(group) for group in checkpoint.groups]} if checkpoint.groups else {}),
            **({"about": checkpoint.about.to_dict()} if checkpoint.about != ModelAbout() else {}),
            "max_pieces": checkpoint.max_pieces,
            "config": checkpoint.config.to_dict(),
            "language_model": dict(checkpoint.language_model),
            "training": dict(checkpoint.training),
            "calibration": asdict(checkpoint.calibration),
            **(
                {"group_tunings": [tuning.to_dict() for tuning in checkpoint.group_tunings]}
                if checkpoint.group_tunings
                else {}
            ),
            "int8": checkpoint.int8,
            "files": {name: _fingerprint(parts[name]) for name in (TOKENIZER, *checkpoint.network, *names)},
        }
        parts[MANIFEST].write_text(json.dumps(manifest, indent=1, ensure_ascii=False), encoding="utf-8")
        (directory / MANIFEST).unlink(missing_ok=True)
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
    """Return a model and its tokenizer, after a check of its files against their hashes."""
    folder = Path(directory)
    manifest = _read_manifest(folder)
    for name, expected in manifest["files"].items():
        path = folder / name
        if not path.is_file():
            raise FormatError(f"{path}: missing; {MANIFEST} lists it, so copy the whole model folder")
        if _fingerprint(path) != expected:
            raise FormatError(
                f"{path}: altered: its size or hash is not the one in {MANIFEST}; copy the model folder again"
            )
    where = str(folder / MANIFEST)
    checkpoint = Checkpoint(
        config=config_from(manifest["config"], f"{where}, written by gridner {manifest['gridner']}"),
        types=tuple(manifest["types"]),
        groups=_groups(manifest, where),
        about=_about(manifest, where),
        language_model=manifest["language_model"],
        max_pieces=manifest["max_pieces"],
        training=manifest.get("training", {}),
        calibration=_calibration(manifest.get("calibration"), where),
        group_tunings=read_group_tunings(manifest, where),
        version=manifest["gridner"],
        exported=WEIGHTS not in manifest["files"],
        int8=manifest.get("int8") is True,
        lexicon=_lexicon(folder / NAMES) if NAMES in manifest["files"] else Lexicon(),
    )
    return checkpoint, PieceTokenizer.load(folder / TOKENIZER, max_pieces=checkpoint.max_pieces)


def _read_manifest(folder: Path) -> dict[str, Any]:
    """Return the contents of gridner.json, with the fields that are used checked."""
    path = folder / MANIFEST
    if not path.is_file():
        if (folder / "snapshot").is_dir():
            raise FormatError(
                f"{folder}: a training run that has not finished; resume it with gridner train … --resume"
            )
        models = ", ".join(sorted(str(file.parent) for file in folder.glob(f"*/{MANIFEST}"))[:5])
        hint = f" (there are models in it: {models})" if models else ""
        raise FormatError(f"{folder}: not a gridner model, expected a folder with {MANIFEST}{hint}")
    try:
        if path.stat().st_size > MAX_MANIFEST:
            raise FormatError(f"{path}: {path.stat().st_size:,} bytes, expected at most {MAX_MANIFEST:,}")
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: {str(error)[:120]}, expected JSON") from None
    if not isinstance(manifest, dict) or "format" not in manifest:
        raise FormatError(f"{path}: no format, expected the manifest of a gridner model")
    if manifest["format"] not in (FORMAT, GROUPED):
        by = f" (written by gridner {manifest.get('gridner')})" if manifest.get("gridner") else ""
        raise FormatError(
            f"{path}: format {manifest['format']!r}{by}, expected {FORMAT}; use that version or train again"
        )
    if manifest.get("task") != TASK:
        raise FormatError(f"{path}: task {manifest.get('task')!r}, expected {TASK}")
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
        if not isinstance(manifest.get(key), kind):
            raise FormatError(f"{path}: {key} is {manifest.get(key)!r:.40}, expected {kind.__name__}")
    if set(manifest["files"]) - {NAMES} not in ({TOKENIZER, WEIGHTS}, {TOKENIZER, *EXPORTED}):
        names = sorted(manifest["files"])
        raise FormatError(
            f"{path}: files are {names!r:.80}, expected {TOKENIZER} and {WEIGHTS} or {' and '.join(EXPORTED)}"
        )
    if manifest["max_pieces"] < 3:
        raise FormatError(f"{path}: max_pieces is {manifest['max_pieces']}, expected at least 3")
    if not manifest["types"] or not all(isinstance(name, str) for name in manifest["types"]):
        raise FormatError(f"{path}: types are {manifest['types']!r:.40}, expected names")
    return manifest


def _groups(manifest: Mapping[str, Any], where: str) -> tuple[TypeGroup, ...]:
    """Return the groups of types; none for a model with one group."""
    try:
        groups = tuple(
            TypeGroup(str(group["name"]), tuple(map(str, group["types"]))) for group in manifest.get("groups", ())
        )
        return TagScheme(tuple(manifest["types"]), groups=groups).groups if groups else ()
    except (TypeError, KeyError, UsageError) as error:
        raise FormatError(f"{where}: groups are {manifest.get('groups')!r:.80} ({error!s:.120})") from None


def _about(manifest: Mapping[str, Any], where: str) -> ModelAbout:
    """Return what the manifest says about the model and its types in words."""
    try:
        return about_from(manifest.get("about", {}), f"{where}: about", manifest["types"])
    except UsageError as error:
        raise FormatError(str(error)) from None


def _described(types: Sequence[str], groups: Sequence[TypeGroup], about: ModelAbout) -> tuple[TypeAbout, ...]:
    """Return what the types mean. Where no corpus is named, it is that of the type's groups."""

    def corpora(name: str) -> str:
        return ", ".join(group.name for group in groups if name in group.types)

    return tuple(replace(about.type(name), corpus=about.type(name).corpus or corpora(name)) for name in types)


def read_types(directory: Path) -> tuple[TypeAbout, ...]:
    """Return the types of a model with what they mean; nothing but the manifest is read."""
    manifest, where = _read_manifest(directory), str(directory / MANIFEST)
    return _described(manifest["types"], _groups(manifest, where), _about(manifest, where))


def write_about(directory: Path, about: ModelAbout) -> None:
    """Put a description into the manifest of a model, instead of the one that is there."""
    manifest = _read_manifest(directory)
    others = {name: value for name, value in manifest.items() if name != "about"}
    position = list(others).index("types") + 1
    items = [*list(others.items())[:position], ("about", about.to_dict()), *list(others.items())[position:]]
    text = json.dumps(dict(items), indent=1, ensure_ascii=False)
    write_whole(directory / MANIFEST, partial(write_text, text=text), folder=False, force=True)


def _lexicon(path: Path) -> Lexicon:
    try:
        return Lexicon.from_text(path.read_text(encoding="utf-8"), where=str(path))
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: {error}, expected names in UTF-8; copy the model folder again") from None


def _calibration(value: Any, where: str) -> Calibration:
    try:
        return Calibration() if value is None else Calibration.from_dict(value)
    except (TypeError, KeyError, ValueError) as error:
        raise FormatError(f"{where}: {error!s:.120}, expected a calibration with score_odds and right_odds") from None


def _fingerprint(path: Path) -> dict[str, Any]:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(2**20):
            digest.update(block)
    return {"bytes": path.stat().st_size, "sha256": digest.hexdigest()}


def check_same_sizes(existing: Config, wanted: Config, *, where: str) -> None:
    """Raise an error if the network of an existing model has other sizes than the settings; dropout may differ."""
    may_differ = {"word_dropout", "grid_dropout", "trem_dropout", "predictor_dropout", "encoder"}
    old, new = existing.to_dict()["model"], wanted.to_dict()["model"]
    differing = [
        f"model.{key} = {old[key]!r}, not {new[key]!r}" for key in old if old[key] != new[key] and key not in may_differ
    ]
    if differing:
        raise UsageError(f"{where} has {'; '.join(differing)}; make the settings agree, for example with --set")
