"""A description of a model as plain data, for bug reports and for users of the service."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gridner.files import reading
from gridner.inference.checkpoint import MANIFEST, Checkpoint, read_checkpoint
from gridner.inference.group_tuning import KEYS


def describe_model(folder: Path) -> dict[str, Any]:
    """Return engine, types, settings and scores of the model in a folder."""
    checkpoint, _ = read_checkpoint(folder)
    settings, training = checkpoint.config.to_dict(), checkpoint.training
    size = sum((folder / name).stat().st_size for name in checkpoint.network)
    return {
        "engine": ("ONNX Runtime" if checkpoint.exported else "torch") + ", int8" * checkpoint.int8,
        "files": f"{', '.join(checkpoint.network)}, {size / 2**20:,.0f} MB",
        "written by": f"gridner {checkpoint.version}",
        "fingerprint": model_fingerprint(folder)[:16],
        **{name: text for name, text in checkpoint.about.to_dict().items() if name != "types"},
        "types": [asdict(type) for type in checkpoint.described_types],
        "names": len(checkpoint.lexicon),
        "pieces at most": checkpoint.max_pieces,
        "model": settings["model"],
        "decoding": settings["decoding"],
        **({"decoding by corpus": _by_corpus(checkpoint)} if checkpoint.group_tunings else {}),
        "dev F1": _f1("dev", training.get("scores", {})),
        "test F1": _f1("test", training.get("scores", {})),
    }


def _by_corpus(checkpoint: Checkpoint) -> dict[str, dict[str, float]]:
    """Return the decoding settings that each corpus has for itself."""
    pairs = zip(checkpoint.groups, checkpoint.group_tunings, strict=True)
    return {group.name: {key: getattr(tuning, key) for key in KEYS} for group, tuning in pairs}


def _f1(kind: str, scores: Mapping[str, Any]) -> dict[str, float]:
    """Return the F1 of all and of discontinuous entities on dev or test, by corpus if there are several."""
    f1 = {}
    for part, score in scores.items():
        kind_of_part, _, corpus = part.partition("-")
        for name in ("all", "discontinuous") if kind_of_part == kind else ():
            if name in score["exact"]:
                f1[f"{corpus} {name}".strip()] = round(100 * score["exact"][name]["f1"], 1)
    return f1


def model_fingerprint(folder: Path) -> str:
    """Return a hash of the manifest, which has the hashes of the other files."""
    with reading(folder / MANIFEST):
        return hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()
