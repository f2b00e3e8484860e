"""Teachers: models whose tag probabilities are averaged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gridner.corpus.gazetteer import Lexicon
from gridner.distillation.sparse_grid import LabelMap, SparseGrid, check_same_types
from gridner.errors import UsageError
from gridner.inference.loading import load
from gridner.inference.model_info import model_fingerprint
from gridner.inference.recognizer import Recognizer
from gridner.tagging.tags import TagScheme
from gridner.text.alignment import Sentence

ALL_TAGS = "NNW+PNW+HTW+THW"


@dataclass(frozen=True, slots=True)
class Teachers:
    """Models with the same types. Only their networks are used: no gazetteers, no thresholds."""

    recognizers: Sequence[Recognizer]
    fingerprints: Sequence[tuple[str, str]]  # name and hash of each model

    @classmethod
    def load(cls, folders: Sequence[Path], *, threads: int | None = None) -> Teachers:
        """Load models, on torch or exported. Raise UsageError if two are the same or their types differ."""
        fingerprints = [(folder.name, model_fingerprint(folder)) for folder in folders]
        hashes = [sha256 for _, sha256 in fingerprints]
        for index, folder in enumerate(folders):
            if hashes[index] in hashes[:index]:
                raise UsageError(f"{folder}: the same model twice; expected different teachers")
        recognizers = [load(folder, threads=threads) for folder in folders]
        for folder, recognizer in zip(folders, recognizers, strict=True):
            recognizer.lexicon = Lexicon()
            first = recognizers[0].scheme
            if wrong := check_same_types(recognizer.scheme, first, where=str(folder), owner=str(folders[0])):
                raise UsageError(wrong)
        return cls(recognizers, fingerprints)

    @property
    def scheme(self) -> TagScheme:
        """The tags of the answers: all four if a teacher has them, else those of the first."""
        schemes = [recognizer.scheme for recognizer in self.recognizers]
        return next((scheme for scheme in schemes if scheme.tags == ALL_TAGS), schemes[0])

    def answer(self, sentences: Sequence[Sentence], *, least: float) -> list[SparseGrid | None]:
        """Return, per sentence, the mean probabilities that are at least `least`.

        A sentence that is longer than the window of a teacher gets None, because a tag across two windows has no
        probability.
        """
        labels = len(self.scheme.labels)
        most = min(recognizer.decoding.max_words for recognizer in self.recognizers)
        short = {index: sentence for index, sentence in enumerate(sentences) if len(sentence.words) <= most}
        sums: dict[int, NDArray[np.floating]] = {
            index: np.zeros((len(sentence.words), len(sentence.words), labels)) for index, sentence in short.items()
        }
        for recognizer in self.recognizers:
            for index, words, grid in self._grids(recognizer, {index: short[index] for index in sums}):
                if grid is None:
                    sums.pop(index, None)
                elif index in sums:
                    sums[index][np.ix_(words, words)] += grid / len(self.recognizers)
        answers = {index: SparseGrid.from_dense(total, least=least) for index, total in sums.items()}
        return [answers.get(index) for index in range(len(sentences))]

    def _grids(
        self, recognizer: Recognizer, sentences: Mapping[int, Sentence]
    ) -> Iterator[tuple[int, tuple[int, ...], NDArray[np.floating] | None]]:
        """Yield the index, the m candidate words and the probabilities [m, m, labels] of each sentence.

        If the sentence has several windows, None stands for the probabilities.
        """
        label_map = LabelMap.between(recognizer.scheme, self.scheme)
        indices = list(sentences)
        for window in recognizer.score_windows(list(sentences.values())):
            index = indices[window.sentence]
            whole = len(window.words) == len(sentences[index].words)
            yield index, window.candidates, label_map.dense(window.tags) if whole else None
