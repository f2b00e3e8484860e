"""How long something takes, for people."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """As much of it as matters: 42 s, 7 min, 2 h 5 min."""
    minutes = round(seconds / 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min" if minutes else f"{seconds:.0f} s"
