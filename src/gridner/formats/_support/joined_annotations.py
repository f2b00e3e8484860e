"""Annotations that relations join into one entity."""

from __future__ import annotations

from collections.abc import Iterable

from gridner.errors import FormatError


def groups(names: Iterable[str], joins: Iterable[tuple[str, str]], where: str) -> list[list[str]]:
    """The names in groups: those that pairs join, however indirectly, stand together, each group at its first name."""
    group = {name: [name] for name in names}
    for pair in joins:
        for name in pair:
            if name not in group:
                raise FormatError(f"{where}: a relation to {name[:40]!r}, expected an annotation that is there")
        first, second = (group[name] for name in pair)
        if first is not second:
            first += second
            for name in second:
                group[name] = first
    return list({id(members): members for members in group.values()}.values())
