from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gridner import UsageError
from gridner.tagging import decoding as decode_module
from gridner.tagging.decoding import Decoded, decode
from gridner.tagging.tags import TAG_SETS, Relations, TagScheme, TagSet, TypeGroup
from gridner.text import Mention

TYPES = ("A", "B")
GROUPED = TagScheme(
    ("A", "B", "C"), groups=(TypeGroup("x", ("A",)), TypeGroup("y", ("B", "C")), TypeGroup("z", ("A", "C")))
)


def brute_force(relations: Relations, threshold: float, types: Sequence[str] = TYPES) -> dict[Mention, float]:
    """Algorithm 1 as it is meant, by trying every subsequence of words."""
    found: dict[Mention, float] = {}
    n = len(relations.links)
    for size in range(1, n + 1):
        for words in combinations(range(n), size):
            links = [float(relations.links[(*pair, 0)]) for pair in pairwise(words)]
            for t, name in enumerate(types):
                score = min([float(relations.ends[words[0], words[-1], t]), *links])
                if score > threshold:
                    found[Mention(name, words)] = score
    return found


def brute_force_of_groups(relations: Relations, thresholds: Sequence[float], scheme: TagScheme) -> dict[Mention, float]:
    """Each group by itself; of what two groups give, the better score."""
    found: dict[Mention, float] = {}
    for number, group in enumerate(scheme.groups):
        numbers = [scheme.types.index(name) for name in group.types]
        alone = Relations(relations.links[:, :, [number]], relations.ends[:, :, numbers])
        for mention, score in brute_force(alone, thresholds[number], group.types).items():
            found[mention] = max(score, found.get(mention, 0.0))
    return found


def scored(decoded: Decoded) -> dict[Mention, float | None]:
    return {mention: mention.score for mention in decoded.mentions}


@st.composite
def grids(draw: st.DrawFn, max_words: int = 6, groups: int = 1, types: int = len(TYPES)) -> Relations:
    n = draw(st.integers(1, max_words))
    levels = draw(st.sampled_from([(0.0, 1.0), (0.1, 0.4, 0.6, 0.9), tuple(x / 64 for x in range(65))]))
    values = st.sampled_from(levels)

    def array(*shape: int) -> NDArray[np.float32]:
        size = int(np.prod(shape))
        return np.array(draw(st.lists(values, min_size=size, max_size=size)), dtype=np.float32).reshape(shape)

    return Relations(array(n, n, groups), array(n, n, types))


BOTH_WAYS = pytest.mark.parametrize("sparse", [0, 10**9], ids=["sweep", "walk"])


@BOTH_WAYS
@settings(max_examples=1000)
@given(relations=grids(), threshold=st.sampled_from([0.5, 0.25, 0.0]))
def test_below_the_caps_decoding_equals_brute_force(relations: Relations, threshold: float, sparse: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decode_module, "SPARSE", sparse)
        decoded = decode(relations, TYPES, threshold=threshold, k=64, limit=10_000)
    assert scored(decoded) == brute_force(relations, threshold)
    assert (decoded.capped_cells, decoded.capped_mentions) == (0, 0)
    assert list(decoded.mentions) == sorted(decoded.mentions, key=lambda mention: (mention.words, mention.type))


@BOTH_WAYS
@settings(max_examples=300)
@given(relations=grids(), k=st.integers(1, 3), limit=st.integers(1, 6))
def test_the_caps_keep_the_best_and_count_the_rest(relations: Relations, k: int, limit: int, sparse: int) -> None:
    everything = brute_force(relations, 0.5)
    by_cell: dict[tuple[str, int, int], list[float]] = {}
    for mention, score in everything.items():
        by_cell.setdefault((mention.type, mention.head, mention.tail), []).append(score)
    kept = sorted((score for scores in by_cell.values() for score in sorted(scores, reverse=True)[:k]), reverse=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decode_module, "SPARSE", sparse)
        decoded = decode(relations, TYPES, k=k, limit=limit)
    assert set(decoded.mentions) <= set(everything)
    assert all(everything[mention] == mention.score for mention in decoded.mentions)
    assert Counter(mention.score for mention in decoded.mentions) == Counter(kept[:limit])
    assert decoded.capped_cells == sum(len(scores) > k for scores in by_cell.values())
    assert decoded.capped_mentions == max(0, len(kept) - limit)


@given(
    st.sets(
        st.tuples(st.sampled_from(TYPES), st.sets(st.integers(0, 8), min_size=1)).map(
            lambda pair: Mention(pair[0], tuple(sorted(pair[1])))
        ),
        max_size=4,
    )
)
@example({Mention("A", (0, 1, 3)), Mention("A", (1, 2, 3))})
def test_gold_mentions_are_always_among_those_their_grid_gives_back(mentions: set[Mention]) -> None:
    scheme = TagScheme(TYPES)
    decoded = decode(scheme.relations(scheme.encode(list(mentions), 9)), TYPES, k=1000)
    assert mentions <= set(decoded.mentions)
    assert all(mention.score == 1 for mention in decoded.mentions)


def test_a_mention_of_algorithm_1_that_the_printed_form_loses() -> None:
    scheme = TagScheme(("A",))
    gold = Mention("A", (0, 3, 4))
    assert decode(scheme.relations(scheme.encode([gold], 5)), ("A",)).mentions == (gold,)


def test_the_grid_is_ambiguous_where_links_join_a_head_to_its_tail() -> None:
    scheme = TagScheme(("A",))
    gold = [Mention("A", (0, 1, 3)), Mention("A", (1, 2, 3))]
    decoded = decode(scheme.relations(scheme.encode(gold, 4)), ("A",)).mentions
    assert set(decoded) == {*gold, Mention("A", (0, 1, 2, 3)), Mention("A", (1, 3))}


def test_a_threshold_cuts_at_its_value_and_not_at_one_half() -> None:
    scheme = TagScheme(("A",))
    grid = np.zeros((2, 2, 4), dtype=np.float32)
    grid[0, 1, 0] = grid[1, 0, 1] = 0.4
    grid[0, 1, 2] = grid[1, 0, 3] = 0.75
    relations = scheme.relations(grid)
    assert not decode(relations, ("A",)).mentions
    assert decode(relations, ("A",), threshold=0.25).mentions == (Mention("A", (0, 1)),)
    assert not decode(relations, ("A",), threshold=0.4).mentions


def test_scores_below_the_diagonal_mean_nothing() -> None:
    relations = Relations(np.tril(np.ones((4, 4)))[:, :, None], np.tril(np.ones((4, 4)), -1)[:, :, None])
    assert decode(relations, ("A",)).mentions == ()


def test_a_dense_grid_is_answered_within_the_caps() -> None:
    n = 60
    decoded = decode(Relations(np.ones((n, n, 1)), np.ones((n, n, 1))), ("A",))
    assert len(decoded.mentions) == 1000
    longer = n - 5  # cells with more than 8 paths are those with at least four words between
    assert decoded.capped_cells == longer * (longer + 1) // 2
    assert decoded.capped_mentions > 0


@pytest.mark.parametrize("setting", [{"threshold": 1.1}, {"threshold": -0.1}, {"k": 0}, {"limit": 0}])
def test_impossible_settings_are_refused(setting: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="expected"):
        decode(Relations(np.zeros((1, 1, 1)), np.zeros((1, 1, 1))), ("A",), **setting)  # type: ignore[arg-type]


@BOTH_WAYS
@settings(max_examples=500)
@given(
    relations=grids(max_words=5, groups=3, types=3),
    thresholds=st.lists(st.sampled_from([0.7, 0.5, 0.25, 0.0]), min_size=3, max_size=3),
)
def test_each_group_is_decoded_with_its_own_links_and_threshold(
    relations: Relations, thresholds: list[float], sparse: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decode_module, "SPARSE", sparse)
        decoded = decode(
            relations, GROUPED.types, group_types=GROUPED.group_types, threshold=thresholds, k=64, limit=10_000
        )
    assert scored(decoded) == brute_force_of_groups(relations, thresholds, GROUPED)
    assert (decoded.capped_cells, decoded.capped_mentions) == (0, 0)
    assert list(decoded.mentions) == sorted(decoded.mentions, key=lambda mention: (mention.words, mention.type))


@BOTH_WAYS
@settings(max_examples=200)
@given(relations=grids(max_words=5, groups=3, types=3), limit=st.integers(1, 12))
def test_the_limit_is_that_of_the_sentence_whatever_its_groups(relations: Relations, limit: int, sparse: int) -> None:
    everything = brute_force_of_groups(relations, [0.5] * 3, GROUPED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decode_module, "SPARSE", sparse)
        decoded = decode(relations, GROUPED.types, group_types=GROUPED.group_types, k=64, limit=limit)
    best = sorted(everything.values(), reverse=True)[:limit]
    assert sorted((mention.score or 0.0 for mention in decoded.mentions), reverse=True) == best
    assert decoded.capped_mentions >= len(everything) - len(best)
    if len(everything) <= limit:
        assert decoded.capped_mentions == 0


@given(
    st.sets(
        st.tuples(st.sampled_from(GROUPED.types), st.sets(st.integers(0, 8), min_size=1)).map(
            lambda pair: Mention(pair[0], tuple(sorted(pair[1])))
        ),
        max_size=6,
    ),
    st.sampled_from(TAG_SETS),
)
def test_gold_of_all_groups_comes_back_as_that_of_each_alone(mentions: set[Mention], tags: TagSet) -> None:
    scheme = replace(GROUPED, tags=tags)
    whole = decode(
        scheme.relations(scheme.encode(list(mentions), 9)), scheme.types, group_types=scheme.group_types, k=1000
    )
    assert mentions <= set(whole.mentions)
    alone: set[Mention] = set()
    for group in scheme.groups:
        own = TagScheme(group.types, tags)
        some = [mention for mention in mentions if mention.type in group.types]
        alone |= set(decode(own.relations(own.encode(some, 9)), own.types, k=1000).mentions)
    assert set(whole.mentions) == alone


def test_links_of_another_group_join_nothing() -> None:
    scheme = TagScheme(("A", "B"), groups=(TypeGroup("x", ("A",)), TypeGroup("y", ("B",))))
    gold = [Mention("A", (0, 1, 3)), Mention("B", (1, 2, 3))]  # in one group they would give more
    found = decode(scheme.relations(scheme.encode(gold, 4)), scheme.types, group_types=scheme.group_types).mentions
    assert sorted(found, key=lambda mention: mention.type) == gold
    together = TagScheme(("A", "B"))
    assert len(decode(together.relations(together.encode(gold, 4)), together.types).mentions) > 2
