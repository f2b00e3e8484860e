"""Which texts are worth annotating next."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from gridner import Document, Entity, Fragment, UsageError
from gridner.config import DecodingConfig
from gridner.inference.next_texts import LOWEST, choose_next
from gridner.inference.recognizer import Recognizer
from gridner.tagging.tags import TagScheme


class Scored(Recognizer):
    """Finds the words that have a score."""

    def pipe(self, documents: Iterable[Document | str], **_: Any) -> Iterator[Document]:
        for document in documents:
            assert isinstance(document, Document)
            entities, at = [], 0
            for word in document.text.split(" "):
                if SCORES.get(word, 0.0) > self.decoding.threshold:
                    entities.append(Entity("Sign", (Fragment(at, at + len(word)),), SCORES[word]))
                at += len(word) + 1
            yield Document(document.id, document.text, tuple(entities))


SCORES = {"pain": 0.5, "fever": 0.45, "ache": 0.42, "cough": 0.97, "rash": 0.1, "noise": 0.04}


def recognizer(threshold: float = 0.5) -> Scored:
    nothing: Any = None
    decoding = DecodingConfig(threshold=threshold)
    return Scored(engine=nothing, tokenizer=nothing, scheme=TagScheme(("Sign",)), decoding=decoding)


def chosen(*texts: str, count: int = 50, **options: Any) -> list[str]:
    documents = [Document(f"d{number}", text) for number, text in enumerate(texts, start=1)]
    return [one.document.text for one in choose_next(recognizer(), documents, count, **options)]


def test_texts_that_the_model_is_unsure_about_come_first() -> None:
    assert chosen("cough", "nothing", "rash", "pain") == ["pain", "rash", "cough", "nothing"]


def test_a_text_with_other_doubts_comes_before_one_with_the_same() -> None:
    assert chosen("pain", "pain today", "fever", "ache", count=3) == ["pain", "fever", "ache"]


def test_long_texts_are_not_chosen_for_their_length_alone() -> None:
    long = "pain fever " + "x " * 400 + "ache"
    assert chosen(long, "pain", count=1) == ["pain"]


def test_suggestions_are_those_above_the_models_own_threshold() -> None:
    (one,) = choose_next(recognizer(0.43), [Document("d", "pain fever ache rash cough noise")])
    assert [entity.score for entity in one.document.entities] == [0.5, 0.45, 0.97]
    expected = sum(min(score, 1 - score) for score in SCORES.values() if score > LOWEST)
    assert one.expected_corrections == pytest.approx(expected)


def test_what_the_documents_have_is_ignored() -> None:
    marked = Document("d", "pain", (Entity("Sign", (Fragment(0, 4),)),))
    (one,) = choose_next(recognizer(), [marked])
    assert one.document.entities == ()


def test_no_more_are_chosen_than_there_are_and_none_twice() -> None:
    texts = [f"pain {number}" for number in range(30)]
    assert sorted(chosen(*texts, count=100)) == sorted(texts)
    assert len(set(chosen(*texts, count=7))) == 7


def test_sentences_can_be_chosen() -> None:
    found = choose_next(recognizer(), [Document("d", "All is well. Some pain .")], unit="sentences")
    assert [(one.document.id, one.document.text) for one in found] == [("d-2", "Some pain ."), ("d-1", "All is well.")]


def test_a_real_model_gives_the_same_choice_each_time(request: pytest.FixtureRequest) -> None:
    real: Recognizer = request.getfixturevalue("recognizer")
    documents = [Document(str(number), text) for number, text in enumerate(("Pain in arm.", "Rash.", "No pain."))]
    first, again = (choose_next(real, documents, 2) for _ in range(2))
    assert first == again
    assert all(one.expected_corrections > 0 for one in first)


def test_a_count_below_one_makes_no_sense() -> None:
    with pytest.raises(UsageError, match="count is 0"):
        choose_next(recognizer(), [], 0)
