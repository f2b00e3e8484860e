"""Entities as scoring sees them: type, extent, words and sentence, with the classes that the paper's tables use."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from gridner.documents import Document, Entity, Fragment, extent
from gridner.text.sentences import Sentence, overlapping_words

Overlap = Literal["none", "left", "right", "multiple"]
OVERLAPS: tuple[Overlap, ...] = get_args(Overlap)


@dataclass(frozen=True, slots=True)
class ComparedEntity:
    """An entity in the form in which it is compared: two items are equal when type and extent are."""

    type: str
    fragments: tuple[Fragment, ...]  # the extent
    words: tuple[frozenset[int], ...] = field(compare=False)  # of each fragment, numbered through the document
    sentence: int = field(compare=False)  # that of its head

    @property
    def discontinuous(self) -> bool:
        """Whether it has a gap."""
        return len(self.fragments) > 1

    @property
    def all_words(self) -> frozenset[int]:
        """The words of all fragments."""
        return frozenset().union(*self.words)

    @property
    def ends(self) -> tuple[str, int, int]:
        """Type, head and tail, which the head–tail tags say."""
        words = self.all_words
        if not words:  # nothing but characters that belong to no word
            return self.type, self.fragments[0].start, self.fragments[-1].end
        return self.type, min(words), max(words)


def compared_entities(text: str, sentences: Sequence[Sentence], entities: Iterable[Entity]) -> list[ComparedEntity]:
    """The distinct items of a document's entities, in the order in which they stand."""
    words = [word for sentence in sentences for word in sentence.words]
    starts = [sentence.start for sentence in sentences]
    found: dict[ComparedEntity, None] = {}
    for entity in entities:
        fragments = extent(text, entity)
        under = tuple(frozenset(overlapping_words(words, [fragment])) for fragment in fragments)
        number = max(0, bisect_right(starts, fragments[0].start) - 1)
        found[ComparedEntity(entity.type, fragments, under, number)] = None
    return list(found)


def by_sentence(items: Iterable[ComparedEntity]) -> dict[int, list[ComparedEntity]]:
    """The items of each sentence that has any."""
    found: dict[int, list[ComparedEntity]] = defaultdict(list)
    for item in items:
        found[item.sentence].append(item)
    return found


def word_counts(items: Iterable[ComparedEntity]) -> Counter[int]:
    """How many of the items of a sentence have each word."""
    return Counter(word for item in items for word in item.all_words)


def shares_words(item: ComparedEntity, counts: Counter[int]) -> bool:
    """Whether the item has a word in common with another of those counted, whatever its type."""
    return any(counts[word] > 1 for word in item.all_words)


def overlap_of(item: ComparedEntity, counts: Counter[int]) -> Overlap:
    """The overlap class of Table 5: which fragments share a word with another of the items counted."""
    shared = [number for number, words in enumerate(item.words) if any(counts[word] > 1 for word in words)]
    if not shared:
        return "none"
    if shared == [0]:
        return "left"
    if shared == [len(item.words) - 1]:
        return "right"
    return "multiple"


def duplicates(document: Document) -> int:
    """How many of the document's entities repeat another one's type and extent."""
    return len(document.entities) - len({(entity.type, extent(document.text, entity)) for entity in document.entities})
