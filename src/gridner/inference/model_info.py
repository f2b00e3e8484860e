"""What a model is, in plain data: for bug reports and for the users of a service."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gridner.inference.checkpoint import read_checkpoint


def about_model(folder: Path) -> dict[str, Any]:
    """Engine, types, settings and scores of the model in a folder."""
    checkpoint, _ = read_checkpoint(folder)
    settings, training = checkpoint.config.to_dict(), checkpoint.training
    dev = training.get("scores", {}).get("dev", {}).get("exact", {})
    size = sum((folder / name).stat().st_size for name in checkpoint.network)
    return {
        "engine": ("ONNX Runtime" if checkpoint.exported else "torch") + ", int8" * checkpoint.int8,
        "files": f"{', '.join(checkpoint.network)}, {size / 2**20:,.0f} MB",
        "written by": f"gridner {checkpoint.version}",
        "types": list(checkpoint.types),
        "names": len(checkpoint.lexicon),
        "pieces at most": checkpoint.max_pieces,
        "model": settings["model"],
        "decoding": settings["decoding"],
        "dev F1": {name: round(100 * dev[name]["f1"], 2) for name in ("all", "discontinuous") if name in dev},
    }
