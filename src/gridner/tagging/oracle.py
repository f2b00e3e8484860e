"""The best that the tag scheme can reach: gold → grid → decode, scored like any prediction.

The score is below 1 if words or sentences cut an entity, or if the links of several mentions form another path from a
head to its tail: the grid is ambiguous by nature.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from gridner.documents import Document
from gridner.errors import Notes
from gridner.tagging.decoding import Decoded, decode_sparse
from gridner.text.alignment import Alignment, Sentence, align, entity_of


def oracle(document: Document, *, alignment: Alignment | None = None, notes: Notes | None = None) -> Document:
    """Return the document with the entities that its own gold grids give back."""
    entities = []
    for number, sentence in enumerate((alignment or align(document)).sentences):
        if not sentence.mentions:
            continue
        decoded = through_grid(sentence)
        if notes is not None and (decoded.capped_cells or decoded.capped_mentions):
            notes.add("sentence where the decoder's caps were reached", f"{document.id}: sentence {number + 1}")
        entities += [entity_of(sentence, mention) for mention in decoded.mentions]
    return replace(document, entities=tuple(entities))


def through_grid(sentence: Sentence) -> Decoded:
    """Return the mentions that the grid of a sentence's own mentions gives back.

    It keeps only the cells that hold a tag, so a sentence may have any number of words.
    """
    types = sorted({mention.type for mention in sentence.mentions})
    number = {name: number for number, name in enumerate(types)}
    links = {pair for mention in sentence.mentions for pair in pairwise(mention.words)}
    ends = {(mention.head, mention.tail, number[mention.type]) for mention in sentence.mentions}
    return decode_sparse([(*pair, 1.0) for pair in sorted(links)], [(*end, 1.0) for end in sorted(ends)], types)
