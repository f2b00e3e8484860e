"""The grid of a sentence: the probability of each tag for each pair of words, and the decoded mentions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gridner.inference.base_recognizer import SENTENCES_PER_BATCH
from gridner.inference.recognizer import Recognizer, ScoredWindow
from gridner.text.alignment import Sentence

LEAST = 0.02  # probability of a tag that is shown


def grids(
    recognizer: Recognizer, sentences: Sequence[Sentence], *, each: Callable[[], None] = lambda: None
) -> list[list[dict[str, Any]]]:
    """Return the grids of the windows of each sentence; a window without anything to show has none."""
    sentence_grids: list[list[dict[str, Any]]] = [[] for _ in sentences]
    for start in range(0, len(sentences), SENTENCES_PER_BATCH):
        batch = sentences[start : start + SENTENCES_PER_BATCH]
        for window in sorted(recognizer.score_windows(batch), key=lambda window: (window.sentence, window.words.start)):
            each()
            grid = window_grid(recognizer, batch[window.sentence], window)
            if grid is not None:
                sentence_grids[start + window.sentence].append(grid)
    return sentence_grids


def window_grid(recognizer: Recognizer, sentence: Sentence, window: ScoredWindow) -> dict[str, Any] | None:
    """Return a window of a sentence as plain data; None if no tag is probable enough and nothing is decoded.

    It has the words, for each tag the cells [row, column, probability], and the mentions: type, words, score.
    """
    tags = {}
    for number, label in enumerate(recognizer.scheme.labels):
        rows, columns = np.nonzero(window.tags[:, :, number] >= LEAST)
        values = window.tags[rows, columns, number]
        tags[label] = [
            [window.candidates[row], window.candidates[column], round(float(value), 2)]
            for row, column, value in zip(rows, columns, values, strict=True)
        ]
    mentions = [
        [mention.type, list(window.in_window(mention).words), recognizer.calibrated(mention).score]
        for mention in recognizer.decode(window).mentions
    ]
    if not mentions and not any(tags.values()):
        return None
    words = sentence.words[window.words.start : window.words.stop]
    return {"words": [word.text for word in words], "tags": tags, "mentions": mentions}
