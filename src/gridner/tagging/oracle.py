"""What the tag scheme itself can reach: gold → grid → decode, to be scored like any prediction.

It is below 1 where words or sentences cut an entity, and where links of several mentions join a head to its tail by
another way than any of them: the grid is ambiguous by nature.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from gridner.documents import Document
from gridner.errors import Notes
from gridner.tagging.decoding import Decoded, decode_few
from gridner.text.sentences import Alignment, Sentence, align, entity_of


def oracle(document: Document, *, alignment: Alignment | None = None, notes: Notes | None = None) -> Document:
    """The document with the entities that its own gold grids give back."""
    found = []
    for number, sentence in enumerate((alignment or align(document)).sentences):
        if not sentence.mentions:
            continue
        decoded = through_grid(sentence)
        if notes is not None and (decoded.capped_cells or decoded.capped_mentions):
            notes.add("sentence where the decoder's caps were reached", f"{document.id}: sentence {number + 1}")
        found += [entity_of(sentence, mention) for mention in decoded.mentions]
    return replace(document, entities=tuple(found))


def through_grid(sentence: Sentence) -> Decoded:
    """Return the mentions that the grid of a sentence's own mentions gives back.

    Only the cells that hold a tag are kept: a sentence may have any number of words.
    """
    types = sorted({mention.type for mention in sentence.mentions})
    number = {name: place for place, name in enumerate(types)}
    links = {pair for mention in sentence.mentions for pair in pairwise(mention.words)}
    ends = {(mention.head, mention.tail, number[mention.type]) for mention in sentence.mentions}
    return decode_few([(*pair, 1.0) for pair in sorted(links)], [(*end, 1.0) for end in sorted(ends)], types)
