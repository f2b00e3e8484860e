"""Sentences as numbers: pieces of words, and batches of similar length under a budget.

Training and prediction cut words into pieces with the same `tokenizers` file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from gridner.errors import FormatError, Notes
from gridner.tagging.windows import windows

# Measured with MiniLM on a CPU: with another encoder the batches only lose some speed.
READ_COST = 30  # pieces that cost as much as a call of the encoder
WORD_COST = 20  # cells of the grid that cost as much as one of its words
TAG_COST = 400  # cells that cost as much as a call of the grid's network


@dataclass(frozen=True, slots=True)
class EncodedSentence:
    """The pieces of a sentence: those of each word, and the special ones before and after."""

    words: tuple[tuple[int, ...], ...]
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def pieces(self) -> int:
        """How many pieces there are, special ones included."""
        return sum(map(len, self.words)) + len(self.before) + len(self.after)

    def part(self, words: range) -> EncodedSentence:
        """Some of the words, as a sentence of their own."""
        return EncodedSentence(self.words[words.start : words.stop], self.before, self.after)


class PieceBatch(NamedTuple):
    """A batch of B sentences of at most n words and p pieces, for torch and ONNX Runtime alike."""

    pieces: NDArray[np.int64]  # [B, p]
    piece_mask: NDArray[np.bool_]  # [B, p]
    word_pieces: NDArray[np.int64]  # [B, n, m], the first piece repeated where a word has fewer than m
    lengths: NDArray[np.int64]  # [B], in words


class PieceTokenizer:
    """Cuts words into pieces. A word that yields none (zero-width, control characters) gets the unknown piece."""

    def __init__(self, tokenizer: Tokenizer, *, max_pieces: int) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True  # a text that says "[SEP]" has no separator in it
        self.tokenizer = tokenizer
        self.max_pieces = max_pieces
        self.unknown = _special(tokenizer, ("[UNK]", "<unk>", "<UNK>"))
        self.padding = _special(tokenizer, ("[PAD]", "<pad>", "<PAD>"))

    @classmethod
    def load(cls, path: Path, *, max_pieces: int) -> PieceTokenizer:
        """From a tokenizer.json."""
        try:
            return cls(Tokenizer.from_file(str(path)), max_pieces=max_pieces)
        except Exception as error:  # tokenizers raises plain Exceptions
            raise FormatError(f"{path}: {error}, expected a tokenizer.json of the tokenizers library") from None

    def encode(self, sentences: Sequence[Sequence[str]], *, notes: Sequence[Notes] = ()) -> list[EncodedSentence]:
        """The pieces of sentences, given as words. Words that had to be cut are counted, in the notes of each."""
        found = []
        for words, encoding, its_notes in zip(
            sentences,
            self.tokenizer.encode_batch(list(sentences), is_pretokenized=True),
            notes or repeat(Notes(), len(sentences)),
            strict=True,
        ):
            of_words: list[list[int]] = [[] for _ in words]
            before: list[int] = []
            after: list[int] = []
            for piece, word in zip(encoding.ids, encoding.word_ids, strict=True):
                if word is not None:
                    of_words[word].append(piece)
                else:
                    (after if any(of_words) else before).append(piece)
            room = self.max_pieces - len(before) - len(after)
            for number, pieces in enumerate(of_words):
                if not pieces:
                    pieces.append(self.unknown)
                elif len(pieces) > room:
                    its_notes.add("word with more pieces than the encoder takes, cut", words[number][:40])
                    del pieces[room:]
            found.append(EncodedSentence(tuple(map(tuple, of_words)), tuple(before), tuple(after)))
        return found

    def windows(self, sentence: EncodedSentence, *, max_words: int, overlap: int) -> list[range]:
        """The windows of a sentence that the encoder can take."""
        room = self.max_pieces - len(sentence.before) - len(sentence.after)
        return windows([len(word) for word in sentence.words], max_words=max_words, max_cost=room, overlap=overlap)

    def collate(self, sentences: Sequence[EncodedSentence]) -> PieceBatch:
        """A batch."""
        size = len(sentences)
        lengths = np.array([len(sentence.words) for sentence in sentences], dtype=np.int64)
        most = max(len(word) for sentence in sentences for word in sentence.words)
        pieces = np.full((size, max(sentence.pieces for sentence in sentences)), self.padding, dtype=np.int64)
        mask = np.zeros(pieces.shape, dtype=np.bool_)
        places = np.zeros((size, int(lengths.max()), most), dtype=np.int64)
        for row, sentence in enumerate(sentences):
            counts = np.array([len(word) for word in sentence.words])
            flat = [*sentence.before, *(piece for word in sentence.words for piece in word), *sentence.after]
            pieces[row, : len(flat)] = flat
            mask[row, : len(flat)] = True
            starts = len(sentence.before) + np.cumsum(counts) - counts
            step = np.arange(most)
            places[row, : len(counts)] = starts[:, None] + np.where(step < counts[:, None], step, 0)
        return PieceBatch(pieces, mask, places, lengths)


def plan_encoder_batches(lengths: Sequence[int], *, most: int) -> list[list[int]]:
    """Group sentences of so many pieces into batches for the encoder, each of at most `most` pieces with padding."""
    return _plan(lengths, batch_cost=READ_COST, cost=lambda n: n, fits=lambda n: most // n)


def plan_grid_batches(lengths: Sequence[int], *, cells: int, batch_cost: int = TAG_COST) -> list[list[int]]:
    """Group sentences of so many words into batches for the grid, each of at most `cells` cells with padding."""
    return _plan(lengths, batch_cost=batch_cost, cost=lambda n: (n + WORD_COST) * n, fits=lambda n: cells // n**2)


def _plan(
    lengths: Sequence[int], *, batch_cost: int, cost: Callable[[int], int], fits: Callable[[int], int]
) -> list[list[int]]:
    """Return numbers of sentences, grouped by length.

    Of all ways to cut the sentences, sorted by length, into batches, it is the one that costs least: a sentence costs
    what the longest of its batch does, and each batch `batch_cost` more. `fits` says how many sentences of a length
    may be in a batch; one that does not fit at all is a batch of its own.
    """
    order = sorted(range(len(lengths)), key=lambda place: (lengths[place], place))
    least, begins = [0], [0]  # what the shortest so many cost, and where the last batch of them begins
    for end, place in enumerate(order, start=1):
        length = max(1, lengths[place])
        each, most = cost(length), max(1, fits(length))
        costs = ((least[begin] + batch_cost + (end - begin) * each, begin) for begin in range(max(0, end - most), end))
        total, begin = min(costs)
        least.append(total)
        begins.append(begin)
    batches: list[list[int]] = []
    end = len(order)
    while end:
        batches.append(order[begins[end] : end])
        end = begins[end]
    return batches[::-1]


def _special(tokenizer: Tokenizer, names: Sequence[str]) -> int:
    """The number of the first name; one that the tokenizer treats as special goes first (MPNet has both kinds)."""
    special = {token.content for token in tokenizer.get_added_tokens_decoder().values() if token.special}
    for name in sorted(names, key=lambda name: name not in special):
        number = tokenizer.token_to_id(name)
        if number is not None:
            return int(number)
    raise FormatError(f"the tokenizer has none of {', '.join(names)}, expected an unknown and a padding piece")
