"""Sparse grids: what is kept comes back, and other tag sets say the same."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gridner.distillation.sparse_grid import LabelMap, SparseGrid, check_same_types
from gridner.tagging.tags import TAG_SETS, TagScheme, TypeGroup
from gridner.text.alignment import Mention

GROUPS = (TypeGroup("a", ("Drug",)), TypeGroup("b", ("Drug", "Sign")))


@given(
    grid=arrays(
        np.float64, st.tuples(*[st.shared(st.integers(1, 6), key="n")] * 2, st.just(3)), elements=st.floats(0, 1)
    ),
    least=st.floats(0.001, 0.5),
)
def test_a_grid_comes_back_without_the_cells_that_do_not_matter(grid: np.ndarray, least: float) -> None:
    found = SparseGrid.from_dense(grid, least=least)
    assert (found.dense(3) == np.where(grid >= least, grid, 0)).all()
    assert len(found.cells) == (grid >= least).sum()
    matter = np.any(grid >= least, axis=2)
    assert found.tagged_words == [n for n in range(len(grid)) if matter[n].any() or matter[:, n].any()]


@given(data=st.data(), words=st.integers(2, 7), grouped=st.booleans())
def test_every_tag_set_can_teach_every_other(data: st.DataObject, words: int, grouped: bool) -> None:
    mentions = data.draw(
        st.lists(
            st.builds(
                lambda kind, at: Mention(kind, tuple(sorted(at))),
                st.sampled_from(("Drug", "Sign")),
                st.sets(st.integers(0, words - 1), min_size=1),
            ),
            max_size=3,
        )
    )
    source, target = data.draw(st.sampled_from(TAG_SETS)), data.draw(st.sampled_from(TAG_SETS))
    groups = GROUPS if grouped else ()
    one, other = (TagScheme(("Drug", "Sign"), tags, groups) for tags in (source, target))
    said = one.encode(mentions, words).astype(float)
    wanted = other.encode(mentions, words)
    labels = LabelMap.between(one, other)
    assert (labels.dense(said) == wanted).all()
    sparse = labels.sparse(SparseGrid.from_dense(said, least=0.5))
    assert (sparse.dense(len(other.labels)) == wanted).all()


@given(data=st.data(), words=st.integers(1, 7))
def test_a_word_is_as_probable_as_its_most_probable_tag(data: st.DataObject, words: int) -> None:
    scheme = TagScheme(("Drug", "Sign"), "NNW+PNW+HTW+THW", GROUPS)
    shape = (words, words, len(scheme.labels))
    grid = data.draw(arrays(np.float64, shape, elements=st.sampled_from([0.0, 0.2, 0.9])))
    found = SparseGrid.from_dense(grid, least=0.1).word_probabilities(scheme.group_labels)
    for word in range(words):
        for group, known in enumerate(scheme.group_labels):
            tags = np.concatenate((grid[word][:, known], grid[:, word][:, known]))
            assert found[word, group] == tags.max()


def test_other_types_or_groups_cannot_teach() -> None:
    one, other = TagScheme(("Drug", "Sign")), TagScheme(("Drug", "Gene"))
    grouped = TagScheme(("Drug", "Sign"), groups=GROUPS)
    same = TagScheme(("Sign", "Drug"), "NNW+THW")
    assert check_same_types(same, one, where="teacher", owner="the corpus") is None
    said = check_same_types(one, other, where="teacher", owner="the corpus")
    assert said == "teacher: types Drug, Sign; expected Drug, Gene, those of the corpus"
    assert "types by corpus" in str(check_same_types(grouped, one, where="teacher", owner="the corpus"))
