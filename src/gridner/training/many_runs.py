"""Several trainings: seeds and folds, with mean and deviation."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from gridner.config import TrainConfig
from gridner.corpus.splits import Corpus, Part
from gridner.documents import Document
from gridner.errors import Notes, OutputError, UsageError, plural
from gridner.files import write_text, write_whole
from gridner.scoring.significance import Spread, spread
from gridner.training.loop import Watcher
from gridner.training.run import train_once
from gridner.training.task import TrainingTask, check_parts

SUMMARY = "summary.json"
SPLIT_SEED = 0  # which documents are held out does not depend on the seed of the training
MEASURES = ("precision", "recall", "f1")


def hold_out(part: Part, share: float) -> tuple[Part, Part]:
    """Two parts: the rest, and a share of the documents, at least one."""
    documents = sorted(part.documents, key=lambda document: document.id)
    if len(documents) < 2:
        raise UsageError(f"{plural(len(documents), 'document')}, expected at least two to hold some out as dev")
    if not part.types:
        raise UsageError(f"train: no entities in {plural(len(documents), 'document')}, expected some to learn from")
    Random(SPLIT_SEED).shuffle(documents)
    count = min(len(documents) - 1, max(1, round(share * len(documents))))
    having = Counter(name for document in documents for name in _types(document))
    held: list[Document] = []
    for document in documents:
        wanted = len(held) < count or not any(one.entities for one in held)  # there must be something to score
        if wanted and all(having[name] > 1 for name in _types(document)):  # the rest keeps every type
            having.subtract(_types(document))
            held = [*held, document][-count:]
    if not any(document.entities for document in held):
        raise UsageError("no document with entities can be held out as dev, as each has a type of its own")
    ids = {document.id for document in held}
    return _only(part, [document for document in documents if document.id not in ids]), _only(part, held)


def hold_out_each(corpora: Sequence[Corpus], share: float) -> list[Corpus]:
    """The corpora with a share of the documents of each as its dev."""
    found = []
    for corpus in corpora:
        rest, held = hold_out(corpus.train, share)
        found.append(replace(corpus, train=rest, dev=held))
    return found


def folds_of_each(corpora: Sequence[Corpus], count: int) -> list[list[Corpus]]:
    """For each fold the corpora, with the fold of each as its test."""
    folds = [folds_of(corpus.train, count) for corpus in corpora]
    return [
        [
            replace(corpus, train=rest, test=held)
            for corpus, (rest, held) in zip(corpora, (one[number] for one in folds), strict=True)
        ]
        for number in range(count)
    ]


def _types(document: Document) -> set[str]:
    return {entity.type for entity in document.entities}


def folds_of(part: Part, count: int) -> list[tuple[Part, Part]]:
    """For each fold the rest, and the fold."""
    documents = sorted(part.documents, key=lambda document: document.id)
    if not 2 <= count <= len(documents):
        raise UsageError(
            f"{count} folds of {plural(len(documents), 'document')}, expected from 2 to the number of documents"
        )
    Random(SPLIT_SEED).shuffle(documents)
    parts = [documents[number::count] for number in range(count)]
    return [
        (_only(part, [one for other in parts if other is not held for one in other]), _only(part, held))
        for held in parts
    ]


def _only(part: Part, documents: Sequence[Document]) -> Part:
    ids = {document.id for document in documents}
    return Part(
        tuple(document for document in part.documents if document.id in ids),
        tuple(sentence for sentence in part.sentences if sentence.document_id in ids),
    )


def train_all(
    tasks: Mapping[str, TrainingTask],
    *,
    seeds: Sequence[int],
    output: Path,
    resume: bool,
    watcher: Callable[[str, TrainConfig, int], Watcher | None],
    notes: Callable[[str], Notes],
) -> dict[str, Mapping[str, Any]]:
    """Every task with every seed. One run goes to `output` itself, several to folders in it, with a summary.

    Each has its own `notes`. What would stop a later run is looked for before the first.
    """
    runs = [
        ("/".join(filter(None, (name, f"seed-{seed}" if len(seeds) > 1 else ""))), task, seed)
        for name, task in tasks.items()
        for seed in seeds
    ]
    for _, task, _ in runs:
        check_parts(task, Notes())
    if len(runs) > 1:
        _check_root(output, [name for name, _, _ in runs], resume=resume)
    found: dict[str, Mapping[str, Any]] = {}
    for done, (name, task, seed) in enumerate(runs):
        later = len(runs) - done - 1
        found[name] = train_once(
            replace(task, output=output / name if name else output, later=later),
            seed=seed,
            resume=resume,
            watcher=watcher(name, task.config.train, later),
            notes=notes(name),
        )
    if len(runs) > 1 and all(found.values()):
        text = json.dumps({"runs": sorted(found), "scores": summary_json(found)}, indent=1)
        write_whole(output / SUMMARY, lambda part: write_text(part, text), folder=False, force=True)
    return found


def _check_root(output: Path, names: Sequence[str], *, resume: bool) -> None:
    """The folder of several runs must be new, or have nothing but such runs."""
    if output.exists() and not output.is_dir():
        raise OutputError(f"{output}: is a file, expected a new folder")
    there = {path.name for path in output.iterdir()} if output.exists() else set()
    if there and not resume:
        raise OutputError(f"{output}: exists and is not empty, expected a new folder; --resume goes on with a run")
    strange = sorted(there - {Path(name).parts[0] for name in names} - {SUMMARY})
    if strange:
        raise OutputError(f"{output}: has {strange[0]!r}, expected the runs {', '.join(names[:3])} …, or a new folder")


def summary(runs: Mapping[str, Mapping[str, Any]], part: str) -> dict[str, dict[str, Spread]]:
    """Slice → measure → mean and deviation over the runs that have gold entities in the slice."""
    spreads: dict[str, dict[str, Spread]] = {}
    every = [facts["scores"][part]["exact"] for facts in runs.values() if part in facts["scores"]]
    for name in dict.fromkeys(name for scores in every for name in scores):
        rows = [one for scores in every if (one := scores.get(name)) and one["tp"] + one["fn"]]
        if not rows:
            continue
        spreads[name] = {measure: spread([row[measure] for row in rows]) for measure in MEASURES}
    return spreads


def summary_json(runs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The summary of every dev and test, as plain data."""
    return {
        part: {
            name: {
                measure: {"mean": at.mean, "deviation": at.deviation, "runs": at.runs} for measure, at in row.items()
            }
            for name, row in summary(runs, part).items()
        }
        for part in scored_parts(runs)
    }


def scored_parts(runs: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The names of the parts that runs have scores on."""
    return list(dict.fromkeys(part for facts in runs.values() for part in facts["scores"]))
