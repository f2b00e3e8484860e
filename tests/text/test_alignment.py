from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridner import Document, Entity, Fragment, InvalidError
from gridner.documents import extent
from gridner.text import Mention, Sentence, Word, align, entity_of, with_sentences
from gridner.text.alignment import CutReason, fragments_of, overlapping_words, sentences_of


def entity(type: str, *pairs: tuple[int, int]) -> Entity:
    return Entity(type, tuple(Fragment(start, end) for start, end in pairs))


@pytest.mark.parametrize(
    "arguments", [("", 0, 0), ("a", 0, 2), ("a", -1, 0), ("a", 0.0, 1.0), (["a"], 0, 1), ("a", True, 2), ("a", "0", 1)]
)
def test_a_word_is_as_long_as_its_offsets_say(arguments: tuple[Any, Any, Any]) -> None:
    with pytest.raises(InvalidError, match="word"):
        Word(*arguments)


@pytest.mark.parametrize("indices", [(), (1, 1), (2, 1), (-1, 0), [0, 1], (0.0,), (True,)])
def test_a_mention_has_strictly_increasing_indices(indices: object) -> None:
    with pytest.raises(InvalidError, match="mention"):
        Mention("ADR", indices)  # type: ignore[arg-type]


def test_a_sentence_has_words_in_order_and_mentions_inside() -> None:
    arm, pain = Word("arm", 5, 8), Word("pain", 0, 4)
    with pytest.raises(InvalidError, match="without words"):
        Sentence("a", ())
    with pytest.raises(InvalidError, match="out of order"):
        Sentence("a", (arm, pain))
    with pytest.raises(InvalidError, match="outside a sentence of 2 words"):
        Sentence("a", (pain, arm), (Mention("ADR", (1, 2)),))
    with pytest.raises(InvalidError, match="a mention appears twice"):
        Sentence("a", (pain, arm), (Mention("ADR", (1,)), Mention("ADR", (1,), 0.5)))
    for wrong in (("x",), [Mention("ADR", (1,))]):
        with pytest.raises(InvalidError, match="expected a tuple of Mention"):
            Sentence("a", (pain, arm), wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidError, match="expected a tuple of Word"):
        Sentence("a", ("pain",))  # type: ignore[arg-type]
    with pytest.raises(InvalidError, match="document id"):
        Sentence(5, (pain,))  # type: ignore[arg-type]


@pytest.mark.parametrize("score", [True, "x", float("nan"), 10**400])
def test_a_mentions_score_is_a_finite_number(score: Any) -> None:
    with pytest.raises(InvalidError, match="score"):
        Mention("ADR", (0,), score)


def test_overlapping_discontinuous_entities_become_mentions() -> None:
    text = "He has pain in left arm and shoulder."
    document = Document("a", text, (entity("ADR", (7, 23)), entity("ADR", (7, 14), (28, 36))))
    found = align(document)
    assert found.cut == ()
    assert found.sentences[0].mentions == (Mention("ADR", (2, 3, 4, 5)), Mention("ADR", (2, 3, 7)))
    assert [entity_of(found.sentences[0], mention) for mention in found.sentences[0].mentions] == list(
        document.entities
    )


def test_an_entity_that_crosses_a_sentence_or_cuts_a_word_is_listed() -> None:
    text = "He has pain. It is perinatal."
    crossing, cutting, whole = entity("ADR", (7, 15)), entity("ADR", (23, 28)), entity("ADR", (7, 11))
    found = align(Document("a", text, (crossing, cutting, whole)))
    assert found.cut == ((crossing, CutReason.SENTENCE), (cutting, CutReason.WORD))
    assert [mention for sentence in found.sentences for mention in sentence.mentions] == [Mention("ADR", (2,))]


def test_white_space_in_and_around_fragments_does_not_cut() -> None:
    text = "He has left\r\n arm pain."
    found = align(Document("a", text, (entity("ADR", (6, 12), (14, 18)),)))
    assert found.cut == ()
    assert found.sentences[0].mentions == (Mention("ADR", (2, 3)),)


def test_an_entity_annotated_twice_is_one_mention() -> None:
    document = Document("a", "bad pain", (entity("ADR", (4, 8)), entity("ADR", (4, 8)), entity("Drug", (4, 8))))
    assert align(document).sentences[0].mentions == (Mention("ADR", (1,)), Mention("Drug", (1,)))


def test_an_entity_outside_all_words_is_cut() -> None:
    document = Document("a", "ab cd ef", (entity("ADR", (3, 5)),), sentences=((Fragment(0, 2),), (Fragment(6, 8),)))
    assert [reason for _, reason in align(document).cut] == [CutReason.WORD]


def test_own_sentences_and_words_are_used_as_they_are() -> None:
    text = "post-natal. Pain"
    own = ((Fragment(0, 10),), (Fragment(10, 11), Fragment(12, 16)))
    document = Document("a", text, (entity("X", (0, 10)),), own)
    assert [[word.text for word in sentence.words] for sentence in sentences_of(document)] == [
        ["post-natal"],
        [".", "Pain"],
    ]
    assert align(document).sentences[0].mentions == (Mention("X", (0,)),)


def test_own_words_with_text_between_them_align_only_if_it_is_restored() -> None:
    own = ((Fragment(0, 4), Fragment(5, 8)),)
    whole, parted = entity("X", (0, 8)), entity("X", (0, 4), (5, 8))
    found = align(Document("a", "pain/arm", (whole, parted), own))
    assert found.sentences[0].mentions == (Mention("X", (0, 1)),)
    assert found.cut == ((parted, CutReason.WORD),)


def test_own_words_of_white_space_are_words() -> None:
    own = ((Fragment(0, 4), Fragment(4, 5), Fragment(5, 8)),)
    around = entity("X", (0, 4), (5, 8))
    assert align(Document("a", "pain\u00a0arm", (around,), own)).sentences[0].mentions == (Mention("X", (0, 2)),)


def test_sentences_can_be_given_as_characters() -> None:
    document = with_sentences(Document("a", "No. 5 is. x"), [Fragment(0, 6), Fragment(6, 11)])
    assert [[word.text for word in sentence.words] for sentence in sentences_of(document)] == [
        ["No", ".", "5"],
        ["is", ".", "x"],
    ]


TEXTS = st.lists(
    st.sampled_from(
        ["pain", "left-arm", " ", "\n", "\r\n", "\u00a0", ".", "! ", "😀", "e\u0301", "\u200b", "\ufeff", "שלום", "9"]
    ),
    min_size=1,
    max_size=25,
).map("".join)


@given(TEXTS, st.data())
def test_every_entity_is_a_mention_that_maps_back_or_is_listed(text: str, data: st.DataObject) -> None:
    entities = []
    for _ in range(data.draw(st.integers(0, 4))):
        cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), min_size=2, max_size=6)))
        pairs = list(zip(cuts[::2], cuts[1::2], strict=False))
        entities.append(entity(data.draw(st.sampled_from("AB")), *pairs))
    document = Document("a", text, tuple(entities))
    found = align(document)
    back = {entity_of(sentence, mention) for sentence in found.sentences for mention in sentence.mentions}
    cut = {id(entity) for entity, _ in found.cut}
    kept = {Entity(e.type, extent(text, e)) for e in document.entities if id(e) not in cut}
    assert back == kept
    for sentence in found.sentences:
        assert all(text[word.start : word.end] == word.text for word in sentence.words)


@given(TEXTS, st.data())
def test_mentions_survive_the_way_to_characters_and_back(text: str, data: st.DataObject) -> None:
    mentions: list[tuple[int, Mention]] = []
    sentences = sentences_of(Document("a", text))
    for number, sentence in enumerate(sentences):
        chosen = data.draw(st.sets(st.integers(0, len(sentence.words) - 1), max_size=5))
        if chosen:
            mentions.append((number, Mention("A", tuple(sorted(chosen)))))
    entities = tuple(entity_of(sentences[number], mention) for number, mention in mentions)
    found = align(Document("a", text, entities))
    assert found.cut == ()
    assert [(n, m) for n, s in enumerate(found.sentences) for m in s.mentions] == mentions


def test_words_under_fragments_are_those_that_share_a_character() -> None:
    words = sentences_of(Document("a", "one two three"))[0].words
    assert overlapping_words(words, [Fragment(2, 5)]) == (0, 1)
    assert overlapping_words(words, [Fragment(3, 4)]) == ()
    assert overlapping_words(words, [Fragment(4, 6), Fragment(6, 9)]) == (1, 2)


def test_neighbouring_words_are_one_fragment() -> None:
    sentence = sentences_of(Document("a", "one two, three"))[0]
    assert fragments_of(sentence, (0, 1, 3)) == (Fragment(0, 7), Fragment(9, 14))
