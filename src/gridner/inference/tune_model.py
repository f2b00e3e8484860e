"""Tune a model for new corpora without training: thresholds, the bonus of gazetteer names, calibration."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from gridner.config import DecodingConfig
from gridner.corpus.gazetteer import Lexicon, fitting_names, names_of
from gridner.corpus.splits import Part, part_of
from gridner.documents import Document
from gridner.errors import Notes, UsageError
from gridner.files import check_output, write_text, write_whole
from gridner.inference.cached_engine import CachedEngine
from gridner.inference.checkpoint import ATTRIBUTION, Checkpoint, read_checkpoint, write_checkpoint
from gridner.inference.corpus_evaluation import AnnotatedPart, evaluate_part, predict_part, predictions_jsonl
from gridner.inference.group_tuning import GroupTuning
from gridner.inference.installed_models import find_model
from gridner.inference.loading import load
from gridner.inference.model_card import card_of, kind_of
from gridner.inference.recognizer import Recognizer
from gridner.inference.tuning import tune_and_calibrate, tune_groups, without_tuning
from gridner.scoring.evaluation import Evaluation
from gridner.scoring.serialization import evaluation_json
from gridner.text.alignment import Sentence, align

Corpora = Iterable[Document] | Mapping[str, Iterable[Document]]  # one, or several by name


@dataclass(frozen=True, slots=True)
class TunedModel:
    """Where a tuned model is, what was chosen, and its scores by part: dev before and after, test after."""

    folder: Path
    decoding: DecodingConfig
    tunings: Mapping[str, GroupTuning]  # by corpus; a model of one corpus has one tuning, with the empty name
    before: Mapping[str, Evaluation]
    after: Mapping[str, Evaluation]


def tune_model(
    dev: Corpora,
    output: str | Path,
    *,
    model: str | Path | None = None,
    lexicon: str | None = None,
    names_from: Sequence[Iterable[Document]] = (),
    test: Corpora | None = None,
    ignore_missing_types: bool = False,
    threads: int | None = None,
    force: bool = False,
    command: str = "",
    notes: Notes | None = None,
) -> TunedModel:
    """Choose the decoding settings and the calibration of a model on documents, and write it as a new model.

    The network stays as it is, so this needs no torch. The default model is the one that comes with gridner. The names
    of annotated corpora `names_from` are added to its gazetteer, and names that these mostly leave unannotated are
    dropped. Each corpus counts for the types of the model's groups that it annotates; with `ignore_missing_types`,
    only for types that it has entities of. The output folder also gets the predictions, `dev.jsonl` and `test.jsonl`.
    """
    output, folder = Path(output), find_model(model)
    notes = Notes() if notes is None else notes
    check_output(output, folder=True, force=force)
    if output.exists() and output.samefile(folder):
        raise UsageError(f"{output}: the folder of the model itself; choose another one")
    checkpoint, pieces = read_checkpoint(folder)
    recognizer = load(folder, threads=threads, lexicon=lexicon)
    parts = {
        name: _annotated(part_of(documents, notes=notes, name=name), name, checkpoint, ignore_missing_types, notes)
        for name, documents in (*_parts("dev", dev), *_parts("test", test or {}))
    }
    devs = {name: part for name, part in parts.items() if kind_of(name) == "dev"}
    if names_from:
        recognizer.lexicon = _with_names_of(names_from, recognizer.lexicon, notes)
    engine = recognizer.engine
    recognizer.engine = CachedEngine(engine)
    before = {name: _predicted(replace(recognizer, lexicon=checkpoint.lexicon), dev)[1] for name, dev in devs.items()}
    checkpoint = without_tuning(replace(checkpoint, lexicon=recognizer.lexicon))
    recognizer = _decoding_like(checkpoint, recognizer)
    if checkpoint.groups and len(devs) > 1:
        checkpoint, reliability = tune_groups(checkpoint, recognizer, list(devs.values()))
    else:
        checkpoint, reliability = tune_and_calibrate(checkpoint, recognizer, *devs.values(), notes=notes)
    recognizer = _decoding_like(checkpoint, recognizer)
    after, texts = {}, {}
    for name, part in parts.items():
        recognizer = recognizer if name in devs else replace(recognizer, engine=engine)
        predicted, after[name] = _predicted(recognizer, part)
        texts[f"{name}.jsonl"] = predictions_jsonl(predicted)
    facts = dict(checkpoint.training)
    train_data = {name: about for name, about in facts.get("data", {}).items() if kind_of(name) == "train"}
    facts |= {
        "tuned": [*facts.get("tuned", []), command],
        "data": {**train_data, **{name: annotated.part.about() for name, annotated in parts.items()}},
        "scores": {name: evaluation_json(evaluation) for name, evaluation in after.items()},
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
    if (folder / ATTRIBUTION).is_file():
        texts[ATTRIBUTION] = (folder / ATTRIBUTION).read_text(encoding="utf-8")
    for name, text in texts.items():
        write_whole(output / name, partial(write_text, text=text), folder=False, force=True)
    names = (group.name for group in checkpoint.scheme.groups)
    return TunedModel(
        output, checkpoint.config.decoding, dict(zip(names, recognizer.tunings, strict=True)), before, after
    )


def _decoding_like(checkpoint: Checkpoint, recognizer: Recognizer) -> Recognizer:
    """Return the recognizer with the decoding settings and the calibration of a checkpoint."""
    return replace(
        recognizer,
        decoding=checkpoint.config.decoding,
        calibration=checkpoint.calibration,
        group_tunings=checkpoint.group_tunings,
    )


def _with_names_of(corpora: Sequence[Iterable[Document]], lexicon: Lexicon, notes: Notes) -> Lexicon:
    """Return a gazetteer with the names of annotated corpora, without names that these mostly leave unannotated.

    Names of types that the corpora do not annotate stay.
    """
    sentences: list[list[Sentence]] = []
    for documents in corpora:
        aligned = [(document, align(document)) for document in documents]
        sentences.append([sentence for _, alignment in aligned for sentence in alignment.sentences])
        for document, alignment in aligned:
            for entity, why in alignment.cut:
                note = f"names-from: entity that {why.value}, its name is not added"
                notes.add(note, f"{document.id}: {entity.type}")
    own = Lexicon(name for corpus in sentences for name in names_of(corpus))
    annotated = own.types
    others = Lexicon((type, name) for type, name in lexicon if type not in annotated)
    judged = own | Lexicon((type, name) for type, name in lexicon if type in annotated)
    return others | fitting_names(judged, sentences, notes=notes)


def _parts(kind: str, corpora: Corpora) -> list[tuple[str, Iterable[Document]]]:
    """Return the documents by the name of their part: dev, or dev-NAME if the corpora have names."""
    if isinstance(corpora, Mapping):
        return [(f"{kind}-{name}", documents) for name, documents in corpora.items()]
    return [(kind, corpora)]


def _annotated(
    part: Part, name: str, checkpoint: Checkpoint, ignore_missing_types: bool, notes: Notes
) -> AnnotatedPart:
    """Return the part with the types that it counts for. Other types are an error or noted."""
    present, known = set(part.types), checkpoint.types
    if not present:
        raise UsageError(f"{name}: no entities; tuning needs some of {', '.join(known)}")
    if unknown := sorted(present - set(known)):
        raise UsageError(
            f"{name}: entities of {', '.join(unknown)}, expected those of {', '.join(known)} alone (see --types)"
        )
    groups = [group.types for group in checkpoint.scheme.groups if present & set(group.types)]
    counted = present if ignore_missing_types else {type for types in groups for type in types}
    for missing in sorted(set(known) - present):
        if missing in counted:
            notes.add(f"{name}: type without entities, predictions count as wrong; --types leaves them out", missing)
        elif len(checkpoint.scheme.groups) == 1:
            notes.add(f"{name}: type without entities, left out", missing)
    return AnnotatedPart(part, tuple(sorted(counted)))


def _predicted(recognizer: Recognizer, annotated: AnnotatedPart) -> tuple[list[Document], Evaluation]:
    predicted = annotated.only(predict_part(recognizer, annotated.part))
    return predicted, evaluate_part(annotated.part, predicted)
