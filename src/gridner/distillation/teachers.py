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
from gridner.text.sentences import Sentence

ALL_TAGS = "NNW+PNW+HTW+THW"


@dataclass(frozen=True, slots=True)
class Teachers:
    """Models that know the same types. Their networks alone are asked: neither gazetteers nor thresholds count."""

    recognizers: Sequence[Recognizer]
    fingerprints: Sequence[tuple[str, str]]  # name and hash of each

    @classmethod
    def load(cls, folders: Sequence[Path], *, threads: int | None = None) -> Teachers:
        """Load models, on torch or exported."""
        fingerprints = [(folder.name, model_fingerprint(folder)) for folder in folders]
        for number, one in enumerate(fingerprints):
            if one[1] in (other for _, other in fingerprints[:number]):
                raise UsageError(f"{folders[number]}: the same model twice; expected different teachers")
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
        """Return for each sentence the mean probabilities that are at least `least`.

        None stands for a sentence that is longer than a window of some teacher: a tag between two windows has no
        probability.
        """
        labels = len(self.scheme.labels)
        most = min(recognizer.decoding.max_words for recognizer in self.recognizers)
        asked = {number: sentence for number, sentence in enumerate(sentences) if len(sentence.words) <= most}
        sums: dict[int, NDArray[np.floating]] = {
            number: np.zeros((len(sentence.words), len(sentence.words), labels)) for number, sentence in asked.items()
        }
        for recognizer in self.recognizers:
            for number, words, grid in self._grids(recognizer, {number: asked[number] for number in sums}):
                if grid is None:
                    sums.pop(number, None)
                elif number in sums:
                    sums[number][np.ix_(words, words)] += grid / len(self.recognizers)
        found = {number: SparseGrid.from_dense(total, least=least) for number, total in sums.items()}
        return [found.get(number) for number in range(len(sentences))]

    def _grids(
        self, recognizer: Recognizer, sentences: Mapping[int, Sentence]
    ) -> Iterator[tuple[int, tuple[int, ...], NDArray[np.floating] | None]]:
        """Yield a sentence's number, its candidate words and the probabilities [m, m, labels] of a teacher.

        None instead of probabilities: the sentence has several windows.
        """
        same = LabelMap.between(recognizer.scheme, self.scheme)
        numbers = list(sentences)
        for window in recognizer.score_windows(list(sentences.values())):
            number = numbers[window.sentence]
            whole = len(window.words) == len(sentences[number].words)
            yield number, window.candidates, same.dense(window.tags) if whole else None
