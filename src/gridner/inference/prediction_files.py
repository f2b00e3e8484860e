"""Predict whole corpora into files: in one process or several, resumable, or added to the input's own .ann files."""

from __future__ import annotations

import dataclasses
import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gridner.corpus.brat_preannotation import add_predictions
from gridner.documents import Document
from gridner.errors import Notes, plural
from gridner.files import Source
from gridner.formats import check_write, write
from gridner.formats._support.folders import files_under
from gridner.inference.checkpoint import MANIFEST
from gridner.inference.installed_models import find_models
from gridner.inference.parallel import PredictionTask, predict_in_processes
from gridner.inference.resumable import PartialPredictions
from gridner.locking import only_process


def predict_documents(
    task: PredictionTask,
    documents: Iterable[Document],
    *,
    workers: int = 1,
    notes: Notes,
    on_sentence: Callable[[], None] = lambda: None,
) -> Iterator[tuple[Document, Document]]:
    """Yield each document as it was read and with the predicted entities. `on_sentence` is called per sentence."""
    waiting: deque[Document] = deque()

    def remember() -> Iterator[Document]:
        for document in documents:
            waiting.append(document)
            yield document

    if workers > 1:
        predictions = predict_in_processes(task, remember(), workers=workers, notes=notes, each=on_sentence)
    else:
        predictions = task.predict(task.load(), remember(), notes=notes, each=on_sentence)
    for predicted in predictions:
        yield waiting.popleft(), predicted


def predict_to_file(
    task: PredictionTask,
    documents: Iterable[Document],
    output: str | Path,
    *,
    format: str = "auto",
    workers: int = 1,
    resume: bool = False,
    force: bool = False,
    notes: Notes | None = None,
) -> int:
    """Predict documents and write them to a file or a folder. Return the number of entities.

    Partial predictions are kept beside the output, so that an interrupted call can continue with `resume`.
    """
    notes = Notes() if notes is None else notes

    def predict_rest(partial: PartialPredictions) -> Iterator[Document]:
        for _, predicted in predict_documents(task, partial.left(documents), workers=workers, notes=notes):
            yield predicted

    return write_predictions(
        predict_rest, Path(output), format, settings=task_identity(task), resume=resume, force=force, notes=notes
    )


def write_predictions(
    predict_rest: Callable[[PartialPredictions], Iterator[Document]],
    output: Path,
    format: str,
    *,
    settings: Mapping[str, Any],
    resume: bool,
    force: bool,
    notes: Notes,
    check_input: Callable[[], None] = lambda: None,
    say: Callable[[str], None] = lambda _: None,
) -> int:
    """Write predictions to a file or a folder once all of them are there. Return the number of entities.

    `predict_rest` predicts the documents that an interrupted run has left. A run with other `settings` is refused.
    `check_input` is called after the output is checked and before the first prediction; `say` gets messages.
    """
    check_write(output, format, force=force)
    partial = PartialPredictions(output, settings, resume=resume, notes=notes)
    if partial.done:
        say(f"{plural(len(partial.done), 'document')} already done")
    try:
        with partial:
            check_input()
            for _ in partial.add(predict_rest(partial)):
                pass
            return write(partial.documents(), output, format, force=force, notes=notes)
    except BaseException:
        if partial.folder.exists():
            say(f"partial predictions are kept in {partial.folder.name}; pass --resume to continue")
        raise


def add_to_brat_folder(
    folder: Path, predict: Callable[[], Iterable[tuple[Document, Document]]], *, notes: Notes
) -> tuple[int, int]:
    """Add predicted entities to the .ann files of a folder. Return the numbers of entities and documents.

    `predict` yields each document of the folder as it was read and with the predicted entities.
    """
    entities = documents = 0
    with only_process(folder, f"{folder}: another process is adding to it; try again when it has finished"):
        ann_files = files_under(folder, (".ann",), Source(folder, lenient=True))
        for before, predicted in predict():
            ann_file = ann_files.get(before.id, folder / f"{before.id}.ann")
            entities += add_predictions(ann_file, before, predicted.entities, notes)
            documents += 1
    return entities, documents


def task_identity(task: PredictionTask) -> dict[str, Any]:
    """Return what must not change when a run resumes: settings, and hashes of the model and the gazetteer."""
    settings = dataclasses.asdict(replace(task, threads=None, model=None, lexicon=None))
    manifests = [folder / MANIFEST for folder in find_models(task.model).values()]  # with the hashes of other files
    hashes: dict[str, str | None] = {"model": ", ".join(str(_hash(manifest)) for manifest in manifests)}
    if task.lexicon is not None:
        hashes["lexicon"] = task.lexicon if task.lexicon == "none" else _hash(Path(task.lexicon))
    return {**settings, **hashes, "gridner": version("gridner")}


def _hash(path: Path) -> str | None:
    """Return the hash of a file; None if it cannot be read, which is reported when it is used."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None
