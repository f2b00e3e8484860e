"""How the examples of a step are shared among processes."""

from random import Random

from gridner.inference.word_pieces import EncodedSentence
from gridner.training.examples import Example
from gridner.training.step import share_among


def example_of(words: int) -> Example:
    return Example(EncodedSentence(((1,),) * words, (), ()), ())


def test_processes_get_about_as_many_words_and_every_example_once() -> None:
    random = Random(1)
    for processes in (1, 2, 3):
        examples = [example_of(random.randint(1, 60)) for _ in range(32)]
        shares = share_among(examples, processes)
        assert sorted(map(id, (one for share in shares for one in share))) == sorted(map(id, examples))
        words = [sum(len(example.words.words) for example in share) for share in shares]
        assert max(words) - min(words) <= 60


def test_more_processes_than_examples_leave_some_without() -> None:
    example = example_of(1)
    assert share_among([example], 3) == [[example], [], []]
