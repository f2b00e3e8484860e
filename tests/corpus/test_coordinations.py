from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridner.corpus.coordinations import Coordinations
from gridner.text.alignment import Sentence
from support.small import sentence


def phrases(made: Sentence) -> set[str]:
    return {" ".join(made.words[word].text for word in mention.words) for mention in made.mentions}


def text(made: Sentence) -> str:
    return " ".join(word.text for word in made.words)


CELLS = [
    sentence("the rod cells die early", ("Cell", (1, 2))),
    sentence("we saw bipolar cells , as always", ("Cell", (2, 3))),
    sentence("no cell here"),
]


def test_two_mentions_with_a_common_last_word_are_coordinated() -> None:
    made = {text(one): phrases(one) for one in Coordinations(CELLS).sample(200, Random(1))}
    assert made["the rod and bipolar cells die early"] == {"rod cells", "bipolar cells"}
    assert made["we saw bipolar or rod cells , as always"] == {"rod cells", "bipolar cells"}


def test_a_common_first_word_is_coordinated_too() -> None:
    corpus = [sentence("cell death stops", ("P", (0, 1))), sentence("a cell division", ("P", (1, 2)))]
    made = {text(one): phrases(one) for one in Coordinations(corpus).sample(200, Random(1))}
    assert made["cell death and division stops"] == {"cell death", "cell division"}


def test_three_are_an_enumeration() -> None:
    corpus = [*CELLS, sentence("ganglion cells", ("Cell", (0, 1)))]
    made = {text(one): phrases(one) for one in Coordinations(corpus).sample(500, Random(1))}
    assert made["the rod , bipolar , and ganglion cells die early"] == {"rod cells", "bipolar cells", "ganglion cells"}


def test_other_mentions_move_with_their_words() -> None:
    corpus = [sentence("Ann saw rod cells and pain", ("Name", (0,)), ("Cell", (2, 3)), ("Sign", (5,))), CELLS[1]]
    for made in Coordinations(corpus).sample(50, Random(2)):
        if made.words[0].text == "Ann":
            assert phrases(made) == {"Ann", "rod cells", "bipolar cells", "pain"}


def test_nothing_is_made_of_nothing() -> None:
    alone = Coordinations([CELLS[0], CELLS[2]])
    assert len(alone) == 0
    assert alone.sample(5, Random(1)) == []


def test_a_number_and_its_plural_are_not_coordinated() -> None:
    assert len(Coordinations([sentence("rod cell", ("C", (0, 1))), sentence("rod cells", ("C", (0, 1)))])) == 0


def test_mentions_that_overlap_others_or_have_gaps_are_left_alone() -> None:
    corpus = [
        sentence("rod cells", ("Cell", (0, 1)), ("Thing", (1,))),
        sentence("cone and other cells", ("Cell", (0, 3))),
        CELLS[1],
    ]
    assert len(Coordinations(corpus)) == 0


@given(st.integers(0, 10_000))
def test_the_same_numbers_make_the_same_sentences(seed: int) -> None:
    first, second = (Coordinations(CELLS).sample(3, Random(seed)) for _ in range(2))
    assert first == second
    for made in first:
        assert any(mention.tail - mention.head + 1 > len(mention.words) for mention in made.mentions)


@pytest.mark.parametrize("seed", range(3))
def test_words_lie_one_space_apart(seed: int) -> None:
    (made,) = Coordinations(CELLS).sample(1, Random(seed))
    assert [word.text for word in made.words] == text(made).split()
    assert all(b.start == a.end + 1 for a, b in zip(made.words, made.words[1:], strict=False))
