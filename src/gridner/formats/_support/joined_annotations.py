"""Annotations that relations join into one entity."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from gridner.errors import FormatError


def groups(names: Iterable[str], joins: Iterable[tuple[str, str]], where: str) -> list[list[str]]:
    """The names in groups: those that pairs join, however indirectly, stand together, each group at its first name."""
    group = {name: deque([name]) for name in names}
    for pair in joins:
        for name in pair:
            if name not in group:
                raise FormatError(f"{where}: a relation to {name[:40]!r}, expected an annotation that is there")
        first, second = (group[name] for name in pair)
        if first is second:
            continue
        if len(first) >= len(second):  # the shorter one moves, so that a chain of any order costs little
            moved, whole = second, first
            whole.extend(moved)
        else:
            moved, whole = first, second
            whole.extendleft(reversed(moved))
        for name in moved:
            group[name] = whole
    return [list(members) for members in {id(members): members for members in group.values()}.values()]
