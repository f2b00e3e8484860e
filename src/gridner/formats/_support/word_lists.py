"""What the formats of words share: a document from lists of words, and the sentences that stand for a document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gridner.documents import Document, Entity, Fragment, covered_text, show_fragments
from gridner.errors import InvalidError, Notes
from gridner.formats._support.lost_information import note_losses
from gridner.text.sentences import Mention, Sentence, Word, align, entity_of

Record = tuple[Sequence[str], Sequence[Mention]]  # the words of a sentence, and its mentions


def document_of(document_id: str, records: Sequence[Record]) -> Document:
    """A document whose text is the words parted by spaces and the sentences parted by line feeds."""
    sentences: list[tuple[Fragment, ...]] = []
    entities: list[Entity] = []
    place = 0
    for words, mentions in records:
        if not words or not all(words):
            raise InvalidError(
                f"sentence {len(sentences) + 1}: words are {list(words)!r:.60}, expected at least one, none empty"
            )
        offsets = []
        for word in words:
            offsets.append(Fragment(place, place + len(word)))
            place += len(word) + 1
        placed = tuple(Word(word, at.start, at.end) for word, at in zip(words, offsets, strict=True))
        sentence = Sentence(document_id, placed, tuple(dict.fromkeys(mentions)))
        entities += [entity_of(sentence, mention) for mention in mentions]
        sentences.append(tuple(offsets))
    return Document(document_id, "\n".join(" ".join(words) for words, _ in records), tuple(entities), tuple(sentences))


def sentences_for(document: Document, notes: Notes, format: str) -> Iterator[Sentence]:
    """The sentences that a format of words writes for a document; what they leave out is counted."""
    note_losses(document, notes, format, sentences=True)
    aligned = align(document)
    if not aligned.sentences:
        notes.add(f"document without words, not written to {format}", document.id)
        return
    if document.text != "\n".join(" ".join(word.text for word in sentence.words) for sentence in aligned.sentences):
        notes.add(f"text between the words, not carried by {format} (offsets change)", document.id)
    kept = sum(len(sentence.mentions) for sentence in aligned.sentences)
    for _ in range(len(document.entities) - len(aligned.cut) - kept):
        notes.add(f"entity that repeats another one, written once to {format}", document.id)
    for entity, reason in aligned.cut:
        said = covered_text(document.text, entity.fragments)
        notes.add(
            f"entity that {reason.value}, not written to {format}",
            f"{document.id}: {entity.type} {show_fragments(entity.fragments)} {said[:60]!r}",
        )
    yield from aligned.sentences
