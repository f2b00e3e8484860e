"""The scores of a training on dev and test, for each corpus by itself, and the files that it leaves."""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from gridner.errors import Notes
from gridner.files import write_text, write_whole
from gridner.inference.cached_engine import CachedEngine
from gridner.inference.corpus_evaluation import (
    AnnotatedPart,
    evaluate_part,
    predict_part,
    predictions_jsonl,
    selection_score,
)
from gridner.inference.model_card import card_of
from gridner.inference.recognizer import Recognizer
from gridner.inference.tuning import tune_and_calibrate, tune_decoding
from gridner.model.toe import Toe
from gridner.model.trained_model import TrainedModel, recognizer_of
from gridner.scoring.evaluation import ALL, DISCONTINUOUS, Evaluation, Score
from gridner.scoring.serialization import evaluation_json
from gridner.training.curves import draw_curves
from gridner.training.run_folder import SNAPSHOT
from gridner.training.snapshot import State
from gridner.training.task import TrainingTask

MEAN_OF = (ALL, DISCONTINUOUS)  # slices whose mean over several corpora goes into the log


@dataclass(frozen=True, slots=True)
class DevScores:
    """The dev scores of an epoch, by the name of the corpus."""

    evaluations: Mapping[str, Evaluation]

    def selection_score(self, best_by: str) -> float:
        """Return the score that chooses the best epoch: the mean over the corpora."""
        return fmean(selection_score(evaluation, best_by) for evaluation in self.evaluations.values())

    def row(self) -> dict[str, float]:
        """Return the columns of the log: every slice, or for several corpora the mean and then every slice of each."""
        if len(self.evaluations) == 1:
            (evaluation,) = self.evaluations.values()
            return {key: value for name in evaluation.slices for key, value in _columns(name, evaluation.score(name))}
        row: dict[str, float] = {}
        for name in MEAN_OF:
            scores = [evaluation.score(name) for evaluation in self.evaluations.values()]
            rows = [dict(_columns(name, score)) for score in scores if name == ALL or score.tp + score.fn]
            row |= {column: fmean(each[column] for each in rows) for column in (rows[0] if rows else ())}
        for corpus, evaluation in self.evaluations.items():
            for name in evaluation.slices:
                row |= {f"{corpus} {key}": value for key, value in _columns(name, evaluation.score(name))}
        return row


def _columns(name: str, score: Score) -> list[tuple[str, float]]:
    return [(f"{name} P", score.precision), (f"{name} R", score.recall), (f"{name} F1", score.f1)]


def dev_scores(task: TrainingTask, model: Toe, trained: TrainedModel) -> DevScores | None:
    """Score a network on the dev documents of every corpus. Return None if there are none."""
    devs = _devs(task)
    if not devs:
        return None
    settings = asdict(task.config.decoding)
    recognizer: Recognizer = recognizer_of(model, trained.checkpoint, trained.pieces, **settings)
    if task.config.train.tune_thresholds:
        recognizer = replace(recognizer, engine=CachedEngine(recognizer.engine))
        recognizer = replace(recognizer, decoding=tune_decoding(recognizer, *devs.values()).decoding)
    return DevScores(
        {name: evaluate_part(dev.part, dev.only(predict_part(recognizer, dev.part))) for name, dev in devs.items()}
    )


def _devs(task: TrainingTask) -> dict[str, AnnotatedPart]:
    return {corpus.name: AnnotatedPart(part, corpus.train.types) for _, corpus, part in task.each_part("dev")}


def finish(
    task: TrainingTask, trained: TrainedModel, state: State, facts: dict[str, Any], notes: Notes
) -> Mapping[str, Any]:
    """Tune the decoding settings, score dev and test, and write the model, its card, log, curves and predictions."""
    cached = CachedEngine(trained.recognizer().engine)
    if devs := _devs(task):
        recognizer = replace(trained.recognizer(), engine=cached)
        trained.checkpoint, facts["reliability"] = tune_and_calibrate(
            trained.checkpoint, recognizer, *devs.values(), notes=notes
        )
    facts["scores"] = {}
    for name, corpus, part in task.each_part("dev", "test"):
        recognizer, kind = trained.recognizer(), name.partition("-")[0]
        if kind == "dev":
            recognizer = replace(recognizer, engine=cached)
        predicted = AnnotatedPart(part, corpus.train.types).only(predict_part(recognizer, part, notes=notes))
        facts["scores"][name] = evaluation_json(evaluate_part(part, predicted))
        write_file(task.output / f"{name}.jsonl", predictions_jsonl(predicted))
        if kind in task.split:
            write_file(task.output / f"{name}.ids", "".join(f"{document.id}\n" for document in part.documents))
    facts["notes"] = {what: count for what, count, _ in notes}
    write_file(task.output / "log.csv", log_of(state.history))
    title = f"{task.config.model.architecture}, seed {facts['seed']}"
    draw_curves(state.history, task.output / "curves.png", title=title, chosen_epoch=state.best_epoch)
    trained.checkpoint = replace(trained.checkpoint, training=facts)
    trained.card = card_of(trained.checkpoint)
    trained.save_pretrained(task.output)
    shutil.rmtree(task.output / SNAPSHOT)
    return facts


def write_file(path: Path, text: str) -> None:
    """Write a file of the run, and replace the one before."""
    write_whole(path, lambda part: write_text(part, text), folder=False, force=True)


def log_of(history: Sequence[Mapping[str, float]]) -> str:
    """Return the rows of a log as CSV."""
    names = list(dict.fromkeys(name for row in history for name in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    for row in history:
        writer.writerow({name: f"{value:.6g}" for name, value in row.items()})
    return out.getvalue()
