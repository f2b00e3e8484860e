import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridner import UsageError
from gridner.tagging.windows import merge_mentions, owning_window, window_ranges
from gridner.text import Mention

COSTS = st.lists(st.integers(1, 9), min_size=1, max_size=60)


@given(COSTS, st.integers(2, 12), st.integers(9, 40), st.data())
def test_windows_cover_the_sentence_within_their_bounds(
    costs: list[int], max_words: int, max_cost: int, data: st.DataObject
) -> None:
    overlap = data.draw(st.integers(0, max_words - 1))
    found = window_ranges(costs, max_words=max_words, max_cost=max_cost, overlap=overlap)
    assert {word for window in found for word in window} == set(range(len(costs)))
    assert all(len(window) <= max_words and sum(costs[word] for word in window) <= max_cost for window in found)


@given(COSTS, st.integers(2, 12), st.integers(1, 40), st.data())
def test_a_mention_within_the_overlap_is_found_exactly_once(
    costs: list[int], max_words: int, max_cost: int, data: st.DataObject
) -> None:
    overlap = data.draw(st.integers(1, max_words - 1))
    found = window_ranges(costs, max_words=max_words, max_cost=max_cost, overlap=overlap)
    mentions = data.draw(
        st.sets(
            st.sets(st.integers(0, len(costs) - 1), min_size=1, max_size=4).map(
                lambda w: Mention("A", tuple(sorted(w)))
            ),
            max_size=8,
        )
    )
    seen = [
        (
            window,
            [
                Mention("A", tuple(word - window.start for word in mention.words))
                for mention in mentions
                if mention.head in window and mention.tail in window
            ],
        )
        for window in found
    ]
    merged = list(merge_mentions(seen))
    assert len(merged) == len(set(merged))
    assert set(merged) <= mentions
    for mention in mentions:
        reach = range(mention.head, mention.tail + 1)
        if len(reach) <= overlap and sum(costs[word] for word in reach) <= max_cost:
            assert mention in merged


def test_a_mention_is_taken_from_the_window_where_it_is_farthest_from_an_edge() -> None:
    found = window_ranges([1] * 14, max_words=8, max_cost=512, overlap=4)
    assert found == [range(8), range(4, 12), range(8, 14)]
    at_edge, inside = Mention("A", (6, 7), 0.1), Mention("A", (2, 3), 0.9)
    assert [
        mention.score for mention in merge_mentions([(found[0], [at_edge]), (found[1], [inside]), (found[2], [])])
    ] == [0.9]
    assert not list(merge_mentions([(found[0], [at_edge]), (found[1], []), (found[2], [])]))


def test_a_sentence_that_fits_is_one_window() -> None:
    assert window_ranges([1] * 8, max_words=8, max_cost=512, overlap=4) == [range(8)]
    assert window_ranges([], max_words=8, max_cost=512, overlap=4) == []


def test_a_word_that_costs_too_much_is_a_window_of_its_own() -> None:
    assert window_ranges([1, 9, 1], max_words=8, max_cost=4, overlap=2) == [range(1), range(1, 2), range(2, 3)]


def test_many_windows_of_a_long_sentence_stay_few() -> None:
    found = window_ranges([1] * 100_000, max_words=128, max_cost=512, overlap=32)
    assert len(found) == pytest.approx(100_000 / 96, abs=2)


@pytest.mark.parametrize(("max_words", "max_cost", "overlap"), [(8, 512, 8), (8, 512, -1), (8, 0, 2)])
def test_impossible_bounds_are_refused(max_words: int, max_cost: int, overlap: int) -> None:
    with pytest.raises(UsageError, match="expected"):
        window_ranges([1], max_words=max_words, max_cost=max_cost, overlap=overlap)


@given(COSTS, st.integers(2, 12), st.integers(1, 40), st.data())
def test_the_window_that_decides_is_the_one_that_looking_at_all_finds(
    costs: list[int], max_words: int, max_cost: int, data: st.DataObject
) -> None:
    overlap = data.draw(st.integers(0, max_words - 1))
    found = window_ranges(costs, max_words=max_words, max_cost=max_cost, overlap=overlap)
    window = data.draw(st.sampled_from(found))
    head = data.draw(st.sampled_from(window))
    tail = data.draw(st.sampled_from(range(head, window.stop)))

    def room(one: range) -> int:
        left = head - one.start if one.start > 0 else len(costs)
        return min(left, one.stop - 1 - tail if one.stop < len(costs) else len(costs))

    holding = [one for one in found if head in one and tail in one]
    assert owning_window(found, head, tail) == max(holding, key=room)
