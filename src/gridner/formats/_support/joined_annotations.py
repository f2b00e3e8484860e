"""Annotations that relations join into one entity."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from gridner.errors import FormatError


def joined_groups(names: Iterable[str], joins: Iterable[tuple[str, str]], where: str) -> list[list[str]]:
    """Return the names in groups: names that pairs join, directly or not, are together, in the order of first names."""
    group = {name: deque([name]) for name in names}
    for pair in joins:
        for name in pair:
            if name not in group:
                raise FormatError(
                    f"{where}: a relation to {name[:40]!r}, which is not an annotation; add it or remove the relation"
                )
        first, second = (group[name] for name in pair)
        if first is second:
            continue
        if len(first) >= len(second):  # the shorter one moves, so that a long chain is cheap in any order
            shorter, longer = second, first
            longer.extend(shorter)
        else:
            shorter, longer = first, second
            longer.extendleft(reversed(shorter))
        for name in shorter:
            group[name] = longer
    return [list(members) for members in {id(members): members for members in group.values()}.values()]
