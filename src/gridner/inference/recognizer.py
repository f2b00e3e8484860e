"""From text to entities, with any engine. `Recognizer.pipe` is the start; the steps follow in order:

document → sentences of words            gridner.text
sentence → windows                       `cut_windows`: the words that the network takes at once, in pieces
window → probability of each tag         `score_windows`: the network
tags → relations → mentions              `decode`: the tag scheme and the decoder of gridner.tagging
mentions of windows → of the sentence    `recognize`: merged, their scores calibrated
mention → entity                         gridner.text
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridner.config import DecodingConfig
from gridner.corpus.gazetteer import Lexicon
from gridner.errors import Notes
from gridner.inference.base_recognizer import BaseRecognizer, SentenceRequest
from gridner.inference.calibration import Calibration
from gridner.inference.checkpoint import Checkpoint
from gridner.inference.engine import Engine, score_sentences
from gridner.inference.group_tuning import GroupTuning
from gridner.inference.word_pieces import EncodedSentence, PieceTokenizer
from gridner.tagging.decoding import Decoded, decode
from gridner.tagging.tags import GazetteerName, Relations, TagScheme, probabilities, shift_threshold, with_name_bonus
from gridner.tagging.windows import merge_mentions
from gridner.text.alignment import Mention, Sentence, renumber


@dataclass(frozen=True, slots=True)
class WindowInput:
    """Some words of a sentence as the network takes them."""

    sentence: int  # its number
    words: range
    encoded: EncodedSentence
    names: tuple[GazetteerName, ...]  # of the gazetteer, words numbered from the start of the window

    @property
    def name_words(self) -> set[int]:
        """The words of the names: candidates, whatever the network says."""
        return {word for name in self.names for word in name.words}


@dataclass(frozen=True, slots=True)
class ScoredWindow:
    """What the network says about some words of a sentence. Its grid is over the candidate words only."""

    sentence: int  # its number
    words: range
    candidates: tuple[int, ...]  # numbered from the start of the window
    tags: NDArray[np.floating]  # probabilities [m, m, labels] for m candidates
    relations: Relations
    names: tuple[GazetteerName, ...] = ()  # of the gazetteer, words numbered as in the grid

    def in_window(self, mention: Mention) -> Mention:
        """Return a mention of the grid with its words numbered from the start of the window."""
        return renumber(mention, self.candidates)


@dataclass(slots=True, kw_only=True)
class Recognizer(BaseRecognizer):
    """Finds entities in text. The result for a text does not depend on the other texts of its batch."""

    engine: Engine
    tokenizer: PieceTokenizer
    scheme: TagScheme
    decoding: DecodingConfig
    one_label: bool = False  # W2NER's network: one label per cell, the last is "none"
    calibration: Calibration = field(default_factory=Calibration)  # `decoding.threshold` is a calibrated score
    group_tunings: tuple[GroupTuning, ...] = ()  # one per group of types, instead of `decoding` and `calibration`
    lexicon: Lexicon = field(default_factory=Lexicon)  # names that get `name_bonus`
    cells: int = 8192  # of a batch, padding included: bounds the memory

    @classmethod
    def from_checkpoint(
        cls,
        checkpoint: Checkpoint,
        *,
        engine: Engine,
        tokenizer: PieceTokenizer,
        **decoding: Any,
    ) -> Recognizer:
        """Return a recognizer with a model's settings, except the decoding settings that are given."""
        return cls(
            engine=engine,
            tokenizer=tokenizer,
            scheme=checkpoint.scheme,
            decoding=replace(checkpoint.config.decoding, **decoding),
            one_label=checkpoint.config.model.architecture == "w2ner",
            calibration=checkpoint.calibration,
            group_tunings=tuple(tuning.with_changes(decoding) for tuning in checkpoint.group_tunings),
            lexicon=checkpoint.lexicon,
        )

    @property
    def types(self) -> tuple[str, ...]:
        """The types that can be found."""
        return self.scheme.types

    @property
    def threshold(self) -> float:
        """The score that an entity must exceed, unless a request has a threshold of its own."""
        return self.decoding.threshold

    @property
    def tunings(self) -> tuple[GroupTuning, ...]:
        """How each group of types is decoded: by itself, or like all others."""
        return self.group_tunings or (GroupTuning.of(self.decoding, self.calibration),) * len(self.scheme.groups)

    def calibrated(self, mention: Mention) -> Mention:
        """Return a decoded mention with a calibrated score."""
        tuning = self.tunings[self.scheme.first_group(mention.type)]
        return replace(mention, score=tuning.calibration(mention.score or 0.0))

    def recognize(self, requests: Sequence[SentenceRequest]) -> Iterator[tuple[int, list[Mention]] | None]:
        """Yield after each window the number of the sentence that it completes, with its mentions, or None.

        So a caller can do something else between windows, or stop. A sentence of several windows is complete when all
        windows are done.
        """
        mentions_of_windows: dict[int, list[tuple[range, Sequence[Mention]]]] = {
            number: [] for number in range(len(requests))
        }
        sentences = [request.sentence for request in requests]
        for window in self.score_windows(sentences, notes=[request.notes for request in requests]):
            request, sentence = requests[window.sentence], sentences[window.sentence]
            decoded = self.decode(window, threshold=request.threshold)
            if decoded.capped_cells or decoded.capped_mentions:
                where = f"{sentence.document_id}: {sentence.start}-{sentence.end}"
                request.notes.add("sentence where the decoder's caps were reached", where)
            mentions = [window.in_window(mention) for mention in decoded.mentions]
            mentions_of_windows[window.sentence].append((window.words, mentions))
            is_whole_sentence = len(window.words) == len(sentence.words)
            yield (
                (window.sentence, self._merged(mentions_of_windows.pop(window.sentence))) if is_whole_sentence else None
            )
        yield from ((number, self._merged(windows)) for number, windows in mentions_of_windows.items())

    def cut_windows(self, sentences: Sequence[Sentence], *, notes: Sequence[Notes] = ()) -> list[WindowInput]:
        """Cut sentences into windows that the network takes. `notes`, one per sentence, count words that are cut."""
        settings = self.decoding
        encoded = self.tokenizer.encode([[word.text for word in sentence.words] for sentence in sentences], notes=notes)
        return [
            WindowInput(number, words, sentence.window(words), self._names(sentences[number], words))
            for number, sentence in enumerate(encoded)
            for words in self.tokenizer.encoder_windows(
                sentence, max_words=settings.max_words, overlap=settings.overlap
            )
        ]

    @property
    def _types_with_bonus(self) -> dict[str, int]:
        """The numbers of the types whose names get a bonus."""
        tuned = zip(self.scheme.groups, self.tunings, strict=True)
        names = {type for group, tuning in tuned if tuning.name_bonus for type in group.types}
        return {type: number for number, type in enumerate(self.scheme.types) if type in names}

    def _names(self, sentence: Sentence, words: range) -> tuple[GazetteerName, ...]:
        """Return the names of the gazetteer among some words of a sentence."""
        types = self._types_with_bonus if self.lexicon else {}
        if not types:
            return ()
        texts = [word.text for word in sentence.words[words.start : words.stop]]
        matches = self.lexicon.find(texts, sentence.abbreviations)
        return tuple(GazetteerName(types[match.type], match.words) for match in matches if match.type in types)

    def score_windows(self, sentences: Sequence[Sentence], *, notes: Sequence[Notes] = ()) -> Iterator[ScoredWindow]:
        """Yield every window of every sentence with the network's scores, in batches of similar length."""
        settings = self.decoding
        group_labels = self.scheme.group_labels if self.one_label else None
        inputs = self.cut_windows(sentences, notes=notes)
        for number, grid in score_sentences(
            self.engine,
            self.tokenizer,
            [window.encoded for window in inputs],
            forced=[window.name_words for window in inputs],
            cells=self.cells,
        ):
            window = inputs[number]
            if grid.candidates:
                tags = probabilities(grid.scores, one_label=self.one_label, group_labels=group_labels)
            else:
                tags = np.zeros((0, 0, len(self.scheme.labels)))
            relations = self.scheme.relations(tags, links=settings.links, ends=settings.ends)
            row_of = {word: row for row, word in enumerate(grid.candidates)}
            names = (GazetteerName(name.type, tuple(row_of[word] for word in name.words)) for name in window.names)
            yield ScoredWindow(window.sentence, window.words, grid.candidates, tags, relations, tuple(names))

    def decode(self, window: ScoredWindow, *, threshold: float | None = None) -> Decoded:
        """Return the mentions of a window, words numbered as in its grid, with scores that are not calibrated yet."""
        settings, tunings, types = self.decoding, self.tunings, self.scheme.types
        group_types = self.scheme.group_types
        bonuses = [tuning.name_bonus for tuning in tunings]
        relations = with_name_bonus(window.relations, window.names, bonuses, group_types=group_types)
        by_type = [tunings[self.scheme.first_group(type)] for type in types]
        relations = Relations(
            links=shift_threshold(relations.links, np.array([tuning.link_threshold for tuning in tunings])),
            ends=shift_threshold(relations.ends, np.array([tuning.end_threshold for tuning in by_type])),
        )
        least = settings.threshold if threshold is None else threshold
        raw = [tuning.calibration.score_for(least) for tuning in tunings]
        return decode(relations, types, group_types=group_types, threshold=raw, k=settings.k, limit=settings.limit)

    def _merged(self, windows: Sequence[tuple[range, Sequence[Mention]]]) -> list[Mention]:
        """Return the mentions of a sentence from those of its windows, with calibrated scores."""
        mentions = merge_mentions(sorted(windows, key=lambda window: window[0].start))
        return [self.calibrated(mention) for mention in mentions]
