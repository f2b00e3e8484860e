import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridner import Document, Entity, Fragment, MismatchError, Score, evaluate
from gridner.scoring.evaluation import DISCONTINUOUS, ERRORS, IN_DISCONTINUOUS
from gridner.scoring.matching import by_sentence, compared_entities, overlap_of, word_counts
from gridner.scoring.serialization import error_shares, evaluation_json
from gridner.text.alignment import sentences_of

TEXT = "pain in left arm and shoulder . no rash"
#       0    5  8    13  17  21       30 32 35


def entity(type: str, *pairs: tuple[int, int]) -> Entity:
    return Entity(type, tuple(Fragment(start, end) for start, end in pairs))


ARM, SHOULDER = entity("ADR", (0, 16)), entity("ADR", (0, 7), (21, 29))
LEFT, RASH = entity("Anatomy", (8, 16)), entity("ADR", (35, 39))


def document(*entities: Entity, id: str = "a", text: str = TEXT) -> Document:
    return Document(id, text, entities)


def test_type_and_extent_must_both_be_right() -> None:
    gold = document(ARM, SHOULDER, RASH)
    predicted = document(ARM, entity("Drug", (35, 39)), entity("ADR", (0, 7), (17, 29)))
    assert evaluate([gold], [predicted]).score() == Score(tp=1, fp=2, fn=2)


def test_precision_recall_and_f1() -> None:
    score = Score(tp=6, fp=2, fn=6)
    assert (score.precision, score.recall, score.f1) == (0.75, 0.5, 0.6)
    assert (Score().precision, Score().recall, Score().f1) == (0.0, 0.0, 0.0)
    assert Score(1, 2, 3) + Score(1, 1, 1) == Score(2, 3, 4)


def test_an_extent_is_the_same_however_its_fragments_are_written() -> None:
    text = "pain in\nleft arm"
    gold = document(entity("ADR", (0, 16)), text=text)
    predicted = document(entity("ADR", (0, 7), (8, 12), (13, 16)), text=text)
    assert evaluate([gold], [predicted]).score() == Score(tp=1)


def test_an_entity_counts_once_however_often_it_is_annotated() -> None:
    result = evaluate([document(ARM, ARM)], [document(ARM, ARM, ARM)])
    assert result.score() == Score(tp=1)
    assert result.duplicates == 3


def test_gold_that_words_or_sentences_cut_counts_as_missed() -> None:
    text = "It was perinatal. Then it went."
    gold = document(entity("X", (11, 16)), entity("X", (7, 22)), text=text)
    assert evaluate([gold], [document(text=text)]).score() == Score(fn=2)
    assert evaluate([gold], [gold]).score() == Score(tp=2)


def test_documents_without_entities_count() -> None:
    gold = [document(ARM), document(id="b")]
    result = evaluate(gold, [document(ARM), document(RASH, id="b")])
    assert result.documents == 2
    assert result.score() == Score(tp=1, fp=1)


def test_scores_by_type_and_their_mean() -> None:
    result = evaluate([document(ARM, LEFT)], [document(ARM, RASH)])
    assert result.types == ["ADR", "Anatomy"]
    assert result.score("type:ADR") == Score(tp=1, fp=1)
    assert result.score("type:Anatomy") == Score(fn=1)
    assert result.macro_f1 == pytest.approx((2 / 3 + 0) / 2)


def test_sentences_with_a_discontinuous_gold_entity() -> None:
    text = "Pain in arm and leg. Some rash. A cough."
    gap, rash, cough = entity("X", (0, 7), (16, 19)), entity("X", (26, 30)), entity("X", (34, 39))
    wrong_gap = entity("X", (32, 33), (34, 39))
    arm = entity("X", (0, 11))
    result = evaluate([document(gap, arm, rash, text=text)], [document(arm, rash, cough, text=text)])
    assert result.score(IN_DISCONTINUOUS) == Score(tp=1, fn=1)
    result = evaluate([document(gap, rash, text=text)], [document(rash, wrong_gap, text=text)])
    assert result.score(IN_DISCONTINUOUS) == Score(fn=1)


def test_discontinuous_entities_only() -> None:
    result = evaluate([document(ARM, SHOULDER)], [document(SHOULDER, entity("ADR", (0, 4), (35, 39)), RASH)])
    assert result.score(DISCONTINUOUS) == Score(tp=1, fp=1)
    assert result.score("continuous") == Score(fp=1, fn=1)


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ((), "none"),
        ((RASH,), "none"),
        ((ARM,), "left"),
        ((entity("Anatomy", (21, 29)),), "right"),
        ((ARM, entity("Anatomy", (21, 29))), "multiple"),
        ((entity("Other", (0, 7), (21, 29)),), "multiple"),
        ((entity("ADR", (8, 16)),), "none"),
    ],
)
def test_overlap_classes(others: tuple[Entity, ...], expected: str) -> None:
    text = TEXT.replace(".", ",")
    items = compared_entities(text, sentences_of(document(text=text)), (SHOULDER, *others))
    assert overlap_of(items[0], word_counts(items)) == expected


def test_a_middle_fragment_that_is_shared_is_multiple() -> None:
    three = entity("X", (0, 4), (8, 12), (21, 29))
    items = compared_entities(TEXT, sentences_of(document()), (three, LEFT))
    assert overlap_of(items[0], word_counts(items)) == "multiple"


def test_only_entities_of_the_same_sentence_overlap() -> None:
    items = compared_entities(
        "Arm pain. Leg.", sentences_of(document(text="Arm pain. Leg.")), (entity("X", (0, 3)), entity("X", (10, 13)))
    )
    assert [len(group) for group in by_sentence(items).values()] == [1, 1]


def test_a_right_prediction_takes_the_class_of_gold_and_a_wrong_one_its_own() -> None:
    gold = document(ARM, SHOULDER)
    right = evaluate([gold], [document(SHOULDER)])
    assert right.score("overlap:left") == Score(tp=1)
    wrong = evaluate([gold], [document(entity("ADR", (0, 4), (21, 29)))])
    assert wrong.score("overlap:left") == Score(fn=1)
    assert wrong.score("overlap:none") == Score(fp=1)


def test_errors_say_whether_head_and_tail_were_right() -> None:
    missing_in = entity("ADR", (0, 4), (21, 29))  # right head and tail, wrong words between
    wrong_type = entity("Drug", (0, 7), (21, 29))
    result = evaluate([document(SHOULDER, RASH)], [document(missing_in, wrong_type)])
    assert result.errors["all"] == dict(zip(ERRORS, (1, 1, 1, 1), strict=True))


def test_error_blocks_are_over_sentences_with_such_a_gold_entity() -> None:
    text = "Pain in arm and leg. Some rash. A cough."
    gap, arm, rash = entity("X", (0, 7), (16, 19)), entity("X", (0, 11)), entity("X", (26, 30))
    result = evaluate([document(gap, arm, rash, text=text)], [document(entity("X", (34, 39)), text=text)])
    assert {block: sum(counts.values()) for block, counts in result.errors.items()} == {
        "all": 4,
        "discontinuous": 2,
        "flat": 1,
        "overlapped": 2,
    }


def test_error_shares_of_a_block_sum_to_100() -> None:
    shares = error_shares({"a": 1, "b": 2, "c": 0, "d": 4})
    assert sum(shares.values()) == pytest.approx(100)
    assert error_shares({"a": 0}) == {"a": 0.0}


def test_relaxed_scores_need_the_type_and_a_common_word() -> None:
    gold = document(SHOULDER, RASH)
    predicted = document(entity("ADR", (21, 29)), entity("ADR", (0, 4)), entity("Drug", (35, 39)))
    relaxed = evaluate([gold], [predicted]).relaxed
    assert (relaxed.predicted, relaxed.predicted_right, relaxed.gold, relaxed.gold_found) == (3, 2, 2, 1)
    assert relaxed.f1 == pytest.approx(2 * (2 / 3) * 0.5 / (2 / 3 + 0.5))


def test_documents_on_one_side_only_are_named() -> None:
    with pytest.raises(MismatchError, match=r"1 only in gold \(b\); 1 only in predictions \(c\)"):
        evaluate([document(), document(id="b")], [document(), document(id="c")])


def test_texts_that_differ_are_named_with_the_place() -> None:
    with pytest.raises(MismatchError, match="document a: gold and predicted texts differ, first at character 5"):
        evaluate([document(text="pain in")], [document(text="pain on")])


@pytest.mark.parametrize("side", ["gold", "predictions"])
def test_a_document_twice_is_an_error(side: str) -> None:
    sides = {"gold": [document()], "predictions": [document()]}
    sides[side] = [document(), document()]
    with pytest.raises(MismatchError, match=f"{side}: document a appears twice"):
        evaluate(sides["gold"], sides["predictions"])


POOL = [
    ARM,
    SHOULDER,
    LEFT,
    RASH,
    entity("ADR", (0, 4)),
    entity("Anatomy", (13, 16), (21, 29)),
    entity("ADR", (8, 12), (35, 39)),
]
CORPUS = st.lists(st.lists(st.sampled_from(POOL), max_size=6), min_size=1, max_size=4)


@given(CORPUS, CORPUS, st.randoms(use_true_random=False))
def test_order_does_not_matter(
    gold: list[list[Entity]], predicted: list[list[Entity]], shuffler: random.Random
) -> None:
    size = min(len(gold), len(predicted))
    golds = [document(*gold[n], id=str(n)) for n in range(size)]
    answers = [document(*predicted[n], id=str(n)) for n in range(size)]
    before = evaluation_json(evaluate(golds, answers))

    def shuffled(documents: list[Document]) -> list[Document]:
        found = [document(*shuffler.sample(d.entities, len(d.entities)), id=d.id) for d in documents]
        return shuffler.sample(found, len(found))

    assert evaluation_json(evaluate(shuffled(golds), shuffled(answers))) == before


@given(CORPUS, CORPUS)
def test_slices_add_up(gold: list[list[Entity]], predicted: list[list[Entity]]) -> None:
    size = min(len(gold), len(predicted))
    result = evaluate(
        [document(*gold[n], id=str(n)) for n in range(size)], [document(*predicted[n], id=str(n)) for n in range(size)]
    )
    total = result.score()
    assert sum((result.score(f"type:{name}") for name in result.types), Score()) == total
    assert result.score("continuous") + result.score(DISCONTINUOUS) == total
    classes = (result.score(f"overlap:{name}") for name in ("none", "left", "right", "multiple"))
    assert sum(classes, Score()) == result.score(DISCONTINUOUS)
    assert sum(result.errors["all"].values()) == total.fp + total.fn
    expected = sum(len(set(entities)) for entities in gold[:size])
    assert total.tp + total.fn == expected


@given(CORPUS)
def test_gold_against_itself_is_perfect(gold: list[list[Entity]]) -> None:
    documents = [document(*entities, id=str(n)) for n, entities in enumerate(gold)]
    result = evaluate(documents, documents)
    assert (result.score().fp, result.score().fn) == (0, 0)
    assert result.relaxed.predicted_right == result.relaxed.gold
