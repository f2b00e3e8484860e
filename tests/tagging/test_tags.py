import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from gridner import UsageError
from gridner.tagging.tags import TAG_SETS, TagScheme, TagSet, TypeGroup, VoteMode, probabilities, shift_threshold
from gridner.text import Mention


def cells(scheme: TagScheme, mentions: list[Mention], words: int) -> set[tuple[int, int, str]]:
    grid = scheme.encode(mentions, words)
    return {(int(i), int(j), scheme.labels[c]) for i, j, c in zip(*np.nonzero(grid), strict=True)}


def test_the_papers_example_cell_by_cell() -> None:
    # pain(0) in(1) neck(2) and(3) shoulder(4) blade(5)
    neck, blade = Mention("ADR", (0, 1, 2)), Mention("ADR", (0, 4, 5))
    assert cells(TagScheme(("ADR",)), [neck, blade], 6) == {
        (0, 1, "NNW"),
        (1, 2, "NNW"),
        (0, 4, "NNW"),
        (4, 5, "NNW"),
        (1, 0, "PNW"),
        (2, 1, "PNW"),
        (4, 0, "PNW"),
        (5, 4, "PNW"),
        (0, 2, "HTW:ADR"),
        (0, 5, "HTW:ADR"),
        (2, 0, "THW:ADR"),
        (5, 0, "THW:ADR"),
    }


def test_a_one_word_mention_sits_on_the_diagonal() -> None:
    assert cells(TagScheme(("ADR",)), [Mention("ADR", (1,))], 3) == {(1, 1, "HTW:ADR"), (1, 1, "THW:ADR")}


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("NNW+PNW+HTW+THW", ("NNW", "PNW", "HTW:A", "HTW:B", "THW:A", "THW:B")),
        ("NNW+THW", ("NNW", "THW:A", "THW:B")),
        ("PNW+HTW", ("PNW", "HTW:A", "HTW:B")),
    ],
)
def test_links_carry_no_type_and_ends_do(tags: TagSet, expected: tuple[str, ...]) -> None:
    scheme = TagScheme(("A", "B"), tags)
    assert scheme.labels == expected
    assert {label for _, _, label in cells(scheme, [Mention("A", (0, 2)), Mention("B", (0, 2))], 3)} == set(expected)


GROUPS = (TypeGroup("x", ("A", "B")), TypeGroup("y", ("B", "C")))


def test_several_groups_have_links_of_their_own() -> None:
    scheme = TagScheme(("A", "B", "C"), groups=GROUPS)
    ends = ("HTW:A", "HTW:B", "HTW:C", "THW:A", "THW:B", "THW:C")
    assert scheme.labels == ("NNW@x", "NNW@y", "PNW@x", "PNW@y", *ends)
    known = [{label for label, own in zip(scheme.labels, row, strict=True) if own} for row in scheme.group_labels]
    assert known[0] == {"NNW@x", "PNW@x", "HTW:A", "HTW:B", "THW:A", "THW:B"}
    assert known[1] == {"NNW@y", "PNW@y", "HTW:B", "HTW:C", "THW:B", "THW:C"}
    only = cells(scheme, [Mention("A", (0, 1))], 2)
    assert only == {(0, 1, "NNW@x"), (1, 0, "PNW@x"), (0, 1, "HTW:A"), (1, 0, "THW:A")}
    both = cells(scheme, [Mention("B", (0, 1))], 2)  # two corpora mark B
    assert {label for _, _, label in both} == {"NNW@x", "NNW@y", "PNW@x", "PNW@y", "HTW:B", "THW:B"}


def test_one_group_has_the_labels_of_none() -> None:
    named, plain = TagScheme(("A", "B"), groups=(TypeGroup("x", ("A", "B")),)), TagScheme(("A", "B"))
    assert named.labels == plain.labels
    assert plain.group_labels.all()
    assert plain.group_types is named.group_types is None


@given(
    st.sampled_from(TAG_SETS),
    st.sampled_from(["T", "L"]),
    st.sampled_from(["T", "L"]),
    st.sets(
        st.tuples(st.sampled_from("AB"), st.sets(st.integers(0, 6), min_size=1)).map(
            lambda pair: Mention(pair[0], tuple(sorted(pair[1])))
        ),
        max_size=5,
    ),
)
def test_gold_relations_are_the_steps_and_ends_of_the_mentions(
    tags: TagSet, links: VoteMode, ends: VoteMode, mentions: set[Mention]
) -> None:
    scheme = TagScheme(("A", "B"), tags)
    relations = scheme.relations(scheme.encode(list(mentions), 7), links=links, ends=ends)
    steps = {pair for m in mentions for pair in zip(m.words, m.words[1:], strict=False)}
    assert {(int(i), int(j)) for i, j in zip(*np.nonzero(relations.links[:, :, 0]), strict=True)} == steps
    expected = {(m.head, m.tail, "AB".index(m.type)) for m in mentions}
    assert {(int(i), int(j), int(t)) for i, j, t in zip(*np.nonzero(relations.ends), strict=True)} == expected


def test_mode_t_takes_the_weaker_tag_and_mode_l_the_stronger() -> None:
    scheme = TagScheme(("A",))
    grid = np.zeros((2, 2, 4), dtype=np.float32)
    grid[0, 1, 0], grid[1, 0, 1] = 0.9, 0.2  # NNW, PNW
    grid[0, 1, 2], grid[1, 0, 3] = 0.3, 0.8  # HTW, THW
    strict, loose = scheme.relations(grid, links="T", ends="T"), scheme.relations(grid, links="L", ends="L")
    assert (strict.links[0, 1, 0], strict.ends[0, 1, 0]) == (np.float32(0.2), np.float32(0.3))
    assert (loose.links[0, 1, 0], loose.ends[0, 1, 0]) == (np.float32(0.9), np.float32(0.8))


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(UsageError, match="tag set"):
        TagScheme(("A",), "NNW")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="types"):
        TagScheme(())
    with pytest.raises(UsageError, match="types"):
        TagScheme(("A", "A"))
    with pytest.raises(UsageError, match="groups of types are x, x, expected each name once"):
        TagScheme(("A",), groups=(TypeGroup("x", ("A",)), TypeGroup("x", ("A",))))
    for groups in ((TypeGroup("x", ("A",)),), (TypeGroup("x", ("A", "B", "C")),)):
        with pytest.raises(UsageError, match="expected all of A, B in them"):
            TagScheme(("A", "B"), groups=groups)
    scheme = TagScheme(("A",))
    with pytest.raises(UsageError, match="type 'B'"):
        scheme.encode([Mention("B", (0,))], 1)
    with pytest.raises(UsageError, match="shape"):
        scheme.relations(np.zeros((2, 2, 3)))
    with pytest.raises(UsageError, match="mode"):
        scheme.relations(np.zeros((2, 2, 4)), links="X")  # type: ignore[arg-type]


@given(arrays(np.float64, (3, 4), elements=st.floats(-20, 20)))
def test_a_tag_is_probable_where_its_score_exceeds_zero(scores: NDArray[np.float64]) -> None:
    clear = np.abs(scores) > 1e-12  # nearer to 0 rounding decides
    assert np.array_equal(probabilities(scores)[clear] > 0.5, scores[clear] > 0)


@given(arrays(np.float64, (3, 4), elements=st.floats(-20, 20), unique=True))
def test_the_one_label_is_that_with_the_best_score_unless_it_is_none(scores: NDArray[np.float64]) -> None:
    found = probabilities(scores, one_label=True)
    best = scores.argmax(axis=-1)
    order = np.sort(scores, axis=-1)
    clear = order[:, -1] - order[:, -2] > 1e-12
    for row in np.flatnonzero(clear):
        assert np.flatnonzero(found[row] > 0.5).tolist() == ([best[row]] if best[row] < 3 else [])


@given(st.floats(0.001, 0.999), st.floats(0.01, 0.99))
def test_a_shift_moves_the_threshold_to_one_half(probability: float, threshold: float) -> None:
    found = float(shift_threshold(np.array(probability), threshold))
    assert 0 < found < 1
    assert (found > 0.5) == (probability > threshold) or abs(found - 0.5) < 1e-9
    assert float(shift_threshold(np.array(threshold), threshold)) == pytest.approx(0.5)


@given(arrays(np.float64, (3, 7), elements=st.floats(-20, 20), unique=True))
def test_every_group_has_its_one_label(scores: NDArray[np.float64]) -> None:
    scheme = TagScheme(("A", "B", "C"), "NNW+THW", groups=GROUPS)  # five labels and none
    scores = scores[:, : len(scheme.labels) + 1]
    found = probabilities(scores, one_label=True, group_labels=scheme.group_labels)
    expected = np.zeros_like(found)
    for row in scheme.group_labels:
        own = [*np.flatnonzero(row), -1]
        alone = probabilities(scores[:, own], one_label=True)
        expected[:, own[:-1]] = np.maximum(expected[:, own[:-1]], alone)
    np.testing.assert_array_equal(found, expected)
