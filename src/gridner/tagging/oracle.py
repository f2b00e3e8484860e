"""What the tag scheme itself can reach: gold → grid → decode, to be scored like any prediction.

It is below 1 where words or sentences cut an entity, and where links of several mentions join a head to its tail by
another way than any of them: the grid is ambiguous by nature.
"""

from __future__ import annotations

from dataclasses import replace

from gridner.documents import Document
from gridner.errors import Notes
from gridner.tagging.decoding import decode
from gridner.tagging.tags import TagScheme
from gridner.text.sentences import Alignment, align, entity_of, renumber


def oracle(document: Document, *, alignment: Alignment | None = None, notes: Notes | None = None) -> Document:
    """The document with the entities that its own gold grids give back."""
    found = []
    for number, sentence in enumerate((alignment or align(document)).sentences):
        if not sentence.mentions:
            continue
        used = sorted({word for mention in sentence.mentions for word in mention.words})  # others have no tag
        place = {word: number for number, word in enumerate(used)}
        scheme = TagScheme(tuple(sorted({mention.type for mention in sentence.mentions})))
        grid = scheme.encode([renumber(mention, place) for mention in sentence.mentions], len(used))
        decoded = decode(scheme.relations(grid), scheme.types)
        if notes is not None and (decoded.capped_cells or decoded.capped_mentions):
            notes.add("sentence where the decoder's caps were reached", f"{document.id}: sentence {number + 1}")
        found += [entity_of(sentence, renumber(mention, used)) for mention in decoded.mentions]
    return replace(document, entities=tuple(found))
