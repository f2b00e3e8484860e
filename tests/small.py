"""Small corpora and networks for the tests of training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, pre_tokenizers

from gridner.batches import Arrays, Pieces
from gridner.config import Config, config_from
from gridner.documents import Document, Entity, Fragment
from gridner.errors import Notes
from gridner.parts import Part, part_of
from gridner.sentences import Sentence
from gridner.tags import TagScheme

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


def word_pieces(sentences: Sequence[Sentence], *, max_pieces: int = 512) -> Pieces:
    """Pieces that are whole words, each with a number of its own."""
    names = ["[UNK]", "[PAD]", *sorted({word.text for sentence in sentences for word in sentence.words})]
    tokenizer = Tokenizer(models.WordLevel({name: number for number, name in enumerate(names)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return Pieces(tokenizer, max_pieces=max_pieces)


class Gold:
    """An engine that knows the right answers: it finds the sentence that a row of pieces is a part of."""

    def __init__(
        self, sentences: Sequence[Sentence], pieces: Pieces, scheme: TagScheme, *, one_label: bool = False
    ) -> None:
        self.scheme = scheme
        self.one_label = one_label
        self.sizes: list[int] = []
        self.known = []
        for sentence, encoded in zip(
            sentences, pieces.encode([[word.text for word in sentence.words] for sentence in sentences]), strict=True
        ):
            row = [piece for word in encoded.words for piece in word]
            self.known.append((row, scheme.encode(sentence.mentions, len(sentence.words))))

    def scores(self, batch: Arrays) -> NDArray[np.floating]:
        """High where a tag is, low elsewhere; garbage in the padding."""
        size, n = batch.word_pieces.shape[:2]
        self.sizes.append(size)
        scores = np.full((size, n, n, len(self.scheme.labels) + self.one_label), 9.0, dtype=np.float32)
        for row in range(size):
            words = int(batch.lengths[row])
            wanted = batch.pieces[row, :words].tolist()
            whole, start = next(
                (whole, at)
                for whole, _ in self.known
                for at in range(len(whole) - words + 1)
                if whole[at : at + words] == wanted
            )
            grid = next(grid for known, grid in self.known if known is whole)
            tags = np.where(grid[start : start + words, start : start + words], 4.0, -4.0)
            scores[row, :words, :words, : len(self.scheme.labels)] = tags
            if self.one_label:
                scores[row, :words, :words, -1] = 0.0
        return scores
