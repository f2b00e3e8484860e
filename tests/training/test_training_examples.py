from collections import Counter

import pytest

from gridner.config import Config
from gridner.corpus.held_out import folds_of, hold_out
from gridner.corpus.splits import Corpus, Part, part_of
from gridner.documents import Document, Entity, Fragment
from gridner.errors import Notes, UsageError
from gridner.training.examples import TrainingSet, is_discontinuous
from support.small import documents, part, tiny_config, word_pieces


def training_set(of: Part | None = None, *, notes: Notes | None = None, config: Config | None = None) -> TrainingSet:
    of = of or part()
    pieces = word_pieces(of.sentences)
    return TrainingSet(
        [Corpus("", of)], pieces=pieces, config=config or tiny_config(), notes=Notes() if notes is None else notes
    )


def test_an_epoch_has_every_example_once_in_an_order_of_its_own() -> None:
    data = training_set()
    first, again, second = data.epoch(1, 0), data.epoch(1, 0), data.epoch(1, 1)
    assert first == again
    assert first != second
    assert training_set().epoch(2, 0) != first
    for steps in (first, second):
        assert len(steps) == data.steps == 4
        assert Counter(example for step in steps for example in step) == Counter(data.examples)


@pytest.mark.parametrize(("share", "kept"), [(0.0, 0), (0.2, 2), (0.5, 5), (1.0, 10)])
def test_a_share_of_the_sentences_without_entities_is_kept(share: float, kept: int) -> None:
    empty = [Document(f"empty-{n}", f"Nothing to see {n}.") for n in range(9)]  # and one of the notes
    data = training_set(
        part_of([*documents(), *empty], notes=Notes(), name="train"), config=tiny_config(empty_share=share)
    )
    without = [example for example in data.examples if not example.mentions]
    assert len(without) == kept
    assert sum(bool(example.mentions) for example in data.examples) == 6


def test_sentences_with_a_gap_can_come_more_often() -> None:
    plain, often = training_set(), training_set(config=tiny_config(discontinuous_times=3))
    gaps = [example for example in plain.examples if any(map(is_discontinuous, example.mentions))]
    assert Counter(often.examples) == Counter([*plain.examples, *gaps, *gaps])


def test_coordinations_are_made_anew_each_epoch() -> None:
    texts = ["rod cells die", "cone cells live", "bipolar cells"]
    of = part_of(
        [Document(text, text, (Entity("C", (Fragment(0, text.index("cells") + 5),)),)) for text in texts],
        notes=Notes(),
        name="train",
    )
    pieces = word_pieces(
        part_of([*of.documents, Document("x", "and or / , but not")], notes=Notes(), name="x").sentences
    )
    data = TrainingSet([Corpus("", of)], pieces=pieces, config=tiny_config(coordinations=2.0), notes=Notes())
    epochs = [[example for step in data.epoch(1, number) for example in step] for number in range(2)]
    for examples in epochs:
        assert len(examples) == 3 + 6
        assert sum(any(map(is_discontinuous, example.mentions)) for example in examples) == 6
        assert len(data.epoch(1, 0)) == data.steps
    assert Counter(epochs[0]) != Counter(epochs[1])
    assert data.epoch(1, 1) == data.epoch(1, 1)


def test_without_anything_to_coordinate_it_is_said() -> None:
    notes = Notes()
    lone = part_of([Document("a", "rod cells", (Entity("C", (Fragment(0, 9),)),))], notes=Notes(), name="train")
    data = training_set(lone, notes=notes, config=tiny_config(coordinations=1.0))
    assert data.corpora[0].generated == 0
    assert notes["no coordinations could be made from flat mentions"] == 1


def test_long_sentences_are_cut_into_windows_and_what_fits_none_is_counted() -> None:
    text = " ".join(f"w{n}" for n in range(30))
    at = {word: text.index(word) for word in ("w4", "w5", "w25")}
    near = Entity("A", (Fragment(at["w4"], at["w5"] + 2),))
    far = Entity("A", (Fragment(at["w4"], at["w4"] + 2), Fragment(at["w25"], at["w25"] + 3)))
    of = part_of([Document("d", text, (near, far))], notes=Notes(), name="train")
    config = tiny_config()
    object.__setattr__(config.decoding, "max_words", 10)
    object.__setattr__(config.decoding, "overlap", 3)
    notes = Notes()
    data = training_set(of, notes=notes, config=config)
    assert [len(example.words.words) for example in data.examples] == [10, 10, 10, 9]
    assert [[mention.words for mention in example.mentions] for example in data.examples] == [[(4, 5)], [], [], []]
    assert notes["mention longer than what two windows share, left out of training"] == 1


def test_entities_that_words_cut_are_counted() -> None:
    notes = Notes()
    part_of([Document("d", "preadipocyte", (Entity("C", (Fragment(3, 12),)),))], notes=notes, name="train")
    assert notes["train: entity that begins or ends inside a word, left out of training"] == 1


def test_a_corpus_whose_entities_are_all_cut_is_refused() -> None:
    cut = part_of([Document("d", "preadipocyte", (Entity("C", (Fragment(3, 12),)),))], notes=Notes(), name="train")
    with pytest.raises(UsageError, match="no entity in the training corpus can become a mention"):
        training_set(cut)


def test_the_hash_of_a_part_tells_texts_and_entities_apart() -> None:
    same, other = part().about(), part(5).about()
    assert same == part().about()
    assert same["sha256"] != other["sha256"]
    assert same["entities"] == 11
    assert same["discontinuous"] == 6
    moved = part_of(reversed(documents()), notes=Notes(), name="train").about()
    assert moved["sha256"] == same["sha256"]


def test_documents_held_out_are_the_same_every_time() -> None:
    rest, held = hold_out(part(), 0.4)
    assert [len(one.documents) for one in (rest, held)] == [4, 2]
    assert hold_out(part(), 0.4) == (rest, held)
    assert {one.id for one in rest.documents}.isdisjoint(one.id for one in held.documents)
    assert {sentence.document_id for sentence in held.sentences} == {one.id for one in held.documents}
    assert len(hold_out(part(), 0.001)[1].documents) == 1
    with pytest.raises(UsageError, match="at least two"):
        hold_out(part(1), 0.5)


def test_folds_hold_every_document_out_once() -> None:
    folds = folds_of(part(), 3)
    assert sorted(document.id for _, held in folds for document in held.documents) == [one.id for one in documents()]
    assert all(len(rest.documents) == 4 for rest, _ in folds)
    with pytest.raises(UsageError, match="7 folds of 6 documents"):
        folds_of(part(), 7)
