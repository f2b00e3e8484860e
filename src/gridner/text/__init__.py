"""Sentences and words of a text, and entities as mentions of words."""

from gridner.text.alignment import Alignment, Mention, Sentence, Word, align, entity_of, with_sentences
from gridner.text.splitting import split_lines, split_sentences, tokenize

__all__ = [
    "Alignment",
    "Mention",
    "Sentence",
    "Word",
    "align",
    "entity_of",
    "split_lines",
    "split_sentences",
    "tokenize",
    "with_sentences",
]
