"""Several models of the same types as one: the probabilities of their relations are averaged before decoding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gridner.corpus.gazetteer import Lexicon
from gridner.errors import Notes, UsageError
from gridner.inference.calibration import Calibration
from gridner.inference.recognizer import Recognizer, ScoredWindow
from gridner.tagging.tags import GazetteerName, Relations
from gridner.text.alignment import Sentence

SENTENCES = 64  # whose grids are kept at a time


@dataclass(slots=True, kw_only=True)
class AveragedRecognizer(Recognizer):
    """The first of several models, with the mean probabilities of all. Scores are not calibrated.

    Models may have different tags: relations are averaged. The tags of a window are those of the first model.

    A word that is a candidate of one model only gets the probability 0 from the others. Models with different
    vocabularies may cut a long sentence differently: then the first model reads it alone, and the notes count it.
    """

    others: Sequence[Recognizer]

    def score_windows(self, sentences: Sequence[Sentence], *, notes: Sequence[Notes] = ()) -> Iterator[ScoredWindow]:
        """Yield every window of every sentence with the mean probabilities of the models."""
        for start in range(0, len(sentences), SENTENCES):
            chunk = sentences[start : start + SENTENCES]
            chunk_notes = notes[start : start + SENTENCES]
            for window in self._averaged(chunk, chunk_notes):
                yield replace(window, sentence=start + window.sentence)

    def _averaged(self, sentences: Sequence[Sentence], notes: Sequence[Notes]) -> Iterator[ScoredWindow]:
        windows: dict[tuple[int, range], list[ScoredWindow]] = {}
        own = list(Recognizer.score_windows(self, sentences, notes=notes))
        for scored in (own, *(other.score_windows(sentences) for other in self.others)):
            for window in scored:
                windows.setdefault((window.sentence, window.words), []).append(window)
        cut_differently = {number for (number, _), of_models in windows.items() if len(of_models) <= len(self.others)}
        for number in sorted(cut_differently) if notes else ():
            where = f"{sentences[number].document_id}: {sentences[number].start}-{sentences[number].end}"
            notes[number].add("sentence that the models cut differently, read by the first alone", where)
        for window in own:
            of_models = [window] if window.sentence in cut_differently else windows[window.sentence, window.words]
            yield self._mean(of_models)

    def _mean(self, windows: Sequence[ScoredWindow]) -> ScoredWindow:
        """Return the mean of what the models say about a window, over the candidates of any of them."""
        words = sorted({word for window in windows for word in window.candidates})
        row_of = {word: row for row, word in enumerate(words)}
        size, scheme = len(words), self.scheme
        tags = np.zeros((size, size, len(scheme.labels)))
        links, ends = np.zeros((size, size, len(scheme.groups))), np.zeros((size, size, len(scheme.types)))
        for number, window in enumerate(windows):
            rows = [row_of[word] for word in window.candidates]
            cells = np.ix_(rows, rows)
            links[cells] += window.relations.links / len(windows)
            ends[cells] += window.relations.ends / len(windows)
            if number == 0:
                tags[cells] = window.tags
        first = windows[0]
        names = (
            GazetteerName(name.type, tuple(row_of[first.candidates[row]] for row in name.words)) for name in first.names
        )
        return replace(first, candidates=tuple(words), tags=tags, relations=Relations(links, ends), names=tuple(names))


def averaged(models: Mapping[str, Recognizer]) -> AveragedRecognizer:
    """Return several models with the same types as one, decoded like the first.

    All use the names of all of them. Mean probabilities need a calibration of their own, so scores are raw, unless the
    groups of types were calibrated one by one: then those calibrations stay, because the threshold belongs to them.
    """
    first_name, first = next(iter(models.items()))
    if len(models) < 2:
        raise UsageError("one model to average, expected at least two")
    for name, other in models.items():
        if (found := _types(other)) != (expected := _types(first)):
            raise UsageError(
                f"{name}: types {found:.200}, expected those of {first_name} to average them: {expected:.200}"
            )
    lexicon = Lexicon(name for model in models.values() for name in model.lexicon)
    threshold = first.decoding.threshold
    if not first.group_tunings:
        threshold = first.calibration.score_for(threshold)
    others = [replace(other, lexicon=lexicon, decoding=first.decoding) for other in list(models.values())[1:]]
    return AveragedRecognizer(
        engine=first.engine,
        tokenizer=first.tokenizer,
        scheme=first.scheme,
        decoding=replace(first.decoding, threshold=threshold),
        one_label=first.one_label,
        calibration=Calibration(),
        group_tunings=first.group_tunings,
        lexicon=lexicon,
        cells=first.cells,
        others=others,
    )


def _types(model: Recognizer) -> str:
    """Return the types of a model, by group if it has several."""
    groups = model.scheme.groups
    of_groups = [f"{group.name}: {', '.join(group.types)}" for group in groups]
    return ", ".join(model.types) if len(groups) == 1 else "; ".join(of_groups)
