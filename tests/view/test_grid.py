"""The grid of a sentence, as data for a heat map."""

from __future__ import annotations

from dataclasses import replace

from gridner.config import DecodingConfig
from gridner.inference.calibration import Calibration
from gridner.inference.recognizer import Recognizer
from gridner.tagging.tags import TagScheme
from gridner.view.grid import grids
from support.small import Gold, part, word_pieces


def recognizer(**decoding: int) -> Recognizer:
    corpus = part()
    pieces, scheme = word_pieces(corpus.sentences), TagScheme(corpus.types)
    settings = replace(DecodingConfig(), **decoding)  # type: ignore[arg-type]
    engine = Gold(corpus.sentences, pieces, scheme)
    return Recognizer(engine=engine, tokenizer=pieces, scheme=scheme, decoding=settings)


def test_a_grid_has_the_tags_of_the_network_and_what_is_decoded() -> None:
    corpus = part()
    found = grids(recognizer(), corpus.sentences)
    assert len(found) == len(corpus.sentences)
    for sentence, windows in zip(corpus.sentences, found, strict=True):
        if not sentence.mentions:
            assert not windows
            continue
        (window,) = windows
        assert window["words"] == [word.text for word in sentence.words]
        cells = {label: {(row, column) for row, column, _ in some} for label, some in window["tags"].items()}
        assert cells["HTW:Sign"] == {(mention.head, mention.tail) for mention in sentence.mentions}
        assert cells["THW:Sign"] == {(column, row) for row, column in cells["HTW:Sign"]}
        assert cells["PNW"] == {(column, row) for row, column in cells["NNW"]}
        assert all(0.9 < value <= 1 for some in window["tags"].values() for _, _, value in some)
        assert {tuple(words) for _, words, _ in window["mentions"]} >= {one.words for one in sentence.mentions}


def test_a_sentence_in_windows_has_a_grid_for_each() -> None:
    corpus = part()
    long = max(corpus.sentences, key=lambda sentence: len(sentence.words))
    (windows,) = grids(recognizer(max_words=5, overlap=3), [long])
    assert len(windows) > 1
    assert all(len(window["words"]) <= 5 for window in windows)


def test_scores_are_rounded_once_where_they_are_shown() -> None:
    corpus = part()
    own = replace(recognizer(), calibration=Calibration((0.0, 4.0), (0.0, 1.0726)))
    (scores,) = {round(one.score or 0, 9) for found in own.mentions(corpus.sentences) for one in found}
    shown = {score for windows in grids(own, corpus.sentences) for one in windows for *_, score in one["mentions"]}
    assert {round(score, 9) for score in shown} == {scores}
    cells = [cell for windows in grids(own, corpus.sentences) for one in windows for cell in one["tags"].values()]
    assert all(f"{value:.2f}" == f"{value:.3f}"[:-1] for some in cells for _, _, value in some)
