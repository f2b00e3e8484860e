"""Documents from lists of words, and the sentences to write, for the formats that have words instead of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gridner.documents import Document, Entity, Fragment, covered_text, show_fragments
from gridner.errors import InvalidError, Notes
from gridner.formats._support.lost_information import note_losses
from gridner.text.alignment import Mention, Sentence, Word, align, entity_of

Record = tuple[Sequence[str], Sequence[Mention]]  # the words of a sentence, and its mentions


def document_from_words(document_id: str, records: Sequence[Record]) -> Document:
    """Return a document whose text has spaces between words and line feeds between sentences."""
    sentences: list[tuple[Fragment, ...]] = []
    entities: list[Entity] = []
    start = 0
    for words, mentions in records:
        if not words or not all(words):
            raise InvalidError(
                f"sentence {len(sentences) + 1}: words are {list(words)!r:.60}, expected at least one, none empty"
            )
        offsets = []
        for word in words:
            offsets.append(Fragment(start, start + len(word)))
            start += len(word) + 1
        located = tuple(Word(word, at.start, at.end) for word, at in zip(words, offsets, strict=True))
        sentence = Sentence(document_id, located, tuple(dict.fromkeys(mentions)))
        entities += [entity_of(sentence, mention) for mention in mentions]
        sentences.append(tuple(offsets))
    return Document(document_id, "\n".join(" ".join(words) for words, _ in records), tuple(entities), tuple(sentences))


def sentences_to_write(document: Document, notes: Notes, format: str) -> Iterator[Sentence]:
    """Yield the sentences of a document, and count what a format of words leaves out."""
    note_losses(document, notes, format, sentences=True)
    aligned = align(document)
    if not aligned.sentences:
        notes.add(f"document without words, not written to {format}", document.id)
        return
    if document.text != "\n".join(" ".join(word.text for word in sentence.words) for sentence in aligned.sentences):
        notes.add(f"text between the words, not carried by {format} (offsets change)", document.id)
    mentions = sum(len(sentence.mentions) for sentence in aligned.sentences)
    for _ in range(len(document.entities) - len(aligned.cut) - mentions):
        notes.add(f"entity that repeats another one, written once to {format}", document.id)
    for entity, reason in aligned.cut:
        covered = covered_text(document.text, entity.fragments)
        notes.add(
            f"entity that {reason.value}, not written to {format}",
            f"{document.id}: {entity.type} {show_fragments(entity.fragments)} {covered[:60]!r}",
        )
    yield from aligned.sentences
