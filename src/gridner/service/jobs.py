"""The work of the batcher: requests, and batches of their sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field, replace

from gridner.documents import Document, Entity
from gridner.errors import Notes
from gridner.inference.base_recognizer import BaseRecognizer, SentenceRequest
from gridner.text.alignment import Mention, Sentence, entity_of, stream_sentences

LONG_REQUEST = 2000  # characters; a request with more gives way to others


@dataclass(eq=False, slots=True)
class Job:
    """A request: its documents, and the entities found so far."""

    documents: Sequence[Document]
    threshold: float | None
    notes: Notes = field(default_factory=Notes)
    models: frozenset[str] | None = None  # names of the models to use; None: all
    answer: Future[list[Document]] = field(default_factory=Future)
    unread: int = 0  # characters that are not processed yet
    long: bool = False
    in_progress: int = 0  # sentences in a batch
    exhausted: bool = False  # no sentence is left to take
    _found: list[list[tuple[int, list[Entity]]]] = field(init=False)  # of each document, with the sentence's start
    _sentences: Iterator[tuple[int, Sentence]] = field(init=False)
    _ahead: tuple[int, Sentence] | None = None

    def __post_init__(self) -> None:
        self.unread = sum(len(document.text) for document in self.documents)
        self.long = self.unread > LONG_REQUEST
        self._found = [[] for _ in self.documents]
        self._sentences = (
            (number, sentence)
            for number, document in enumerate(self.documents)
            for sentence in stream_sentences(document)
        )

    def take(self) -> tuple[int, Sentence] | None:
        """Return the next sentence and the number of its document."""
        taken = self._ahead or next(self._sentences, None)
        self._ahead = next(self._sentences, None)
        self.exhausted = self._ahead is None
        self.in_progress += taken is not None
        return taken

    def add_mentions(self, number: int, sentence: Sentence, mentions: Sequence[Mention]) -> int:
        """Add the mentions of a sentence; return how many characters it has."""
        self._found[number].append((sentence.start, [entity_of(sentence, mention) for mention in mentions]))
        self.in_progress -= 1
        read = min(self.unread, sentence.end - sentence.start)
        self.unread -= read
        return read

    def finish(self) -> None:
        """Set the result, unless the request was cancelled or failed."""
        answer = []
        for document, found in zip(self.documents, self._found, strict=True):
            found.sort(key=lambda pair: pair[0])
            answer.append(replace(document, entities=tuple(entity for _, some in found for entity in some)))
        with suppress(InvalidStateError):
            self.answer.set_result(answer)

    def fail(self, error: Exception) -> None:
        """Set the error as the result."""
        with suppress(InvalidStateError):
            self.answer.set_exception(error)


JobSentence = tuple[Job, int, Sentence]


class SharedBatch:
    """Sentences of one or several requests that go through the network together."""

    def __init__(self, recognizer: BaseRecognizer, taken: Sequence[JobSentence]) -> None:
        self.sentences = taken
        self.unanswered = dict(enumerate(taken))
        self.seconds = 0.0  # of computation
        asked = [SentenceRequest(sentence, job.threshold, job.notes, job.models) for job, _, sentence in taken]
        self._windows = recognizer.recognize(asked) if asked else iter(())

    def __next__(self) -> tuple[JobSentence, list[Mention]] | None:
        """Process a window. Return the sentence that it completes, with its mentions, or None."""
        done = next(self._windows)
        return None if done is None else (self.unanswered.pop(done[0]), done[1])

    @property
    def is_abandoned(self) -> bool:
        """Whether no request waits for the rest of the batch."""
        return all(job.answer.done() for job, _, _ in self.unanswered.values())

    @property
    def can_wait(self) -> bool:
        """Whether only long requests wait for the rest of the batch."""
        return all(job.long for job, _, _ in self.unanswered.values())

    def jobs(self) -> list[Job]:
        """Return the requests whose sentences these are."""
        return list({id(job): job for job, _, _ in self.sentences}.values())

    def split_by_job(self, recognizer: BaseRecognizer) -> list[SharedBatch]:
        """Return the rest of the batch as a batch per request."""
        left = list(self.unanswered.values())
        return [SharedBatch(recognizer, [one for one in left if one[0] is job]) for job in self.jobs()]
