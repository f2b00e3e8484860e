"""Tune a model for a new corpus without training: thresholds, the bonus of gazetteer names, calibration."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from gridner.config import DecodingConfig
from gridner.corpus.splits import Part, part_of
from gridner.documents import Document
from gridner.errors import Notes, UsageError
from gridner.files import check_output, write_text, write_whole
from gridner.inference.cached_engine import CachedEngine
from gridner.inference.checkpoint import ATTRIBUTION, read_checkpoint, write_checkpoint
from gridner.inference.corpus_evaluation import AnnotatedPart, evaluate_part, predict_part, predictions_jsonl
from gridner.inference.installed_models import find_model
from gridner.inference.loading import load
from gridner.inference.model_card import card_of, kind_of
from gridner.inference.recognizer import Recognizer
from gridner.inference.tuning import tune_and_calibrate, without_tuning
from gridner.scoring.evaluation import Evaluation
from gridner.scoring.serialization import evaluation_json


@dataclass(frozen=True, slots=True)
class TunedModel:
    """Where a tuned model is, its decoding settings, and the scores on dev before and after."""

    folder: Path
    decoding: DecodingConfig
    before: Evaluation
    after: Evaluation


def tune_model(
    documents: Iterable[Document],
    output: str | Path,
    *,
    model: str | Path | None = None,
    lexicon: str | None = None,
    ignore_missing_types: bool = False,
    threads: int | None = None,
    force: bool = False,
    command: str = "",
    notes: Notes | None = None,
) -> TunedModel:
    """Choose the decoding settings and the calibration of a model on documents, and write it as a new model.

    The network stays as it is, so this needs no torch. The default model is the one that comes with gridner. With
    `ignore_missing_types`, types that the documents do not annotate do not count as wrong. The output folder also gets
    the predictions, `dev.jsonl`.
    """
    output, folder = Path(output), find_model(model)
    notes = Notes() if notes is None else notes
    check_output(output, folder=True, force=force)
    if output.exists() and output.samefile(folder):
        raise UsageError(f"{output}: the folder of the model itself; choose another one")
    checkpoint, pieces = read_checkpoint(folder)
    recognizer = load(folder, threads=threads, lexicon=lexicon)
    dev = part_of(documents, notes=notes, name="dev")
    _check_types(dev, checkpoint.types)
    annotated = AnnotatedPart(dev, dev.types if ignore_missing_types else checkpoint.types)
    for missing in sorted(set(checkpoint.types) - set(dev.types)):
        consequence = "left out" if ignore_missing_types else "predictions count as wrong; --types leaves them out"
        notes.add(f"dev: type without entities, {consequence}", missing)
    recognizer.engine = CachedEngine(recognizer.engine)

    def predict_and_score(recognizer: Recognizer) -> tuple[list[Document], Evaluation]:
        predicted = annotated.only(predict_part(recognizer, dev))
        return predicted, evaluate_part(dev, predicted)

    _, before = predict_and_score(replace(recognizer, lexicon=checkpoint.lexicon))
    checkpoint = without_tuning(replace(checkpoint, lexicon=recognizer.lexicon))
    recognizer = replace(recognizer, decoding=checkpoint.config.decoding, calibration=checkpoint.calibration)
    checkpoint, reliability = tune_and_calibrate(checkpoint, recognizer, annotated, notes=notes)
    decoding = checkpoint.config.decoding
    predicted, after = predict_and_score(replace(recognizer, decoding=decoding, calibration=checkpoint.calibration))
    facts = dict(checkpoint.training)
    train_data = {name: about for name, about in facts.get("data", {}).items() if kind_of(name) == "train"}
    facts |= {
        "tuned": [*facts.get("tuned", []), command],
        "data": {**train_data, "dev": dev.about()},
        "scores": {"dev": evaluation_json(after)},
        "reliability": reliability,
        "lexicon": checkpoint.lexicon.about() if checkpoint.lexicon else None,
        "notes": {note: count for note, count, _ in notes},
    }
    checkpoint = replace(checkpoint, training=facts)

    def copy_network(paths: Sequence[Path]) -> None:
        for name, path in zip(checkpoint.network, paths, strict=True):
            shutil.copyfile(folder / name, path)

    write_checkpoint(
        output, checkpoint, tokenizer=pieces.tokenizer, write_network=copy_network, card=card_of(checkpoint)
    )
    texts = {"dev.jsonl": predictions_jsonl(predicted)}
    if (folder / ATTRIBUTION).is_file():
        texts[ATTRIBUTION] = (folder / ATTRIBUTION).read_text(encoding="utf-8")
    for name, text in texts.items():
        write_whole(output / name, partial(write_text, text=text), folder=False, force=True)
    return TunedModel(output, decoding, before, after)


def _check_types(dev: Part, known: tuple[str, ...]) -> None:
    if not dev.types:
        raise UsageError(f"dev: no entities; tuning needs some of {', '.join(known)}")
    if unknown := sorted(set(dev.types) - set(known)):
        raise UsageError(
            f"dev: entities of {', '.join(unknown)}, expected those of {', '.join(known)} alone (see --types)"
        )
