"""Hold out documents: a share of them as dev, or folds for cross-validation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from gridner.corpus.splits import Corpus, Part
from gridner.documents import Document
from gridner.errors import UsageError, plural

DEV_SHARE = 0.1  # of the training documents, by default
SPLIT_SEED = 0  # which documents are held out does not depend on the seed of the training


def hold_out(part: Part, share: float) -> tuple[Part, Part]:
    """Split off a share of the documents, at least one. Return the rest and what is held out."""
    documents = sorted(part.documents, key=lambda document: document.id)
    if len(documents) < 2:
        raise UsageError(f"{plural(len(documents), 'document')}, expected at least two to hold some out as dev")
    if not part.types:
        raise UsageError(f"train: no entities in {plural(len(documents), 'document')}, expected some to learn from")
    Random(SPLIT_SEED).shuffle(documents)
    count = min(len(documents) - 1, max(1, round(share * len(documents))))
    documents_left = Counter(name for document in documents for name in _types(document))  # by type
    held: list[Document] = []
    for document in documents:
        wanted = len(held) < count or not any(other.entities for other in held)  # there must be something to score
        if wanted and all(documents_left[name] > 1 for name in _types(document)):  # the rest keeps every type
            documents_left.subtract(_types(document))
            held = [*held, document][-count:]
    if not any(document.entities for document in held):
        raise UsageError("no document with entities can be held out as dev, as each has a type of its own")
    ids = {document.id for document in held}
    return _only(part, [document for document in documents if document.id not in ids]), _only(part, held)


def hold_out_each(corpora: Sequence[Corpus], share: float) -> list[Corpus]:
    """Return the corpora with a share of the training documents of each as its dev."""
    split = [(corpus, *hold_out(corpus.train, share)) for corpus in corpora]
    return [replace(corpus, train=rest, dev=held) for corpus, rest, held in split]


def folds_of(part: Part, count: int) -> list[tuple[Part, Part]]:
    """Split a part into folds. Return the rest and the fold, for each fold."""
    documents = sorted(part.documents, key=lambda document: document.id)
    if not 2 <= count <= len(documents):
        raise UsageError(
            f"{count} folds of {plural(len(documents), 'document')}, expected from 2 to the number of documents"
        )
    Random(SPLIT_SEED).shuffle(documents)
    folds = [documents[number::count] for number in range(count)]
    return [
        (_only(part, [document for other in folds if other is not held for document in other]), _only(part, held))
        for held in folds
    ]


def folds_of_each(corpora: Sequence[Corpus], count: int) -> list[list[Corpus]]:
    """Return the corpora once per fold, with that fold of each as its test."""
    folds = [folds_of(corpus.train, count) for corpus in corpora]
    return [
        [replace(corpus, train=rest, test=held) for corpus, (rest, held) in zip(corpora, same_number, strict=True)]
        for same_number in zip(*folds, strict=True)
    ]


def _types(document: Document) -> set[str]:
    return {entity.type for entity in document.entities}


def _only(part: Part, documents: Sequence[Document]) -> Part:
    ids = {document.id for document in documents}
    return Part(
        tuple(document for document in part.documents if document.id in ids),
        tuple(sentence for sentence in part.sentences if sentence.document_id in ids),
    )
