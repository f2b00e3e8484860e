"""Words cut into the pieces that an encoder knows, and padded batches of them.

Training and prediction cut words with the same `tokenizers` file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from gridner.errors import FormatError, Notes
from gridner.tagging.windows import window_ranges


@dataclass(frozen=True, slots=True)
class EncodedSentence:
    """The piece numbers of a sentence: those of each word, and the special pieces before and after them."""

    words: tuple[tuple[int, ...], ...]
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def piece_count(self) -> int:
        """Number of pieces, special ones included."""
        return sum(map(len, self.words)) + len(self.before) + len(self.after)

    def window(self, words: range) -> EncodedSentence:
        """Return a range of the words as a sentence of its own."""
        return EncodedSentence(self.words[words.start : words.stop], self.before, self.after)


class PieceBatch(NamedTuple):
    """A batch of B sentences of at most n words and p pieces, for torch and ONNX Runtime alike."""

    pieces: NDArray[np.int64]  # [B, p]
    piece_mask: NDArray[np.bool_]  # [B, p]
    word_pieces: NDArray[np.int64]  # [B, n, m], the first piece repeated where a word has fewer than m
    lengths: NDArray[np.int64]  # [B], in words


class PieceTokenizer:
    """Cuts words into pieces. A word without any (zero-width, control characters) gets the unknown piece."""

    def __init__(self, tokenizer: Tokenizer, *, max_pieces: int) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True  # the text "[SEP]" is not a separator
        self.tokenizer = tokenizer
        self.max_pieces = max_pieces
        self.unknown = _special_piece(tokenizer, ("[UNK]", "<unk>", "<UNK>"))
        self.padding = _special_piece(tokenizer, ("[PAD]", "<pad>", "<PAD>"))

    @classmethod
    def load(cls, path: Path, *, max_pieces: int) -> PieceTokenizer:
        """Read a tokenizer.json."""
        try:
            return cls(Tokenizer.from_file(str(path)), max_pieces=max_pieces)
        except Exception as error:  # tokenizers raises plain Exceptions
            raise FormatError(f"{path}: {error}, expected a tokenizer.json of the tokenizers library") from None

    def encode(self, sentences: Sequence[Sequence[str]], *, notes: Sequence[Notes] = ()) -> list[EncodedSentence]:
        """Return the pieces of sentences, given as words. `notes`, one per sentence, count the words that are cut."""
        encodings = self.tokenizer.encode_batch(list(sentences), is_pretokenized=True)
        notes = notes or list(repeat(Notes(), len(sentences)))
        return [
            self._encode_sentence(words, encoding, sentence_notes)
            for words, encoding, sentence_notes in zip(sentences, encodings, notes, strict=True)
        ]

    def _encode_sentence(self, words: Sequence[str], encoding: Encoding, notes: Notes) -> EncodedSentence:
        word_pieces: list[list[int]] = [[] for _ in words]
        before: list[int] = []
        after: list[int] = []
        for piece, number in zip(encoding.ids, encoding.word_ids, strict=True):
            if number is not None:
                word_pieces[number].append(piece)
            else:
                (after if any(word_pieces) else before).append(piece)
        most = self.max_pieces - len(before) - len(after)
        for word, pieces in zip(words, word_pieces, strict=True):
            if not pieces:
                pieces.append(self.unknown)
            elif len(pieces) > most:
                notes.add("word with more pieces than the encoder takes, cut", word[:40])
                del pieces[most:]
        return EncodedSentence(tuple(map(tuple, word_pieces)), tuple(before), tuple(after))

    def encoder_windows(self, sentence: EncodedSentence, *, max_words: int, overlap: int) -> list[range]:
        """Return the ranges of words to which a sentence is cut so that the encoder can take them."""
        max_cost = self.max_pieces - len(sentence.before) - len(sentence.after)
        costs = [len(pieces) for pieces in sentence.words]
        return window_ranges(costs, max_words=max_words, max_cost=max_cost, overlap=overlap)

    def collate(self, sentences: Sequence[EncodedSentence]) -> PieceBatch:
        """Return sentences as one padded batch."""
        size = len(sentences)
        lengths = np.array([len(sentence.words) for sentence in sentences], dtype=np.int64)
        most = max(len(word) for sentence in sentences for word in sentence.words)
        pieces = np.full((size, max(sentence.piece_count for sentence in sentences)), self.padding, dtype=np.int64)
        mask = np.zeros(pieces.shape, dtype=np.bool_)
        word_pieces = np.zeros((size, int(lengths.max()), most), dtype=np.int64)
        for row, sentence in enumerate(sentences):
            counts = np.array([len(word) for word in sentence.words])
            flat = [*sentence.before, *(piece for word in sentence.words for piece in word), *sentence.after]
            pieces[row, : len(flat)] = flat
            mask[row, : len(flat)] = True
            starts = len(sentence.before) + np.cumsum(counts) - counts
            step = np.arange(most)
            word_pieces[row, : len(counts)] = starts[:, None] + np.where(step < counts[:, None], step, 0)
        return PieceBatch(pieces, mask, word_pieces, lengths)


def _special_piece(tokenizer: Tokenizer, names: Sequence[str]) -> int:
    """Return the number of the first name that exists; names marked as special go first (MPNet has both kinds)."""
    special = {token.content for token in tokenizer.get_added_tokens_decoder().values() if token.special}
    for name in sorted(names, key=lambda name: name not in special):
        number = tokenizer.token_to_id(name)
        if number is not None:
            return int(number)
    raise FormatError(f"the tokenizer has none of {', '.join(names)}, expected an unknown and a padding piece")
