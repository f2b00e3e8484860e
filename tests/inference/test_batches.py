from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from gridner import FormatError
from gridner.errors import Notes
from gridner.inference.batches import READ_COST, TAG_COST, WORD_COST, plan_encoder_batches, plan_grid_batches
from gridner.inference.word_pieces import EncodedSentence, PieceTokenizer

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "pain", "arm", "left", "sh", "##oul", "##der", "a", "##a"]


def pieces(max_pieces: int = 512) -> PieceTokenizer:
    tokenizer = Tokenizer(models.WordPiece({word: n for n, word in enumerate(VOCABULARY)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.enable_truncation(4)  # as files from a hub often have it
    tokenizer.enable_padding(length=8)
    return PieceTokenizer(tokenizer, max_pieces=max_pieces)


def test_padding_is_the_special_piece_where_the_vocabulary_has_another_of_such_a_name() -> None:
    vocabulary = {"<pad>": 0, "[UNK]": 1, "[PAD]": 2}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.add_special_tokens(["<pad>", "[UNK]"])
    assert PieceTokenizer(tokenizer, max_pieces=8).padding == 0


def test_words_become_pieces_between_special_ones() -> None:
    assert pieces().encode([["Pain", "shoulder", "x"], ["arm"]]) == [
        EncodedSentence(((4,), (7, 8, 9), (1,)), (2,), (3,)),
        EncodedSentence(((5,),), (2,), (3,)),
    ]


@pytest.mark.parametrize("word", ["\u200b", "\ufeff", "\x07", "\u00ad"])
def test_a_word_that_yields_no_piece_gets_the_unknown_one(word: str) -> None:
    assert pieces().encode([[word, "pain", word]])[0].words == ((1,), (4,), (1,))


def test_a_text_that_names_special_pieces_has_none() -> None:
    assert pieces().encode([["[SEP]", "[PAD]"]])[0] == EncodedSentence(((1, 1, 1), (1, 1, 1)), (2,), (3,))


def test_a_word_with_too_many_pieces_is_cut_and_counted() -> None:
    cutter = pieces(max_pieces=6)
    notes = Notes()
    assert cutter.encode([["a" * 20, "arm"]], notes=[notes])[0].words == ((10, 11, 11, 11), (5,))
    assert notes["word with more pieces than the encoder takes, cut"] == 1


def test_windows_hold_what_the_encoder_takes() -> None:
    cutter = pieces(max_pieces=6)
    sentence = cutter.encode([["shoulder", "arm", "pain", "shoulder"]])[0]
    found = cutter.encoder_windows(sentence, max_words=3, overlap=1)
    assert all(sentence.window(window).piece_count <= 6 and len(window) <= 3 for window in found)
    assert {word for window in found for word in window} == {0, 1, 2, 3}


def test_a_batch_has_the_places_of_each_words_pieces() -> None:
    cutter = pieces()
    batch = cutter.collate(cutter.encode([["pain", "shoulder"], ["arm"]]))
    assert batch.pieces.tolist() == [[2, 4, 7, 8, 9, 3], [2, 5, 3, 0, 0, 0]]
    assert batch.piece_mask.sum(axis=1).tolist() == [6, 3]
    assert batch.word_pieces.tolist() == [[[1, 1, 1], [2, 3, 4]], [[1, 1, 1], [0, 0, 0]]]
    assert batch.lengths.tolist() == [2, 1]


@given(
    st.lists(
        st.lists(st.sampled_from(["pain", "shoulder", "arm", "\u200b", "aaa"]), min_size=1, max_size=6),
        min_size=1,
        max_size=5,
    )
)
def test_pieces_of_every_word_are_where_a_batch_says(sentences: list[list[str]]) -> None:
    cutter = pieces()
    encoded = cutter.encode(sentences)
    batch = cutter.collate(encoded)
    for row, sentence in enumerate(encoded):
        for column, word in enumerate(sentence.words):
            assert set(batch.pieces[row][batch.word_pieces[row, column]]) == set(word)
            assert np.all(batch.piece_mask[row][batch.word_pieces[row, column]])


@given(st.lists(st.integers(1, 60), min_size=1, max_size=40), st.integers(1, 4000))
def test_batches_have_every_sentence_once_within_the_budget(lengths: list[int], cells: int) -> None:
    found = plan_grid_batches(lengths, cells=cells)
    assert sorted(number for batch in found for number in batch) == list(range(len(lengths)))
    for batch in found:
        assert len(batch) == 1 or len(batch) * max(lengths[number] for number in batch) ** 2 <= cells


@given(st.lists(st.integers(1, 60), min_size=1, max_size=9), st.integers(1, 9000))
def test_no_other_cut_costs_less(lengths: list[int], cells: int) -> None:
    def cost(batches: list[list[int]]) -> int:
        return sum(TAG_COST + len(batch) * (max(batch) ** 2 + WORD_COST * max(batch)) for batch in batches)

    ordered = sorted(lengths)
    allowed = []
    for cuts in product((False, True), repeat=len(ordered) - 1):
        batches = [[ordered[0]]]
        for length, cut in zip(ordered[1:], cuts, strict=True):
            if cut:
                batches.append([])
            batches[-1].append(length)
        if all(len(batch) == 1 or len(batch) * max(batch) ** 2 <= cells for batch in batches):
            allowed.append(cost(batches))
    assert cost([[lengths[number] for number in batch] for batch in plan_grid_batches(lengths, cells=cells)]) == min(
        allowed
    )


@given(st.lists(st.integers(1, 60), min_size=1, max_size=9), st.integers(1, 300))
def test_batches_for_the_encoder_cost_least_within_the_budget(lengths: list[int], most: int) -> None:
    def cost(batches: list[list[int]]) -> int:
        return sum(READ_COST + len(batch) * max(batch) for batch in batches)

    def cuts(ordered: list[int]) -> Iterator[list[list[int]]]:
        if not ordered:
            yield []
        for end in range(1, len(ordered) + 1):
            if end == 1 or end * ordered[end - 1] <= most:
                yield from ([ordered[:end], *rest] for rest in cuts(ordered[end:]))

    found = [[lengths[number] for number in batch] for batch in plan_encoder_batches(lengths, most=most)]
    assert sorted(length for batch in found for length in batch) == sorted(lengths)
    assert cost(found) == min(map(cost, cuts(sorted(lengths))))


def test_a_tokenizer_without_an_unknown_piece_is_refused() -> None:
    with pytest.raises(FormatError, match="expected an unknown and a padding piece"):
        PieceTokenizer(Tokenizer(models.WordPiece({"a": 0})), max_pieces=8)
