"""Docs of spaCy to documents, and entities into docs: as spans, and whole."""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from gridner.documents import Document, Entity, Fragment
from gridner.errors import Notes, UsageError
from gridner.text.alignment import with_sentences
from gridner.text.splitting import split_sentences

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span

NAME = "gridner"  # of the factory, of the extension and of our part of a doc's user data
WIDENED = "fragment that begins or ends inside a token of spaCy, widened to tokens in doc.spans"

Whose = Literal["gridner", "spacy"]


def document_of(doc: Doc, id: str, *, tokens: Whose, sentences: Whose) -> Document:
    """Return a doc as a document, with the tokens and sentences of spaCy if asked for, without white space tokens.

    With spaCy's tokens in our sentences, a token is in the sentence that it begins in.
    """
    document = Document(id, doc.text)
    if sentences == "spacy":
        if not doc.has_annotation("SENT_START"):
            raise UsageError(f"{id}: no sentence boundaries; add a sentencizer, parser or senter before gridner")
        spans = [Fragment(sent.start_char, sent.end_char) for sent in doc.sents if sent.text]
    elif tokens == "spacy":
        spans = list(split_sentences(doc.text))
    else:
        return document
    if tokens == "gridner":
        return with_sentences(document, spans)
    starts = [span.start for span in spans]
    words: list[list[Fragment]] = [[] for _ in spans] or [[]]
    for token in doc:
        if not token.is_space:
            where = max(0, bisect_right(starts, token.idx) - 1)
            words[where].append(Fragment(token.idx, token.idx + len(token)))
    return replace(document, sentences=tuple(tuple(sentence) for sentence in words if sentence))


def put(doc: Doc, entities: Sequence[Entity], spans_key: str, *, where: str, notes: Notes) -> None:
    """Put entities into a doc: their fragments as spans, which replace existing ones, and the whole entities.

    If a fragment does not consist of whole tokens, its span is wider, which `notes` counts.
    """
    spans: list[Span] = []
    items = []
    for number, entity in enumerate(entities, start=1):
        id = f"{spans_key}-{number}"
        pairs = [[part.start, part.end] for part in entity.fragments]
        item = {"type": entity.type, "fragments": pairs, "score": entity.score, "id": id}
        items.append({**item, "meta": dict(entity.meta)} if entity.meta else item)
        for start, end in pairs:
            span = doc.char_span(start, end, label=entity.type, span_id=id, alignment_mode="expand")
            assert span is not None  # noqa: S101  # the characters are those of the doc
            if (span.start_char, span.end_char) != (start, end):
                notes.add(WIDENED, f"{where}: {start}-{end} {doc.text[start:end]!r:.40} to {span.text!r:.40}")
            spans.append(span)
    doc.spans[spans_key] = spans
    stored = doc.user_data.get(NAME)
    groups = dict(stored["groups"]) if stored and stored["sum"] == _sum_of(doc) else {}  # of other components
    doc.user_data[NAME] = {"sum": _sum_of(doc), "groups": {**groups, spans_key: items}}


def entities_of(doc: Doc) -> tuple[Entity, ...]:
    """Return the entities of a doc that gridner found. Their ids are those of the spans."""
    stored = doc.user_data.get(NAME)
    if stored is None:
        return ()
    if stored["sum"] != _sum_of(doc):
        raise UsageError("doc._.gridner: the doc has another text than gridner read; use the whole doc, not a part")
    return tuple(
        Entity(
            item["type"],
            tuple(Fragment(*pair) for pair in item["fragments"]),
            item["score"],
            item["id"],
            item.get("meta", {}),
        )
        for items in stored["groups"].values()
        for item in items
    )


def _sum_of(doc: Doc) -> int:
    return zlib.crc32(doc.text.encode())
