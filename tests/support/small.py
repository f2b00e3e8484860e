"""Small corpora and networks for the tests of training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, pre_tokenizers

from gridner.config import Config, config_from
from gridner.corpus.splits import Part, part_of
from gridner.documents import Document, Entity, Fragment
from gridner.errors import Notes
from gridner.inference.engine import GridBatch, WordVectors
from gridner.inference.word_pieces import PieceBatch, PieceTokenizer
from gridner.tagging.tags import TagScheme
from gridner.text.alignment import Mention, Sentence, Word

TEXTS = (
    "Pain in left arm and shoulder.",
    "She has nausea. No pain in arm or legs today.",
    "Swelling of left and right ankles.",
    "Severe muscle and joint pain.",
    "Nothing to report.",
    "Left knee pain and swelling.",
)
FOUND: tuple[tuple[tuple[str, tuple[tuple[int, int], ...]], ...], ...] = (
    (("Sign", ((0, 16),)), ("Sign", ((0, 7), (21, 29)))),
    (("Sign", ((8, 14),)), ("Sign", ((19, 30),)), ("Sign", ((19, 26), (34, 38)))),
    (("Sign", ((0, 16), (27, 33))), ("Sign", ((0, 11), (21, 33)))),
    (("Sign", ((0, 13), (24, 28))), ("Sign", ((18, 28),))),
    (),
    (("Sign", ((0, 14),)), ("Sign", ((0, 9), (19, 27)))),
)


def documents() -> list[Document]:
    """Six notes."""
    return [
        Document(
            f"note-{number}",
            text,
            tuple(Entity(kind, tuple(Fragment(*at) for at in fragments)) for kind, fragments in found),
        )
        for number, (text, found) in enumerate(zip(TEXTS, FOUND, strict=True))
    ]


def part(count: int = 6) -> Part:
    """Some of the notes, aligned."""
    return part_of(documents()[:count], notes=Notes(), name="train")


def tiny_config(**train: object) -> Config:
    """A network that is as small as can be."""
    return config_from(
        {
            "model": {
                "encoder": "tiny",
                "width": 16,
                "channels": 4,
                "dilations": [1, 2],
                "rounds": 2,
                "maps": 2,
                "map_width": 4,
                "heads": 2,
                "hidden": 8,
                "biaffine": 8,
                "word_dropout": 0.1,
                "grid_dropout": 0.1,
                "predictor_dropout": 0.1,
            },
            "train": {"epochs": 2, "batch_size": 2, "encoder_rate": 1e-3, "device": "cpu", **train},
        },
        "tests",
    )


def word_pieces(sentences: Sequence[Sentence], *, max_pieces: int = 512) -> PieceTokenizer:
    """Pieces that are whole words, each with a number of its own."""
    names = ["[UNK]", "[PAD]", *sorted({word.text for sentence in sentences for word in sentence.words})]
    tokenizer = Tokenizer(models.WordLevel({name: number for number, name in enumerate(names)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PieceTokenizer(tokenizer, max_pieces=max_pieces)


class Gold:
    """An engine that knows the right answers: it finds the sentence that a row of pieces is a part of."""

    workers = 1

    def __init__(
        self,
        sentences: Sequence[Sentence],
        pieces: PieceTokenizer,
        scheme: TagScheme,
        *,
        one_label: bool = False,
        candidates: bool = False,
    ) -> None:
        self.scheme = scheme
        self.one_label = one_label
        self.candidates = candidates  # only words of mentions are candidates
        self.sizes: list[int] = []
        self.known = []
        for sentence, encoded in zip(
            sentences, pieces.encode([[word.text for word in sentence.words] for sentence in sentences]), strict=True
        ):
            row = [piece for word in encoded.words for piece in word]
            self.known.append((row, scheme.encode(sentence.mentions, len(sentence.words))))

    def encode(self, batch: PieceBatch) -> WordVectors:
        """Each word as the number of its sentence and its place there; garbage in the padding."""
        size, n = batch.word_pieces.shape[:2]
        self.sizes.append(size)
        words = np.full((size, n, 2), 10.0**6, dtype=np.float32)
        excess = np.full((size, n), 1.0, dtype=np.float32)
        for row in range(size):
            length = int(batch.lengths[row])
            wanted = batch.pieces[row, :length].tolist()
            number, start = next(
                (number, at)
                for number, (whole, _) in enumerate(self.known)
                for at in range(len(whole) - length + 1)
                if whole[at : at + length] == wanted
            )
            words[row, :length, 0], words[row, :length, 1] = number, start + np.arange(length)
            if self.candidates:
                grid = self.known[number][1]
                tagged = np.logical_or(grid.any(axis=(1, 2)), grid.any(axis=(0, 2)))
                excess[row, :length] = np.where(tagged[start : start + length], 1.0, -1.0)
        return WordVectors(words, excess)

    def tag(self, grid: GridBatch) -> NDArray[np.floating]:
        """High where a tag is, low elsewhere; garbage in the padding."""
        size, n = grid.positions.shape
        scores = np.full((size, n, n, len(self.scheme.labels) + self.one_label), 9.0, dtype=np.float32)
        for row, length in enumerate(grid.lengths.tolist()):
            number, places = int(grid.words[row, 0, 0]), grid.words[row, :length, 1].astype(int)
            tags = np.where(self.known[number][1][np.ix_(places, places)], 4.0, -4.0)
            scores[row, :length, :length, : len(self.scheme.labels)] = tags
            if self.one_label:
                scores[row, :length, :length, -1] = 0.0
        return scores


def sentence(text: str, *mentions: tuple[str, tuple[int, ...]]) -> Sentence:
    words, start = [], 0
    for token in text.split():
        words.append(Word(token, start, start + len(token)))
        start += len(token) + 1
    return Sentence("d", tuple(words), tuple(Mention(name, at) for name, at in mentions))


def entity(type: str, *pairs: tuple[int, int], score: float | None = None) -> Entity:
    return Entity(type, tuple(Fragment(start, end) for start, end in pairs), score)
