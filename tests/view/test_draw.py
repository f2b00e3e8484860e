import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from gridner import Document, Entity, Fragment
from gridner.view.cells import cells
from gridner.view.draw import blocks, draw, lanes
from support import slow_draw
from support.small import entity


def drawn(text: str, *entities: Entity, width: int = 80) -> list[str]:
    return ["".join(piece.text for piece in line) for line in draw(text, Fragment(0, len(text)), entities, width=width)]


def test_fragments_are_solid_and_gaps_dotted() -> None:
    text = "pain in left arm and shoulder"
    assert drawn(text, entity("ADR", (0, 16)), entity("ADR", (0, 7), (21, 29), score=0.931)) == [
        "pain in left arm and shoulder",
        "━━━━━━━┄┄┄┄┄┄┄┄┄┄┄┄┄┄━━━━━━━━ ADR 0.93",
        "━━━━━━━━━━━━━━━━ ADR",
    ]


def test_entities_that_do_not_touch_share_a_lane() -> None:
    assert drawn("rash now, itch", entity("A", (0, 4)), entity("B", (10, 14))) == [
        "rash now, itch",
        "━━━━ A    ━━━━ B",
    ]


def test_wide_and_combining_characters_keep_bars_under_their_words() -> None:
    assert drawn("😀 患者 cafe\u0301 x", entity("A", (2, 4)), entity("B", (11, 12))) == [
        "😀 患者 cafe\u0301 x",
        "   ━━━━ A    ━ B",
    ]


def test_a_long_text_is_wrapped_and_its_bars_go_on() -> None:
    assert drawn("aaaa bbbb cccc dddd eeee ffff", entity("X", (15, 29)), width=23) == [
        "aaaa bbbb cccc dddd ",
        "               ━━━━━›",
        "eeee ffff",
        "━━━━━━━━━ X",
    ]


def test_a_sentence_that_fits_is_not_wrapped_for_the_sake_of_its_labels() -> None:
    text = "Loss of rod and cone photoreceptors, with apoptosis of bipolar and amacrine cells."
    last = entity("BiologicalProcess", (67, 81), score=0.95)
    assert len(text) == 82
    assert drawn(text, last, entity("Cell", (0, 4)), width=100) == [
        text,
        f"━━━━ Cell{' ' * 35}BiologicalProcess 0.95 ━━━━━━━━━━━━━━",
    ]
    assert drawn(text, entity("Cell", (67, 81)), width=100)[1] == f"{' ' * 67}━━━━━━━━━━━━━━ Cell"


def test_an_entity_keeps_its_lane_in_all_rows() -> None:
    text = "aaaa bbbb cccc dddd eeee ffff"
    first, second = entity("X", (0, 29)), entity("Y", (5, 24))
    assert drawn(text, first, second, width=23) == [
        "aaaa bbbb cccc dddd ",
        "━━━━━━━━━━━━━━━━━━━━›",
        "     ━━━━━━━━━━━━━━━›",
        "eeee ffff",
        "━━━━━━━━━ X",
        "━━━━ Y",
    ]


def test_nothing_that_steers_a_terminal_gets_through() -> None:
    line = drawn("a\x1b[31mred\r\n\tb\x07")[0]
    assert "\x1b" not in line
    assert not set(line) & set("\r\n\t\x07")
    assert "\u202e" not in drawn("a\u202eb")[0]


def test_a_gap_of_white_space_is_none() -> None:
    ((_, (found,)),) = blocks(Document("a", "left arm", (entity("X", (0, 4), (5, 8)),)))
    assert found == entity("X", (0, 8))


def test_sentences_that_an_entity_crosses_stay_together() -> None:
    text = "He has pain. It is bad. Gone now."
    crossing, gone = entity("X", (7, 15)), entity("X", (24, 28))
    assert list(blocks(Document("a", text, (crossing, gone)))) == [
        (Fragment(0, 23), (crossing,)),
        (Fragment(24, 33), (gone,)),
    ]


EXTENTS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 10)).map(lambda pair: (pair[0], sum(pair))), max_size=12
)


@given(EXTENTS)
def test_extents_in_a_lane_do_not_touch_and_lanes_are_few(extents: list[tuple[int, int]]) -> None:
    found = lanes(extents)
    for lane in set(found):
        own = sorted(extent for extent, chosen in zip(extents, found, strict=True) if chosen == lane)
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(own))
    deepest = max((sum(start <= place < end for start, end in extents) for place in range(41)), default=0)
    assert len(set(found)) == deepest


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9)).map(lambda pair: (pair[0], sum(pair))), max_size=20))
def test_lanes_are_those_of_the_slow_layout(extents: list[tuple[int, int]]) -> None:
    assert lanes(extents) == slow_draw.lanes(extents)


TEXT = st.text(alphabet="ab  \n😀e\u0301患\u200d\ufeff\x1b", min_size=1, max_size=50)


@given(TEXT, st.integers(1, 60), st.data())
def test_every_text_and_entity_can_be_drawn(text: str, width: int, data: st.DataObject) -> None:
    entities = []
    for _ in range(data.draw(st.integers(0, 3))):
        cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), min_size=2, max_size=6)))
        entities.append(entity("T", *zip(cuts[::2], cuts[1::2], strict=False)))
    lines = drawn(text, *entities, width=width)
    assert all(cell_len(line) <= max(width, 30) for line in lines)
    assert sum(" T" in line for line in lines) <= len(lines)
    shown = [found for _, inside in blocks(Document("a", text, tuple(entities))) for found in inside]
    assert len(shown) == (len(entities) if text.strip() else 0)


@st.composite
def blocks_with_entities(draw: st.DrawFn) -> tuple[str, Fragment, list[Entity]]:
    """A block, and entities that may begin before it and end after it."""
    text = draw(TEXT)
    found = []
    for _ in range(draw(st.integers(0, 8)) if len(text) > 1 else 0):
        cuts = sorted(draw(st.sets(st.integers(0, len(text)), min_size=2, max_size=8)))
        found.append(entity(draw(st.sampled_from("XY")), *zip(cuts[::2], cuts[1::2], strict=False)))
    start = draw(st.integers(0, len(text) - 1))
    return text, Fragment(start, draw(st.integers(start + 1, len(text)))), found


@given(blocks_with_entities(), st.integers(1, 60))
def test_layouts_are_those_of_the_slow_way(block: tuple[str, Fragment, list[Entity]], width: int) -> None:
    text, span, entities = block
    assert list(cells(text, span, entities)) == slow_draw.cells(text, span, entities)
    assert drawn(text, *entities, width=width) == slow_draw.draw(text, Fragment(0, len(text)), entities, width=width)


class Counted(Entity):
    """An entity that counts how often its extent is read."""

    __slots__ = ()
    reads = 0

    @property
    def start(self) -> int:
        Counted.reads += 1
        return self.fragments[0].start

    @property
    def end(self) -> int:
        Counted.reads += 1
        return self.fragments[-1].end


def _laid_out(kind: str, text: str, entities: list[Any]) -> None:
    span = Fragment(0, len(text))
    if kind == "cells":
        list(cells(text, span, entities))
    else:
        draw(text, span, entities, width=80)


@pytest.mark.parametrize("kind", ["cells", "draw"])
def test_twice_the_entities_cost_twice_as_much(kind: str) -> None:
    reads = []
    for count in (200, 400):
        Counted.reads = 0
        _laid_out(kind, "pain " * count, [Counted("X", (Fragment(5 * n, 5 * n + 4),)) for n in range(count)])
        reads.append(Counted.reads)
    assert reads[1] < 3 * reads[0]


def test_nested_entities_find_their_lanes_without_trying_all() -> None:
    asked = 0

    class End(int):
        def __le__(self, other: int) -> bool:
            nonlocal asked
            asked += 1
            return int(self) <= other

    count = 1000
    assert lanes([(n, End(2 * count - n)) for n in range(count)]) == list(range(count))
    assert asked <= 20 * count
