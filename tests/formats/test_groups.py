from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from gridner.formats._support.joined_annotations import joined_groups


def slow_groups(names: list[str], joins: list[tuple[str, str]]) -> list[list[str]]:
    """Lists that are joined one after the other."""
    found = [[name] for name in names]
    for one, other in joins:
        first = next(members for members in found if one in members)
        second = next(members for members in found if other in members)
        if first is not second:
            first += second
            found.remove(second)
    return sorted(found, key=lambda members: min(map(names.index, members)))


@given(st.integers(1, 8), st.data())
def test_groups_are_what_joining_lists_gives(count: int, data: st.DataObject) -> None:
    names = [str(number) for number in range(count)]
    joins = data.draw(st.lists(st.tuples(st.sampled_from(names), st.sampled_from(names)), max_size=12))
    assert joined_groups(names, joins, "here") == slow_groups(names, joins)


def test_a_long_chain_costs_little_in_any_order() -> None:
    names = [str(number) for number in range(100_000)]
    pairs = list(itertools.pairwise(names))
    assert joined_groups(names, pairs, "here") == joined_groups(names, reversed(pairs), "here") == [names]
