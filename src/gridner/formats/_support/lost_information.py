"""Count what a format cannot carry."""

from __future__ import annotations

from gridner.documents import Document
from gridner.errors import Notes


def note_losses(
    document: Document,
    notes: Notes,
    format: str,
    *,
    ids: bool = False,
    sentences: bool = False,
    scores: bool = False,
    own_meta: str | None = None,
    own_entity_meta: str | None = None,
) -> None:
    """Count what a format leaves out of a document. `own_meta` and `own_entity_meta` are the keys of meta it writes."""
    if document.sentences is not None and not sentences:
        notes.add(f"document's own sentences and words, not carried by {format}", document.id)
    if any(key != own_meta for key in document.meta):
        notes.add(f"document's meta, not carried by {format}", document.id)
    for entity in document.entities:
        if entity.score is not None and not scores:
            notes.add(f"score, not carried by {format}", f"{document.id}: {entity.type} {entity.start}-{entity.end}")
        if entity.id is not None and not ids:
            notes.add(f"entity id, not carried by {format}", f"{document.id}: {entity.id}")
        if any(key != own_entity_meta for key in entity.meta):
            notes.add(
                f"entity's meta, not carried by {format}", f"{document.id}: {entity.type} {entity.start}-{entity.end}"
            )
