"""gridner: discontinuous named-entity recognition.

from gridner import read, evaluate
for document in read("examples"):
    ...
"""

from gridner.documents import Document, Entity, Fragment
from gridner.errors import FormatError, GridnerError, InvalidError, MismatchError, Notes, OutputError, UsageError
from gridner.evaluate import Evaluation, Score, evaluate
from gridner.formats import FORMATS, read, write
from gridner.sentences import Alignment, Mention, Sentence, Word, align, entity_of, with_sentences
from gridner.split import split_lines, split_sentences, tokenize

__version__ = "0.1.0"

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
    "read",
    "split_lines",
    "split_sentences",
    "tokenize",
    "with_sentences",
    "write",
]
