"""Let requests that arrive at the same time share batches. Each gets the result that it would get alone.

One thread runs the network. It takes one sentence of each short request in turn. Long requests run in between and give
way after each batch. New requests join the next turn. A cancelled request is dropped.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Sequence

from gridner.documents import Document
from gridner.errors import Notes
from gridner.inference.base_recognizer import BaseRecognizer
from gridner.inference.batches import WORD_COST
from gridner.service.jobs import Job, JobSentence, SharedBatch
from gridner.service.limits import Limits
from gridner.service.metrics import Metrics
from gridner.service.queue import BusyError

WAIT_FOR_OTHERS = (
    0.002  # seconds that a request waits for others if nothing runs and the last batch had several requests
)
TURN_BUDGETS = 8  # cell budgets per turn: about four batches, so that sentences of similar length meet
SUSPENDED = 4  # batches that may be suspended at a time, since each holds its sentences in memory
SPEED_DECAY = 0.9  # weight of earlier turns in the measured speed


class Batcher:
    """Runs one recognizer in a thread, for all requests."""

    def __init__(self, recognizer: BaseRecognizer, limits: Limits, metrics: Metrics) -> None:
        self.recognizer, self.limits, self.metrics = recognizer, limits, metrics
        self._changed = threading.Condition()
        self._arrived: list[Job] = []
        self._closing = False
        self._thread: threading.Thread | None = None
        # Used by the thread only: short requests; long ones, and their suspended batches.
        self._short: deque[Job] = deque()
        self._long: deque[Job | SharedBatch] = deque()
        self._short_was_last = False
        self._requests_of_last_batch = 1
        self._unread = 0  # characters of all requests that are not processed yet
        self._recent_speed = (0.0, 0.0)  # characters, and the seconds that they took

    def start(self) -> Batcher:
        """Start the thread."""
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="gridner-batcher", daemon=True)
        self._thread.start()
        return self

    @property
    def alive(self) -> bool:
        """Whether the thread accepts requests."""
        return self._thread is not None and self._thread.is_alive() and not self._closing

    def delay(self) -> int:
        """Return after how many seconds half of the waiting text will be processed."""
        characters, seconds = self._recent_speed
        half = self._unread / 2 * seconds / characters if characters else 0
        return max(1, min(60, math.ceil(half)))

    async def recognize(
        self,
        documents: Sequence[Document],
        *,
        threshold: float | None = None,
        notes: Notes | None = None,
        models: frozenset[str] | None = None,
    ) -> list[Document]:
        """Return the documents with their entities. If the caller is cancelled, drop the request."""
        job = Job(documents, threshold, Notes() if notes is None else notes, models)
        with self._changed:
            if not self.alive:
                raise BusyError("the service is starting or stopping", 1)
            self._arrived.append(job)
            self._add_unread(job.unread)
            self._changed.notify()
        return await asyncio.wrap_future(job.answer)

    def close(self) -> None:
        """Finish the accepted requests, accept no new ones, and stop the thread."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _add_unread(self, characters: int) -> None:
        self._unread += characters
        self.metrics.characters.set(self._unread)

    def _work(self) -> None:
        while self._wait():
            batch = self._next()
            began = time.perf_counter()
            read, ended = self._run(batch)
            seconds = time.perf_counter() - began
            batch.seconds += seconds
            with self._changed:
                self._add_unread(-read)
            characters, spent = self._recent_speed
            self._recent_speed = (SPEED_DECAY * characters + read, SPEED_DECAY * spent + seconds)
            if ended and batch.sentences:
                self._requests_of_last_batch = len(batch.jobs())
                self.metrics.batch.observe(len(batch.sentences))
                self.metrics.batch_seconds.observe(batch.seconds)
                self.metrics.together.observe(self._requests_of_last_batch)

    def _wait(self) -> bool:
        """Wait for a request, and a moment longer if the last batch had several; return whether there is one."""
        with self._changed:
            idle = not self._busy
            while not self._busy and not self._closing:
                self._changed.wait()
            if idle and self._requests_of_last_batch > 1 and not self._closing:
                until = time.monotonic() + WAIT_FOR_OTHERS
                while (left := until - time.monotonic()) > 0:
                    self._changed.wait(left)
            for job in self._arrived:
                self._enqueue(job)
            self._arrived.clear()
            return self._busy

    @property
    def _busy(self) -> bool:
        return bool(self._short or self._long or self._arrived)

    def _enqueue(self, job: Job) -> None:
        if job.long:
            self._long.append(job)
        else:
            self._short.append(job)

    def _next(self) -> SharedBatch:
        """Return the next batch. If there are short and long requests, they alternate."""
        self._short_was_last = bool(self._short) and not (self._short_was_last and self._long)
        if self._short_was_last:
            return self._take_sentences(self._short)
        suspended = [one for one in self._long if isinstance(one, SharedBatch)]
        first = suspended[0] if len(suspended) >= SUSPENDED else self._long[0]
        if isinstance(first, SharedBatch):
            self._long.remove(first)
            return first
        ready = deque(one for one in self._long if isinstance(one, Job))
        self._long = deque(suspended)
        batch = self._take_sentences(ready)
        self._long.extend(ready)
        return batch

    def _take_sentences(self, jobs: deque[Job]) -> SharedBatch:
        """Take one sentence of each request in turn, up to the budget. Requests with none left leave the deque."""
        taken: list[JobSentence] = []
        room = TURN_BUDGETS * self.recognizer.cells
        while jobs and room > 0:
            job = jobs.popleft()
            try:
                one = None if job.answer.done() else job.take()  # cancelled, or failed
            except Exception as error:
                self._fail(job, error)
                one = None
            if one is not None:
                taken.append((job, *one))
                words = len(one[1].words)
                room -= words * (words + WORD_COST)
                if not job.exhausted:
                    jobs.append(job)
            elif not job.in_progress:
                self._finish(job)
        for _ in range(len(jobs)):
            job = jobs.popleft()
            if not job.in_progress:  # else it returns once its taken sentences are done
                jobs.append(job)
        return SharedBatch(self.recognizer, taken)

    def _run(self, batch: SharedBatch) -> tuple[int, bool]:
        """Run a batch to its end, or until it gives way; return the processed characters, and whether it ended."""
        read = 0
        try:
            while not batch.is_abandoned:
                done = next(batch)
                if done is not None:
                    (job, number, sentence), mentions = done
                    self.metrics.entities.inc(len(mentions))
                    read += job.add_mentions(number, sentence, mentions)
                    self._return_job(job)
                if batch.unanswered and self._busy and batch.can_wait:
                    self._long.append(batch)
                    return read, False
        except Exception as error:
            if len(batch.jobs()) > 1:  # a request that fails must not fail the others
                self._long.extendleft(batch.split_by_job(self.recognizer))
                return read, False
            self._fail(batch.jobs()[0], error)
        for job, _, _ in batch.unanswered.values():  # cancelled, or failed
            job.in_progress -= 1
            self._return_job(job)
        return read, True

    def _return_job(self, job: Job) -> None:
        """Finish a request, or enqueue what is left of it, once none of its sentences is in progress."""
        if job.in_progress:
            return
        if job.exhausted or job.answer.done():
            self._finish(job)
        else:
            self._enqueue(job)

    def _fail(self, job: Job, error: Exception) -> None:
        self.metrics.errors.labels(type(error).__name__).inc()
        job.fail(error)

    def _finish(self, job: Job) -> None:
        with self._changed:
            self._add_unread(-job.unread)
        job.unread = 0
        job.finish()
