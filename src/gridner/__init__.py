"""gridner: discontinuous named-entity recognition.

import gridner
recognizer = gridner.load()
document = recognizer("loss of rod and cone photoreceptors")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gridner.documents import Document, Entity, Fragment
from gridner.errors import FormatError, GridnerError, InvalidError, MismatchError, Notes, OutputError, UsageError
from gridner.formats import FORMATS, read, write
from gridner.scoring.evaluation import Evaluation, Score, evaluate
from gridner.text.sentences import Alignment, Mention, Sentence, Word, align, entity_of, with_sentences
from gridner.text.splitting import split_lines, split_sentences, tokenize

if TYPE_CHECKING:
    from pathlib import Path

    from gridner.inference.recognizer import Recognizer

__version__ = "0.2.0"

__all__ = [
    "FORMATS",
    "Alignment",
    "Document",
    "Entity",
    "Evaluation",
    "FormatError",
    "Fragment",
    "GridnerError",
    "InvalidError",
    "Mention",
    "MismatchError",
    "Notes",
    "OutputError",
    "Score",
    "Sentence",
    "UsageError",
    "Word",
    "__version__",
    "align",
    "entity_of",
    "evaluate",
    "load",
    "read",
    "split_lines",
    "split_sentences",
    "tokenize",
    "with_sentences",
    "write",
]


def load(model: str | Path | None = None, *, threads: int | None = None, **decoding: Any) -> Recognizer:
    """A recognizer on a model folder, or on the model that comes with gridner.

    `decoding` changes its settings, such as `threshold=0.3`; `lexicon` names a file of names that are known.
    """
    from gridner.inference.loading import load as from_folder  # brings numpy and an engine, which reading does not need

    return from_folder(model, threads=threads, **decoding)
