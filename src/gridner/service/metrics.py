"""Metrics for Prometheus. They are numbers only, and contain nothing that users send."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class Metrics:
    """The metrics of one service."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.requests = Counter("gridner_requests", "Requests answered", ["path", "status"], registry=self.registry)
        self.seconds = Histogram(
            "gridner_request_seconds",
            "Seconds from request to response",
            ["path"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self.refused = Counter("gridner_refused", "Requests refused because the queue was full", registry=self.registry)
        self.cancelled = Counter("gridner_cancelled", "Requests whose client disconnected", registry=self.registry)
        self.timeouts = Counter("gridner_timeouts", "Requests that timed out", registry=self.registry)
        self.errors = Counter("gridner_errors", "Internal errors", ["kind"], registry=self.registry)
        self.waiting = Gauge("gridner_queue_requests", "Requests accepted and not answered yet", registry=self.registry)
        self.characters = Gauge(
            "gridner_queue_characters",
            "Characters of these requests that are not processed yet",
            registry=self.registry,
        )
        self.batch = Histogram("gridner_batch_sentences", "Sentences per batch", buckets=SIZES, registry=self.registry)
        self.batch_seconds = Histogram(
            "gridner_batch_seconds", "Seconds per batch", buckets=SECONDS, registry=self.registry
        )
        self.together = Histogram("gridner_batch_requests", "Requests per batch", buckets=SIZES, registry=self.registry)
        self.entities = Counter("gridner_entities", "Entities found", registry=self.registry)

    def text(self) -> bytes:
        """Return all metrics in Prometheus's text format."""
        return generate_latest(self.registry)
