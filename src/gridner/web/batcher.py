"""Requests that come at the same time share batches; the answer to each is what it would be alone.

One thread reads. In turn it takes a sentence of every waiting request until a batch is full, so that a long text does
not hold up a short one, and what arrives meanwhile makes up the next batch. A request that is given up costs no more.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field, replace

from gridner.documents import Document, Entity
from gridner.errors import GridnerError, Notes
from gridner.recognizer import Asked, Recognizer
from gridner.sentences import Mention, Sentence, each_sentence, entity_of
from gridner.web.limits import Limits
from gridner.web.metrics import Metrics

COMPANY = 0.002  # seconds that a request waits for others while nothing is being read, if it had others lately
TURN = 4  # batches' worth of cells that are read at a time, so that sentences of one length find each other


class BusyError(GridnerError):
    """More is waiting than can be answered in time; `seconds` from now it may be otherwise."""

    def __init__(self, said: str, seconds: int) -> None:
        super().__init__(said)
        self.seconds = seconds


@dataclass(eq=False, slots=True)
class Job:
    """A request: its documents, and the entities of their sentences that have been read."""

    documents: Sequence[Document]
    threshold: float | None
    notes: Notes = field(default_factory=Notes)
    answer: Future[list[Document]] = field(default_factory=Future)
    unread: int = 0  # characters
    entities: list[list[Entity]] = field(init=False)
    exhausted: bool = False  # nothing is left to read
    _sentences: Iterator[tuple[int, Sentence]] = field(init=False)
    _ahead: tuple[int, Sentence] | None = None

    def __post_init__(self) -> None:
        self.unread = sum(len(document.text) for document in self.documents)
        self.entities = [[] for _ in self.documents]
        self._sentences = (
            (number, sentence) for number, document in enumerate(self.documents) for sentence in each_sentence(document)
        )

    def take(self) -> tuple[int, Sentence] | None:
        """The next sentence and the number of its document."""
        taken = self._ahead or next(self._sentences, None)
        self._ahead = next(self._sentences, None)
        self.exhausted = self._ahead is None
        return taken

    def finish(self) -> None:
        """Answer, unless it was given up or went wrong."""
        found = zip(self.documents, self.entities, strict=True)
        with suppress(InvalidStateError):
            self.answer.set_result([replace(document, entities=tuple(entities)) for document, entities in found])

    def fail(self, error: Exception) -> None:
        """Answer that it went wrong."""
        with suppress(InvalidStateError):
            self.answer.set_exception(error)


Taken = tuple[Job, int, Sentence]


class Batcher:
    """Answers requests with one recognizer, which a thread of its own uses."""

    def __init__(self, recognizer: Recognizer, limits: Limits, metrics: Metrics) -> None:
        self.recognizer, self.limits, self.metrics = recognizer, limits, metrics
        self._jobs: deque[Job] = deque()  # being read, whose turn it is first; the thread's own
        self._changed = threading.Condition()
        self._arrived: list[Job] = []
        self._waiting = 0  # jobs of both kinds
        self._closing = False
        self._unread = 0  # characters of all jobs
        self._speed = math.inf  # characters a second, lately
        self._together = 1  # requests of the last turn
        self._thread: threading.Thread | None = None

    def start(self) -> Batcher:
        """Begin to answer."""
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="gridner-batcher", daemon=True)
        self._thread.start()
        return self

    @property
    def alive(self) -> bool:
        """Whether it answers."""
        return self._thread is not None and self._thread.is_alive() and not self._closing

    def check(self) -> None:
        """Raise BusyError if there is no room for another request."""
        if not self.alive:
            raise BusyError("the service is starting or stopping", 1)
        if self._waiting >= self.limits.queue:
            self.metrics.refused.inc()
            half = self._unread / self._speed / 2
            said = f"{self._waiting} requests are waiting, expected at most {self.limits.queue}"
            raise BusyError(said, max(1, min(60, math.ceil(half))))

    async def recognize(
        self, documents: Sequence[Document], *, threshold: float | None = None, notes: Notes | None = None
    ) -> list[Document]:
        """The documents with their entities. When the caller is cancelled, reading stops."""
        job = Job(documents, threshold, Notes() if notes is None else notes)
        with self._changed:
            self.check()
            self._arrived.append(job)
            self._count(1, job.unread)
            self._changed.notify()
        try:
            return await asyncio.wrap_future(job.answer)
        except asyncio.CancelledError:
            self.metrics.cancelled.inc()
            raise

    def close(self) -> None:
        """Answer what was accepted, take nothing new."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _count(self, jobs: int, characters: int) -> None:
        self._waiting += jobs
        self._unread += characters
        self.metrics.waiting.set(self._waiting)
        self.metrics.characters.set(self._unread)

    def _work(self) -> None:
        while self._wait():
            began = time.perf_counter()
            taken, done = self._take()
            for (job, number, sentence), mentions in zip(taken, self._read(taken), strict=True):
                job.entities[number] += [entity_of(sentence, mention) for mention in mentions]
                self.metrics.entities.inc(len(mentions))
            self._deliver(taken, done, time.perf_counter() - began)

    def _wait(self) -> bool:
        """Wait for a request, and a moment longer for others if there were such; whether there is one."""
        with self._changed:
            idle = not self._jobs and not self._arrived
            while not self._jobs and not self._arrived and not self._closing:
                self._changed.wait()
            if idle and self._together > 1 and not self._closing:
                until = time.monotonic() + COMPANY
                while (left := until - time.monotonic()) > 0:
                    self._changed.wait(left)
            self._jobs.extend(self._arrived)
            self._arrived.clear()
            return bool(self._jobs)

    def _take(self) -> tuple[list[Taken], list[Job]]:
        """Sentences for the next batches, of the requests in turn, and the requests that end with them."""
        taken: list[Taken] = []
        done: list[Job] = []
        room = TURN * self.recognizer.cells
        while self._jobs and room > 0:
            job = self._jobs.popleft()
            try:
                one = None if job.answer.done() else job.take()  # given up, or failed
            except Exception as error:
                self._fail(job, error)
                one = None
            if one is not None:
                taken.append((job, *one))
                room -= len(one[1].words) ** 2
            if one is None or job.exhausted:
                done.append(job)
            else:
                self._jobs.append(job)
        return taken, done

    def _read(self, taken: Sequence[Taken]) -> list[list[Mention]]:
        """The mentions of the sentences. A request that cannot be read does not take its company with it."""
        try:
            return self._answers(taken) if taken else []
        except Exception:
            found: list[list[Mention]] = [[] for _ in taken]
            for job in {id(job): job for job, _, _ in taken}.values():
                own = [place for place, (other, _, _) in enumerate(taken) if other is job]
                try:
                    answers = self._answers([taken[place] for place in own])
                except Exception as error:
                    self._fail(job, error)
                    continue
                for place, mentions in zip(own, answers, strict=True):
                    found[place] = mentions
            return found

    def _fail(self, job: Job, error: Exception) -> None:
        self.metrics.errors.labels(type(error).__name__).inc()
        job.fail(error)

    def _answers(self, taken: Sequence[Taken]) -> list[list[Mention]]:
        return list(self.recognizer.answers([Asked(sentence, job.threshold, job.notes) for job, _, sentence in taken]))

    def _deliver(self, taken: Sequence[Taken], done: Sequence[Job], seconds: float) -> None:
        """Answer the requests that are read to their end."""
        read = 0
        for job, _, sentence in taken:
            part = min(job.unread, sentence.end - sentence.start)
            job.unread -= part
            read += part
        with self._changed:
            self._count(-len(done), -read - sum(job.unread for job in done))
        for job in done:
            job.finish()
        if taken:
            speed = read / max(seconds, 1e-6)
            self._speed = speed if math.isinf(self._speed) else 0.8 * self._speed + 0.2 * speed
            self.metrics.batch.observe(len(taken))
            self.metrics.batch_seconds.observe(seconds)
            self._together = len({id(job) for job, _, _ in taken})
            self.metrics.together.observe(self._together)
