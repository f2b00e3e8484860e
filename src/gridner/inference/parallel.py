"""Predict many documents, in this process or in several.

Predictions come in the order of the documents, and are the same with any number of processes.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from typing import Any

from gridner.corpus.flattening import simplified
from gridner.documents import Document
from gridner.errors import GridnerError, Notes, UsageError
from gridner.inference.available_cores import at_most_cores, usable_cores
from gridner.inference.base_recognizer import BaseRecognizer
from gridner.inference.checkpoint import read_types
from gridner.inference.installed_models import Models, find_models
from gridner.inference.loading import load
from gridner.inference.model_description import TypeAbout

CHUNK_CHARACTERS = 50_000  # of the documents that a process gets at a time
MAX_DEATHS = 3  # of processes in a row, before giving up


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionTask:
    """A model and the entities that are wanted from it. It can be sent to other processes."""

    model: Models = None
    lexicon: str | None = None
    threshold: float | None = None
    types: tuple[str, ...] | None = None
    flat: bool = False
    max_gap: int | None = None
    threads: int | None = None
    average: bool = False  # the probabilities of several models

    def load(self) -> BaseRecognizer:
        """Load the recognizer. A type that it does not know is an error."""
        settings: dict[str, Any] = {} if self.threshold is None else {"threshold": self.threshold}
        recognizer = load(self.model, threads=self.threads, lexicon=self.lexicon, average=self.average, **settings)
        known = recognizer.types
        for name in sorted(set(self.types or ()) - set(known)):
            raise UsageError(f"--types {name}, expected those that the model finds: {', '.join(known)}")
        return recognizer

    def types_looked_for(self) -> list[TypeAbout]:
        """Return the types that can be found, with what they mean."""
        types = {type.name: type for folder in find_models(self.model).values() for type in read_types(folder)}
        return [type for name, type in types.items() if self.types is None or name in self.types]

    def predict(
        self,
        recognizer: BaseRecognizer,
        documents: Iterable[Document],
        *,
        notes: Notes,
        each: Callable[[], None] = lambda: None,
    ) -> Iterator[Document]:
        """Yield the documents with the entities that are wanted. `each` is called after each sentence."""
        for document in recognizer.pipe(documents, notes=notes, each=each):
            wanted = tuple(entity for entity in document.entities if self.types is None or entity.type in self.types)
            yield simplified(replace(document, entities=wanted), flat=self.flat, max_gap=self.max_gap, notes=notes)


def predict_in_processes(
    task: PredictionTask,
    documents: Iterable[Document],
    *,
    workers: int,
    notes: Notes,
    each: Callable[[], None] = lambda: None,
) -> Iterator[Document]:
    """Yield the same as `task.predict` from several processes, at most one per core.

    A process that dies is replaced, and its work done again.
    """
    workers = at_most_cores(workers, "workers")
    threads = max(1, usable_cores() // workers)
    task = replace(task, threads=threads if task.threads is None else min(task.threads, threads))
    chunks = _chunks(documents)
    pool = _pool(task, workers)
    waiting: deque[tuple[list[Document], Future[_Predicted]]] = deque()
    deaths = 0
    try:
        while True:
            try:
                while len(waiting) < 2 * workers and (chunk := next(chunks, None)):
                    waiting.append((chunk, pool.submit(_predict, chunk)))
                if not waiting:
                    return
                predicted, chunk_notes, sentences = waiting[0][1].result()
            except BrokenProcessPool:
                deaths += 1
                if deaths > MAX_DEATHS:
                    names = ", ".join(document.id for chunk, _ in waiting for document in chunk[:1])
                    raise GridnerError(
                        f"worker processes died {deaths} times in a row, at work on {names[:200]}; "
                        "if memory ran out, use fewer --workers"
                    ) from None
                pool.shutdown(cancel_futures=True)
                pool = _pool(task, workers)
                waiting = deque((chunk, pool.submit(_predict, chunk)) for chunk, _ in waiting)
                continue
            waiting.popleft()
            deaths = 0
            notes.merge(chunk_notes)
            for _ in range(sentences):
                each()
            yield from predicted
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _chunks(documents: Iterable[Document]) -> Iterator[list[Document]]:
    chunk: list[Document] = []
    size = 0
    for document in documents:
        chunk.append(document)
        size += len(document.text)
        if size >= CHUNK_CHARACTERS:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _pool(task: PredictionTask, workers: int) -> ProcessPoolExecutor:
    spawn = multiprocessing.get_context("spawn")  # a fork would copy the threads of engines, half alive
    return ProcessPoolExecutor(workers, mp_context=spawn, initializer=_start, initargs=(task,))


# The rest of this file runs in the worker processes.

_Predicted = tuple[list[Document], Notes, int]  # documents, notes, number of sentences
_task: PredictionTask
_recognizer: BaseRecognizer | GridnerError  # an error of the model is raised with the first documents


def _start(task: PredictionTask) -> None:
    global _task, _recognizer  # noqa: PLW0603
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent process
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _task = task
    try:
        _recognizer = task.load()
    except GridnerError as error:
        _recognizer = error


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _predict(documents: list[Document]) -> _Predicted:
    if isinstance(_recognizer, GridnerError):
        raise _recognizer
    notes = Notes()
    sentences = 0

    def each() -> None:
        nonlocal sentences
        sentences += 1

    return list(_task.predict(_recognizer, documents, notes=notes, each=each)), notes, sentences
