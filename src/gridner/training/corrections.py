"""Learn from corrections: continue the training of a model on documents that annotators corrected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from gridner.config import Config, TrainConfig, with_settings
from gridner.corpus.held_out import hold_out
from gridner.corpus.splits import Part, part_of
from gridner.documents import Document
from gridner.errors import Notes, OutputError, UsageError, plural
from gridner.inference.checkpoint import Checkpoint, read_checkpoint
from gridner.inference.corpus_evaluation import AnnotatedPart, evaluate_part, predict_part
from gridner.inference.loading import load
from gridner.scoring.evaluation import Evaluation
from gridner.training.loop import Watcher
from gridner.training.run import train_once
from gridner.training.task import TrainingTask

DEV_SHARE = 0.2
REHEARSED = 3  # sentences of the old corpus per corrected sentence, at most
EPOCHS, PATIENCE = 10, 3
RATE_FACTOR = 0.3  # of the learning rates of the first training


@dataclass(frozen=True, slots=True)
class Learned:
    """The scores of a model before and after it learned, on the same dev documents."""

    before: Evaluation
    after: Evaluation
    train: Part  # corrected and rehearsed documents
    dev: Part

    @property
    def improved(self) -> bool:
        """Whether the F1 of all entities is at least as high as before."""
        return self.after.score().f1 >= self.before.score().f1


def learn(
    corrections: Iterable[Document],
    *,
    model: str | Path,
    output: str | Path,
    dev: float | Iterable[Document] = DEV_SHARE,
    rehearse: Iterable[Document] = (),
    settings: Sequence[str] = (),
    resume: bool = False,
    watcher: Callable[[TrainConfig], Watcher | None] = lambda _: None,
    notes: Notes | None = None,
    command: str = "",
) -> Learned:
    """Train a model further on corrected documents, write it to `output`, and score both on the same dev documents.

    `dev` is the share of the corrections that is held out, or other documents. `rehearse` are documents of the corpus
    that the model was trained on; they keep it from forgetting. The model keeps its types and learns new ones.
    `settings` change the settings of the training, such as "train.epochs=5".
    """
    notes = Notes() if notes is None else notes
    folder = Path(model)
    checkpoint, _ = read_checkpoint(folder)
    _check_trainable(checkpoint, folder)
    config = _fine_tuning_config(checkpoint, settings)
    corrected = part_of(corrections, notes=notes, name="train")
    if not corrected.types:
        documents = plural(len(corrected.documents), "annotated document")
        raise UsageError(f"corrections: no entities in {documents}, expected some to learn from (--ids chooses)")
    if isinstance(dev, float):
        train, held_out = hold_out(corrected, dev)
    else:
        train, held_out = corrected, part_of(dev, notes=notes, name="dev")
    rehearsed = list(rehearse)
    _check_rehearsed_types(rehearsed, corrected)
    rehearsed_part = part_of(_new_texts(rehearsed, corrected, held_out, notes), notes=notes, name="train")
    train = _joined(train, _sample(rehearsed_part, REHEARSED * len(train.sentences)), types=checkpoint.types)
    task = TrainingTask(
        config=config,
        train=train,
        dev=held_out,
        output=Path(output),
        init=folder,
        split=frozenset(("dev",)) if isinstance(dev, float) else frozenset(),
        command=command,
    )
    before = _scores(folder, held_out, train.types)
    train_once(task, seed=config.train.seeds[0], resume=resume, watcher=watcher(config.train), notes=notes)
    return Learned(before, _scores(Path(output), held_out, train.types), train, held_out)


def replace_model(model: Path, new: Path) -> Path:
    """Rename the model to a backup and the new model to its name. Return the folder of the backup."""
    number, backup = 1, model.with_name(f"{model.name}.old")
    while backup.exists():
        number += 1
        backup = model.with_name(f"{model.name}.old-{number}")
    try:
        model.rename(backup)
        try:
            new.rename(model)
        except OSError:
            backup.rename(model)
            raise
    except OSError as error:
        raise OutputError(f"{model}: cannot be replaced by {new} ({error.strerror}); both are still there") from None
    return backup


def _check_trainable(checkpoint: Checkpoint, folder: Path) -> None:
    if checkpoint.exported:
        raise UsageError(
            f"{folder}: an exported model cannot be trained; give the folder that gridner train wrote and gridner "
            "export read"
        )
    if checkpoint.groups:
        names = ", ".join(group.name for group in checkpoint.groups)
        raise UsageError(
            f"{folder}: a model of several corpora ({names}); continue it with gridner train --init and all of them"
        )


def _fine_tuning_config(checkpoint: Checkpoint, settings: Sequence[str]) -> Config:
    """Return the settings of the first training with lower rates and fewer epochs, then changed by `settings`."""
    config = checkpoint.config
    raw = checkpoint.calibration.score_for(config.decoding.threshold)  # the new model is calibrated anew
    train = replace(
        config.train,
        epochs=EPOCHS,
        patience=PATIENCE,
        rate=RATE_FACTOR * config.train.rate,
        encoder_rate=RATE_FACTOR * config.train.encoder_rate,
        tune_thresholds=False,
        keep_epochs=False,
    )
    fine_tuning = replace(config, train=train, decoding=replace(config.decoding, threshold=raw))
    return with_settings(fine_tuning, settings, "--set")


def _new_texts(documents: Iterable[Document], corrected: Part, dev: Part, notes: Notes) -> list[Document]:
    """Return the documents whose text is neither in the corrections nor in dev."""
    texts = {document.text for part in (corrected, dev) for document in part.documents}
    new = []
    for document in documents:
        if document.text in texts:
            notes.add("rehearsed document that is among the corrections or in dev, left out", document.id)
        else:
            new.append(document)
    return new


def _check_rehearsed_types(rehearsed: Sequence[Document], corrected: Part) -> None:
    """Raise UsageError if the corrections have types that no rehearsed document has.

    Rehearsed documents without annotations of a new type would teach the model not to find it.
    """
    new = sorted(set(corrected.types) - {entity.type for document in rehearsed for entity in document.entities})
    if rehearsed and new:
        raise UsageError(
            f"rehearsed documents: no entities of {', '.join(new)}, which the corrections have; rehearse documents "
            "with these types too, or none"
        )


def _sample(part: Part, sentences: int) -> Part:
    """Return documents of a part, drawn at random, that have about this number of sentences."""
    counts: dict[str, int] = {}
    for sentence in part.sentences:
        counts[sentence.document_id] = counts.get(sentence.document_id, 0) + 1
    ids = [document.id for document in part.documents]
    Random(0).shuffle(ids)
    chosen: set[str] = set()
    for name in ids:
        if sentences <= 0:
            break
        chosen.add(name)
        sentences -= counts.get(name, 0)
    return Part(
        tuple(document for document in part.documents if document.id in chosen),
        tuple(sentence for sentence in part.sentences if sentence.document_id in chosen),
    )


def _joined(first: Part, second: Part, *, types: tuple[str, ...]) -> Part:
    """Return one part with the documents of both, which annotates these types."""
    return Part((*first.documents, *second.documents), (*first.sentences, *second.sentences), types)


def _scores(model: Path, dev: Part, types: tuple[str, ...]) -> Evaluation:
    predictions = predict_part(load(model), dev)
    return evaluate_part(dev, AnnotatedPart(dev, types).only(predictions))
