from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gridner.corpus.flattening import flattened, without_wide_gaps
from gridner.documents import Document, Entity, Fragment
from gridner.errors import Notes

TEXT = "one two three four five six"
#       0   4   8     14   19   24


def document(*entities: Entity) -> Document:
    return Document("d", TEXT, entities)


def entity(*at: tuple[int, int], score: float | None = None, kind: str = "A") -> Entity:
    return Entity(kind, tuple(Fragment(*one) for one in at), score)


def test_wide_gaps_are_left_out_and_counted() -> None:
    near, far, whole = entity((0, 3), (8, 13)), entity((0, 3), (14, 18)), entity((0, 18))
    notes = Notes()
    assert without_wide_gaps(document(near, far, whole), most=1, notes=notes).entities == (near, whole)
    assert notes.places("entity with a gap of more than 1 word, left out") == ["d: A 0-3;14-18"]


def test_the_best_of_those_that_overlap_stays() -> None:
    first, second, third = entity((0, 7), score=0.6), entity((4, 13), score=0.9), entity((14, 18), score=0.1)
    notes = Notes()
    assert flattened(document(first, second, third), bridge=0, notes=notes).entities == (second, third)
    assert notes["entity that overlaps a better one, left out"] == 1


def test_gaps_are_covered_up_to_the_bridge() -> None:
    notes = Notes()
    found = flattened(document(entity((0, 3), (8, 13)), entity((14, 18), (24, 27))), bridge=1, notes=notes)
    assert [one.fragments for one in found.entities] == [(Fragment(0, 13),), (Fragment(14, 27),)]
    assert notes["discontinuous entity, its gaps covered"] == 2
    assert flattened(document(entity((0, 3), (8, 13))), bridge=0, notes=notes).entities == ()
    assert notes["discontinuous entity, left out"] == 1


WORDS = [Fragment(0, 3), Fragment(4, 7), Fragment(8, 13), Fragment(14, 18), Fragment(19, 23), Fragment(24, 27)]
ENTITIES = st.builds(
    lambda words, score: Entity("A", tuple(WORDS[word] for word in sorted(words)), score),
    st.sets(st.integers(0, 5), min_size=1),
    st.floats(0, 1),
)


@given(st.lists(ENTITIES, max_size=6, unique_by=lambda one: one.fragments), st.integers(0, 6))
def test_what_is_flat_is_contiguous_apart_and_complete(entities: Sequence[Entity], bridge: int) -> None:
    notes = Notes()
    found = flattened(document(*entities), bridge=bridge, notes=notes).entities
    assert all(len(one.fragments) == 1 for one in found)
    assert all(a.end <= b.start for a, b in pairwise(found))
    left = notes["discontinuous entity, left out"] + notes["entity that overlaps a better one, left out"]
    assert len(found) + left == len(entities)


def slow_flat(entities: Sequence[Entity]) -> list[Entity]:
    """The contiguous entities that stay, each compared with all that are better."""
    kept: list[Entity] = []
    for one in sorted(entities, key=lambda one: (-(one.score or 0), one.start - one.end, one.start, one.type)):
        if all(one.end <= other.start or other.end <= one.start for other in kept):
            kept.append(one)
    return sorted(kept, key=lambda one: one.start)


SPANS = st.builds(
    lambda start, length, score, kind: entity((start, min(27, start + length)), score=score, kind=kind),
    st.integers(0, 26),
    st.integers(1, 9),
    st.one_of(st.none(), st.sampled_from([0.1, 0.5, 0.9])),
    st.sampled_from(["A", "B"]),
)


@given(st.lists(SPANS, max_size=25))
def test_the_sweep_keeps_what_comparing_all_with_all_keeps(entities: Sequence[Entity]) -> None:
    assert list(flattened(document(*entities), bridge=0, notes=Notes()).entities) == slow_flat(entities)


def test_gaps_are_read_no_further_than_needed() -> None:
    text = "word " * 20_000
    far = tuple(entity((5 * n, 5 * n + 4), (99_995, 99_999)) for n in range(10_000))  # a billion words in all gaps
    found = without_wide_gaps(Document("d", text, far), most=3, notes=Notes())
    assert not found.entities
