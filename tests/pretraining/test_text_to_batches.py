"""From text to batches: nothing is lost, words are hidden whole, every row is read once per pass."""

import gzip
import lzma
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from gridner.errors import Notes
from gridner.inference.word_pieces import PieceTokenizer
from gridner.pretraining.masking import masking_of
from gridner.pretraining.rows import Rows, frame_of, inside_bit, made_rows
from gridner.pretraining.shuffling import Order, groups_of
from gridner.pretraining.text import Source, fingerprint, lines_of, sources_of
from support.pretraining import PIECES, encoder, text

CLS, SEP, MASK = 2, 3, 4


def rows_of(folder: Path, words: Path, *, length: int = 32) -> tuple[Rows, PieceTokenizer]:
    path = folder / "encoder"
    if not path.exists():
        encoder(path)
    pieces = PieceTokenizer(Tokenizer.from_file(str(path / "tokenizer.json")), max_pieces=64)
    return made_rows(folder, [Source(words)], pieces, length=length, identity={}, notes=Notes()), pieces


@pytest.mark.parametrize("length", [16, 33, 64])
def test_rows_hold_every_piece_of_the_text_in_order_and_no_padding(tmp_path: Path, length: int) -> None:
    words = text(tmp_path / "text.txt", lines=50)
    rows, pieces = rows_of(tmp_path, words, length=length)
    wanted = []
    for line in words.read_text(encoding="utf-8").splitlines():
        wanted += [*pieces.tokenizer.encode(line, add_special_tokens=False).ids, SEP]
    found, starts = rows.batch(np.arange(len(rows)), frame_of(pieces.tokenizer))
    assert found.shape == (len(rows), length)
    assert (found[:, 0] == CLS).all()
    assert (found[:, -1] == SEP).all()
    inner = found[:, 1:-1].reshape(-1)
    assert inner[: len(wanted)].tolist() == wanted
    assert len(inner) - len(wanted) < length  # filled from the beginning of the text
    assert inner[len(wanted) :].tolist() == wanted[: len(inner) - len(wanted)]
    continued = np.array([PIECES[piece].startswith("##") for piece in found.reshape(-1)]).reshape(found.shape)
    assert (starts[:, 2:] == ~continued[:, 2:]).all()
    assert rows.about["words"] == len(words.read_text().split())


def test_a_long_line_is_split_at_white_space_and_counted(tmp_path: Path) -> None:
    words = [f"word{number}" for number in range(5000)]
    (tmp_path / "text.txt").write_text(" ".join(words), encoding="utf-8")
    notes = Notes()
    lines = list(lines_of(Source(tmp_path / "text.txt"), notes))
    assert len(lines) > 1
    assert " ".join(lines).split() == words
    assert [(what, count) for what, count, _ in notes] == [("line of more than 10,000 characters, split", 1)]


def test_plain_and_compressed_text_give_the_same_lines(tmp_path: Path) -> None:
    plain = text(tmp_path / "text.txt", lines=20)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(plain.read_bytes()))
    (tmp_path / "b.txt.xz").write_bytes(lzma.compress(plain.read_bytes()))
    found = [list(lines_of(Source(tmp_path / name), Notes())) for name in ("text.txt", "a.txt.gz", "b.txt.xz")]
    assert found[0] == found[1] == found[2] == plain.read_text().splitlines()


def test_a_source_is_identified_by_its_bytes_and_weight_without_any_text(tmp_path: Path) -> None:
    one, other = text(tmp_path / "text.txt", seed=1), text(tmp_path / "other.txt", seed=2)
    first, second = sources_of([str(one), f"{other}=2"])
    assert second.weight == 2
    assert fingerprint(first)["sha256"] != fingerprint(second)["sha256"]
    assert set(fingerprint(first)) == {"name", "weight", "bytes", "sha256"}


@given(seed=st.integers(0, 2**31), share=st.floats(0.01, 0.9))
def test_words_are_hidden_whole_and_special_pieces_never(seed: int, share: float) -> None:
    random = np.random.default_rng(seed)
    pieces = random.integers(5, 40, size=(4, 30))
    pieces[:, 0], pieces[:, -1] = CLS, SEP
    starts = random.random(pieces.shape) < 0.6
    starts[:, [0, 1, -1]] = True
    masked = masking_of(share, MASK, {0, 1, CLS, SEP, MASK}, 40)(pieces, starts, random)
    assert len(masked.places) >= 1
    assert not np.isin(masked.targets, (CLS, SEP)).any()
    assert (pieces.reshape(-1)[masked.places] == masked.targets).all()
    hidden = np.zeros(pieces.size, dtype=bool)
    hidden[masked.places] = True
    words = np.cumsum(starts.reshape(-1)) - 1
    by_word = [set(hidden[words == word].tolist()) for word in range(words[-1] + 1)]
    assert all(len(of_word) == 1 for of_word in by_word)
    assert (masked.pieces.reshape(-1)[~hidden] == pieces.reshape(-1)[~hidden]).all()


@given(sizes=st.lists(st.integers(3, 400), min_size=1, max_size=3), seed=st.integers(0, 1000))
def test_a_pass_reads_every_row_once_and_no_held_out_row(sizes: list[int], seed: int) -> None:
    groups = groups_of([(size, 1.0) for size in sizes], share=0.1, most=20)
    order = Order(groups, seed)
    held = np.concatenate([group.held_rows() for group in groups])
    for number in range(2):
        read = order.rows(np.arange(number * order.epoch, (number + 1) * order.epoch))
        assert sorted([*read.tolist(), *held.tolist()]) == list(range(sum(sizes)))


def test_the_mark_of_a_piece_inside_a_word_is_its_highest_bit() -> None:
    assert inside_bit(np.dtype(np.uint16)) == 2**15
    assert inside_bit(np.dtype(np.uint32)) == 2**31
