"""Requests that come at the same time share batches; the answer to each is what it would be alone.

One thread reads. Short requests are read together, a sentence of each in turn. Long ones are read in between, and give
way after each batch. What arrives meanwhile has the next turn. A request that is given up costs no more.
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
from gridner.inference.batches import WORD_COST
from gridner.inference.recognizer import Recognizer
from gridner.service.limits import Limits
from gridner.service.metrics import Metrics
from gridner.service.queue import BusyError
from gridner.service.reading import Job, Reading, Taken

COMPANY = 0.002  # seconds that a request waits for others while nothing is being read, if it had others lately
TURN = 8  # budgets of cells for a turn: about four batches, so that sentences of one length find each other
SUSPENDED = 4  # readings that may have given way at a time, since each holds its sentences
MEMORY = 0.9  # how much of what is known of the speed stays after a turn


class Batcher:
    """Answers requests with one recognizer, which a thread of its own uses."""

    def __init__(self, recognizer: Recognizer, limits: Limits, metrics: Metrics) -> None:
        self.recognizer, self.limits, self.metrics = recognizer, limits, metrics
        self._changed = threading.Condition()
        self._arrived: list[Job] = []
        self._closing = False
        self._thread: threading.Thread | None = None
        # The thread's own: short requests; long ones, and readings of them that gave way, whose turn it is first.
        self._short: deque[Job] = deque()
        self._long: deque[Job | Reading] = deque()
        self._short_was_last = False
        self._together = 1  # requests of the last turn
        self._unread = 0  # characters of all requests
        self._lately = (0.0, 0.0)  # characters read, and the seconds they took

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

    def delay(self) -> int:
        """Return in how many seconds half of what waits will be read."""
        characters, seconds = self._lately
        half = self._unread / 2 * seconds / characters if characters else 0
        return max(1, min(60, math.ceil(half)))

    async def recognize(
        self, documents: Sequence[Document], *, threshold: float | None = None, notes: Notes | None = None
    ) -> list[Document]:
        """Return the documents with their entities. When the caller is cancelled, reading stops."""
        job = Job(documents, threshold, Notes() if notes is None else notes)
        with self._changed:
            if not self.alive:
                raise BusyError("the service is starting or stopping", 1)
            self._arrived.append(job)
            self._count(job.unread)
            self._changed.notify()
        return await asyncio.wrap_future(job.answer)

    def close(self) -> None:
        """Answer what was accepted, take nothing new."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _count(self, characters: int) -> None:
        self._unread += characters
        self.metrics.characters.set(self._unread)

    def _work(self) -> None:
        while self._wait():
            reading = self._next()
            began = time.perf_counter()
            read, ended = self._read(reading)
            seconds = time.perf_counter() - began
            reading.seconds += seconds
            with self._changed:
                self._count(-read)
            self._lately = (MEMORY * self._lately[0] + read, MEMORY * self._lately[1] + seconds)
            if ended and reading.taken:
                self._together = len(reading.jobs())
                self.metrics.batch.observe(len(reading.taken))
                self.metrics.batch_seconds.observe(reading.seconds)
                self.metrics.together.observe(self._together)

    def _wait(self) -> bool:
        """Wait for a request, and a moment longer for others if there were such; return whether there is one."""
        with self._changed:
            idle = not self._busy
            while not self._busy and not self._closing:
                self._changed.wait()
            if idle and self._together > 1 and not self._closing:
                until = time.monotonic() + COMPANY
                while (left := until - time.monotonic()) > 0:
                    self._changed.wait(left)
            for job in self._arrived:
                self._line_up(job)
            self._arrived.clear()
            return self._busy

    @property
    def _busy(self) -> bool:
        return bool(self._short or self._long or self._arrived)

    def _line_up(self, job: Job) -> None:
        if job.long:
            self._long.append(job)
        else:
            self._short.append(job)

    def _next(self) -> Reading:
        """Return the next reading: of short requests and of long ones in turn, where there are both."""
        self._short_was_last = bool(self._short) and not (self._short_was_last and self._long)
        if self._short_was_last:
            return self._taken(self._short)
        suspended = [one for one in self._long if isinstance(one, Reading)]
        first = suspended[0] if len(suspended) >= SUSPENDED else self._long[0]
        if isinstance(first, Reading):
            self._long.remove(first)
            return first
        ready = deque(one for one in self._long if isinstance(one, Job))
        self._long = deque(suspended)
        reading = self._taken(ready)
        self._long.extend(ready)
        return reading

    def _taken(self, jobs: deque[Job]) -> Reading:
        """Take a sentence of each request in turn for the next batches. Requests with none left leave the deque."""
        taken: list[Taken] = []
        room = TURN * self.recognizer.cells
        while jobs and room > 0:
            job = jobs.popleft()
            try:
                one = None if job.answer.done() else job.take()  # given up, or failed
            except Exception as error:
                self._fail(job, error)
                one = None
            if one is not None:
                taken.append((job, *one))
                words = len(one[1].words)
                room -= words * (words + WORD_COST)
                if not job.exhausted:
                    jobs.append(job)
            elif not job.in_network:
                self._leave(job)
        for _ in range(len(jobs)):
            job = jobs.popleft()
            if not job.in_network:  # else it is back when what is taken of it is read
                jobs.append(job)
        return Reading(self.recognizer, taken)

    def _read(self, reading: Reading) -> tuple[int, bool]:
        """Read on until the end, or until it gives way; return how many characters were read, and whether it ended."""
        read = 0
        try:
            while not reading.given_up:
                done = next(reading)
                if done is not None:
                    (job, number, sentence), mentions = done
                    self.metrics.entities.inc(len(mentions))
                    read += job.keep(number, sentence, mentions)
                    self._back(job)
                if reading.unanswered and self._busy and reading.gives_way:
                    self._long.append(reading)
                    return read, False
        except Exception as error:
            if len(reading.jobs()) > 1:  # one that cannot be read does not take its company with it
                self._long.extendleft(reading.apart(self.recognizer))
                return read, False
            self._fail(reading.jobs()[0], error)
        for job, _, _ in reading.unanswered.values():  # given up, or failed
            job.in_network -= 1
            self._back(job)
        return read, True

    def _back(self, job: Job) -> None:
        """Answer a request that is read to its end; line up one that is not once nothing of it is being read."""
        if job.in_network:
            return
        if job.exhausted or job.answer.done():
            self._leave(job)
        else:
            self._line_up(job)

    def _fail(self, job: Job, error: Exception) -> None:
        self.metrics.errors.labels(type(error).__name__).inc()
        job.fail(error)

    def _leave(self, job: Job) -> None:
        with self._changed:
            self._count(-job.unread)
        job.unread = 0
        job.finish()
