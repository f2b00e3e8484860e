"""Predictions of models, kept in a folder with what they rest on: those of anything else are made anew."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from gridner.config import Config
from gridner.corpus.splits import Part
from gridner.errors import Notes
from gridner.files import write_text, write_whole
from gridner.inference.cached_engine import CachedEngine
from gridner.inference.calibration import Calibration
from gridner.inference.checkpoint import MANIFEST, read_checkpoint
from gridner.inference.loading import load
from gridner.inference.part_evaluation import predict_part, predictions_jsonl
from gridner.inference.recognizer import Recognizer
from gridner.inference.tuning import tune_and_calibrate

KEPT = "about.json"


def kept(
    folder: Path,
    model: Path,
    parts: Mapping[str, Part],
    recognizer: Callable[[Notes], Recognizer],
    settings: Mapping[str, Any] | None = None,
) -> Notes:
    """Have the predictions of a model in a folder, and return what is to be said of them.

    `recognizer` is asked for only if they are not there yet; `settings` are those that it has beside the model's.
    """
    notes = Notes()
    data = {name: part.about()["sha256"] for name, part in parts.items()}
    sha256 = hashlib.sha256((model / MANIFEST).read_bytes()).hexdigest()
    about = json.loads(json.dumps({"model": sha256, "data": data, **(settings or {})}))
    there = json.loads((folder / KEPT).read_text(encoding="utf-8")) if (folder / KEPT).is_file() else {}
    said = there.pop("notes", {})
    if there == about:
        recall(notes, said)
        return notes
    given = recognizer(notes)
    texts = {f"{name}.jsonl": predictions_jsonl(predict_part(given, part, notes=notes)) for name, part in parts.items()}
    about["notes"] = {what: count for what, count, _ in notes}
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {**texts, KEPT: json.dumps(about, indent=1)}.items():
        write_whole(folder / name, partial(write_text, text=text), folder=False, force=True)
    return notes


def recall(notes: Notes, counts: Mapping[str, int]) -> None:
    """Count what was counted when it happened, but for what is counted already."""
    for what, count in counts.items():
        if (more := count - notes[what]) > 0:
            notes.take(what, more, ())


@dataclass(slots=True)
class Again:
    """A model that is decoded with several settings. It is loaded when first needed, and scores each batch once."""

    model: Path
    dev: Part
    say: Callable[[str], None]
    loaded: Recognizer | None = None

    def recognizer(self, config: Config, notes: Notes) -> Recognizer:
        """With other decoding settings; thresholds are chosen anew where that is asked for."""
        self.say(f"decoding {self.model} with other settings")
        if self.loaded is None:
            loaded = load(self.model)
            self.loaded = replace(loaded, engine=CachedEngine(loaded.engine), calibration=Calibration())
        checkpoint, _ = read_checkpoint(self.model)
        other = replace(checkpoint.config, decoding=config.decoding, train=replace(config.train, calibrate=False))
        recognizer = replace(self.loaded, decoding=config.decoding)
        checkpoint, _ = tune_and_calibrate(replace(checkpoint, config=other), recognizer, self.dev, notes=notes)
        return replace(recognizer, decoding=checkpoint.config.decoding)
