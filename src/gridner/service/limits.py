"""Limits of the service."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds that keep one user from taking the service from the others."""

    body_bytes: int = 4_000_000  # of a request
    texts: int = 256  # of a request
    characters: int = 200_000  # of a text
    seconds: float = 60.0  # for the body of a request, and again for its answer
    queue: int = 256  # requests that are accepted and not answered yet
    annotations: int = 20_000  # lines of an .ann file
    covered_characters: int = 1_000_000  # characters under all entities of a drawing, those under two counted twice
