"""Several models as one: the union of what they find. Texts are split into sentences and words once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gridner.errors import UsageError
from gridner.inference.base_recognizer import BaseRecognizer, SentenceRequest
from gridner.inference.recognizer import Recognizer
from gridner.text.alignment import Mention


@dataclass(frozen=True, slots=True)
class CombinedRecognizer(BaseRecognizer):
    """Recognizers by the names of their models. An entity says in `meta["models"]` which of them found it.

    An entity that several models find is given once, with the highest of its scores.
    """

    models: Mapping[str, Recognizer]

    @property
    def types(self) -> tuple[str, ...]:
        """The types that any of the models finds, in their order."""
        return tuple(dict.fromkeys(name for recognizer in self.models.values() for name in recognizer.types))

    @property
    def threshold(self) -> float:
        """The highest threshold of the models. A request without a threshold uses that of each model."""
        return max(recognizer.threshold for recognizer in self.models.values())

    @property
    def cells(self) -> int:
        """Grid cells of a batch, at most."""
        return min(recognizer.cells for recognizer in self.models.values())

    def recognize(self, requests: Sequence[SentenceRequest]) -> Iterator[tuple[int, list[Mention]] | None]:
        """Yield after each window the number of the sentence that it completes, with its mentions, or None."""
        mentions_found: list[list[Mention]] = [[] for _ in requests]
        wanted = [self.wanted(request.models) for request in requests]
        models_left = [len(names) for names in wanted]
        for name, recognizer in self.models.items():
            numbers = [number for number, names in enumerate(wanted) if name in names]
            for finished in recognizer.recognize([requests[number] for number in numbers]):
                if finished is None:
                    yield None
                    continue
                number, mentions = numbers[finished[0]], finished[1]
                mentions_found[number] += [replace(mention, models=(name,)) for mention in mentions]
                models_left[number] -= 1
                yield None if models_left[number] else (number, merge_models(mentions_found[number]))

    def wanted(self, names: Iterable[str] | None) -> frozenset[str]:
        """Return the names of the models that are asked for, which are all if there are none; check them."""
        wanted = frozenset(self.models if names is None else names)
        for name in sorted(wanted - self.models.keys()):
            raise UsageError(f"model {name!r:.80}, expected one of {', '.join(self.models)}")
        return wanted


def merge_models(mentions: Iterable[Mention]) -> list[Mention]:
    """Return the mentions of a sentence in text order, each once, with its highest score and all of its models."""
    merged: dict[Mention, Mention] = {}
    for mention in mentions:
        if (other := merged.get(mention)) is None:
            merged[mention] = mention
        else:
            score = max(mention.score or 0.0, other.score or 0.0)
            merged[mention] = replace(mention, score=score, models=(*other.models, *mention.models))
    return sorted(merged.values(), key=lambda mention: (mention.words, mention.type))
