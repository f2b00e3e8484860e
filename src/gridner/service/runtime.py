"""What the endpoints of a service share: the recognizer, two threads that compute, the queue and the metrics."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from fastapi import FastAPI

from gridner.inference.base_recognizer import BaseRecognizer
from gridner.inference.recognizer import Recognizer
from gridner.service.batcher import Batcher
from gridner.service.limits import Limits
from gridner.service.metrics import Metrics
from gridner.service.queue import Queue
from gridner.service.worker import Worker


class Runtime:
    """The batcher runs the network, the worker computes everything else; the queue bounds what both accept."""

    def __init__(self, recognizer: BaseRecognizer, models: Mapping[str, Recognizer], limits: Limits) -> None:
        self.recognizer, self.models, self.limits = recognizer, models, limits
        self.metrics = Metrics()
        self.batcher = Batcher(recognizer, limits, self.metrics)
        self.worker = Worker()
        self.queue = Queue(limits, self.metrics, alive=lambda: self.alive, delay=self.batcher.delay)

    @property
    def alive(self) -> bool:
        """Whether requests are answered."""
        return self.batcher.alive and self.worker.alive

    @asynccontextmanager
    async def running(self, _: FastAPI) -> AsyncIterator[None]:
        """Run the threads while the application runs. At the end, finish the requests that were accepted."""
        self.batcher.start()
        self.worker.start()
        yield
        await asyncio.to_thread(self.batcher.close)
        await asyncio.to_thread(self.worker.close)
