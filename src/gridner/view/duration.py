"""Durations in readable form."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """Return a duration, rounded for reading: 42 s, 7 min, 2 h 5 min."""
    minutes = round(seconds / 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min" if minutes else f"{seconds:.0f} s"
