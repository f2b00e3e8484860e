"""Predictions cached in a folder. A fingerprint of model, documents and settings tells whether they are up to date."""

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
from gridner.inference.corpus_evaluation import predict_part, predictions_jsonl
from gridner.inference.loading import load
from gridner.inference.recognizer import Recognizer
from gridner.inference.tuning import tune_and_calibrate

FINGERPRINT = "about.json"


def cache_predictions(
    folder: Path,
    model: Path,
    parts: Mapping[str, Part],
    recognizer: Callable[[Notes], Recognizer],
    settings: Mapping[str, Any] | None = None,
) -> Notes:
    """Write the predictions of a model to a folder, unless they are there already. Return the notes about them.

    `recognizer` is called only if there is something to predict. `settings` are those that differ from the model's.
    """
    notes = Notes()
    data = {name: part.about()["sha256"] for name, part in parts.items()}
    sha256 = hashlib.sha256((model / MANIFEST).read_bytes()).hexdigest()
    fingerprint = json.loads(json.dumps({"model": sha256, "data": data, **(settings or {})}))
    file = folder / FINGERPRINT
    cached = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    cached_notes = cached.pop("notes", {})
    if cached == fingerprint:
        add_missing(notes, cached_notes)
        return notes
    predictor = recognizer(notes)
    texts = {
        f"{name}.jsonl": predictions_jsonl(predict_part(predictor, part, notes=notes)) for name, part in parts.items()
    }
    fingerprint["notes"] = {what: count for what, count, _ in notes}
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {**texts, FINGERPRINT: json.dumps(fingerprint, indent=1)}.items():
        write_whole(folder / name, partial(write_text, text=text), folder=False, force=True)
    return notes


def add_missing(notes: Notes, counts: Mapping[str, int]) -> None:
    """Raise the counts of `notes` to those of an earlier run where they are lower."""
    for what, count in counts.items():
        if (more := count - notes[what]) > 0:
            notes.take(what, more, ())


@dataclass(slots=True)
class Redecoder:
    """Decodes one model with several settings. It loads the model when needed and scores each batch once."""

    model: Path
    dev: Part
    say: Callable[[str], None]
    loaded: Recognizer | None = None

    def recognizer(self, config: Config, notes: Notes) -> Recognizer:
        """Return the model with these decoding settings. If they say so, tune the thresholds on dev again."""
        self.say(f"decoding {self.model} with other settings")
        if self.loaded is None:
            loaded = load(self.model)
            self.loaded = replace(loaded, engine=CachedEngine(loaded.engine), calibration=Calibration())
        checkpoint, _ = read_checkpoint(self.model)
        changed = replace(checkpoint.config, decoding=config.decoding, train=replace(config.train, calibrate=False))
        recognizer = replace(self.loaded, decoding=config.decoding)
        checkpoint, _ = tune_and_calibrate(replace(checkpoint, config=changed), recognizer, self.dev, notes=notes)
        return replace(recognizer, decoding=checkpoint.config.decoding)
