"""What recognizers of one model and of several have in common: from documents to sentences and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from gridner.documents import Document, Entity
from gridner.errors import Notes, UsageError
from gridner.text.alignment import Mention, Sentence, entity_of, stream_sentences

SENTENCES_PER_BATCH = 512  # that are read, sorted by length and batched


@dataclass(frozen=True, slots=True)
class SentenceRequest:
    """A sentence, and how it is to be read."""

    sentence: Sentence
    threshold: float | None = None  # score that its mentions must exceed; None: the model's
    notes: Notes = field(default_factory=Notes)  # count what is cut
    models: frozenset[str] | None = None  # names, where several models are combined; None: all of them


class BaseRecognizer(ABC):
    """Finds entities in text. What is computed with a network, or with several, is `recognize`."""

    __slots__ = ()

    @abstractmethod
    def recognize(self, requests: Sequence[SentenceRequest]) -> Iterator[tuple[int, list[Mention]] | None]:
        """Yield now and then the number of a sentence that is complete, with its mentions, or None."""

    @property
    @abstractmethod
    def types(self) -> tuple[str, ...]:
        """The types that can be found."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """Grid cells of a batch, at most."""

    @property
    @abstractmethod
    def threshold(self) -> float:
        """The score that an entity must exceed, unless a request has a threshold of its own."""

    def __call__(self, text: str) -> Document:
        """Return a text as a document with its entities."""
        return next(self.pipe([Document("text", text)]))

    def pipe(
        self,
        documents: Iterable[Document | str],
        *,
        batch_size: int = SENTENCES_PER_BATCH,
        notes: Notes | None = None,
        each: Callable[[], None] = lambda: None,
    ) -> Iterator[Document]:
        """Yield the documents with the entities that are found, in order. Entities that they have are replaced.

        Plain texts are accepted; their ids are their numbers, from 1. `batch_size` sentences at a time are read, sorted
        by length and given to the network. `each` is called after each sentence.
        """
        pending: deque[_PendingDocument] = deque()

        def sentences() -> Iterator[Sentence]:
            for document in as_documents(documents):
                pending.append(_PendingDocument(document))
                unread = pending[-1].sentences
                for sentence in stream_sentences(document):
                    unread.append(sentence)
                    yield sentence

        for mentions in self.mentions(sentences(), batch_size=batch_size, notes=notes):
            while not pending[0].sentences:
                yield pending.popleft().finished()
            sentence = pending[0].sentences.popleft()
            pending[0].entities += [entity_of(sentence, mention) for mention in mentions]
            each()
        for document in pending:
            yield document.finished()

    def mentions(
        self, sentences: Iterable[Sentence], *, batch_size: int = SENTENCES_PER_BATCH, notes: Notes | None = None
    ) -> Iterator[list[Mention]]:
        """Yield the mentions of each sentence, in text order within a window."""
        if batch_size < 1:
            raise UsageError(f"batch_size is {batch_size}, expected at least 1")
        notes = Notes() if notes is None else notes
        unread = iter(sentences)
        while batch := list(islice(unread, batch_size)):
            requests = [SentenceRequest(sentence, notes=notes) for sentence in batch]
            mentions = dict(finished for finished in self.recognize(requests) if finished is not None)
            yield from (mentions[number] for number in range(len(batch)))


@dataclass(slots=True)
class _PendingDocument:
    """A document, its sentences that are not finished yet, and the entities of those that are."""

    document: Document
    sentences: deque[Sentence] = field(default_factory=deque)
    entities: list[Entity] = field(default_factory=list)

    def finished(self) -> Document:
        return replace(self.document, entities=tuple(self.entities))


def as_documents(texts: Iterable[Document | str]) -> Iterator[Document]:
    """Yield documents unchanged, and texts as documents whose id is their number, from 1."""
    if isinstance(texts, Document | str):
        raise UsageError("one text, expected a list of texts or documents; call the recognizer itself for one")
    for number, text in enumerate(texts, start=1):
        if not isinstance(text, Document | str):
            raise UsageError(f"item {number} is {text!r:.40}, expected a text or a Document")
        yield Document(str(number), text) if isinstance(text, str) else text
