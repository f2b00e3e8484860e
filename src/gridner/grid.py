"""The grid of a sentence as a network sees it: what each tag says of each pair of words, and what is decoded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gridner.recognizer import TOGETHER, Recognizer
from gridner.sentences import Sentence

LEAST = 0.02  # probability of a tag that is worth a cell


def grids(
    recognizer: Recognizer, sentences: Sequence[Sentence], *, each: Callable[[], None] = lambda: None
) -> list[list[dict[str, Any]]]:
    """For each sentence its windows as plain data; one where no tag is worth a cell has none.

    A window has its words, for each tag the cells [row, column, probability], and the mentions: type, words, score.
    """
    found: list[list[dict[str, Any]]] = [[] for _ in sentences]
    labels = recognizer.scheme.labels
    for start in range(0, len(sentences), TOGETHER):
        some = sentences[start : start + TOGETHER]
        for window in sorted(recognizer.windows(some), key=lambda one: (one.sentence, one.words.start)):
            each()
            tags = {}
            for number, label in enumerate(labels):
                rows, columns = np.nonzero(window.tags[:, :, number] >= LEAST)
                values = window.tags[rows, columns, number]
                tags[label] = [
                    [window.candidates[row], window.candidates[column], round(float(value), 3)]
                    for row, column, value in zip(rows, columns, values, strict=True)
                ]
            mentions = [
                [
                    mention.type,
                    list(window.mention(mention).words),
                    round(recognizer.calibration(mention.score or 0.0), 3),
                ]
                for mention in recognizer.decode(window).mentions
            ]
            if mentions or any(tags.values()):
                words = some[window.sentence].words[window.words.start : window.words.stop]
                found[start + window.sentence].append(
                    {"words": [word.text for word in words], "tags": tags, "mentions": mentions}
                )
    return found
