"""Entities in the form in which scoring compares them, and the overlap classes of the paper's tables."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from gridner.documents import Document, Entity, Fragment, extent
from gridner.text.alignment import Sentence, overlapping_words

Overlap = Literal["none", "left", "right", "multiple"]
OVERLAPS: tuple[Overlap, ...] = get_args(Overlap)


@dataclass(frozen=True, slots=True)
class ComparedEntity:
    """An entity in the form in which it is compared: two are equal if their type and extent are."""

    type: str
    fragments: tuple[Fragment, ...]  # the extent
    words: tuple[frozenset[int], ...] = field(compare=False)  # of each fragment, numbered through the document
    sentence: int = field(compare=False)  # that of its head

    @property
    def discontinuous(self) -> bool:
        """Whether the entity has a gap."""
        return len(self.fragments) > 1

    @property
    def all_words(self) -> frozenset[int]:
        """The words of all fragments."""
        return frozenset().union(*self.words)

    @property
    def ends(self) -> tuple[str, int, int]:
        """Type, head and tail, as the head–tail tags have them."""
        words = self.all_words
        if not words:  # its characters belong to no word
            return self.type, self.fragments[0].start, self.fragments[-1].end
        return self.type, min(words), max(words)


def compared_entities(text: str, sentences: Sequence[Sentence], entities: Iterable[Entity]) -> list[ComparedEntity]:
    """Return the distinct entities of a document in their comparable form, in order."""
    words = [word for sentence in sentences for word in sentence.words]
    starts = [sentence.start for sentence in sentences]
    distinct: dict[ComparedEntity, None] = {}
    for entity in entities:
        fragments = extent(text, entity)
        fragment_words = tuple(frozenset(overlapping_words(words, [fragment])) for fragment in fragments)
        number = max(0, bisect_right(starts, fragments[0].start) - 1)
        distinct[ComparedEntity(entity.type, fragments, fragment_words, number)] = None
    return list(distinct)


def by_sentence(entities: Iterable[ComparedEntity]) -> dict[int, list[ComparedEntity]]:
    """Return the entities of each sentence that has any."""
    sentences: dict[int, list[ComparedEntity]] = defaultdict(list)
    for entity in entities:
        sentences[entity.sentence].append(entity)
    return sentences


def word_counts(entities: Iterable[ComparedEntity]) -> Counter[int]:
    """Return for each word how many of the entities have it."""
    return Counter(word for entity in entities for word in entity.all_words)


def shares_words(entity: ComparedEntity, counts: Counter[int]) -> bool:
    """Return whether an entity has a word in common with another of those counted, whatever its type."""
    return any(counts[word] > 1 for word in entity.all_words)


def overlap_of(entity: ComparedEntity, counts: Counter[int]) -> Overlap:
    """Return the overlap class of Table 5: which fragments share a word with another of the entities counted."""
    shared = [number for number, words in enumerate(entity.words) if any(counts[word] > 1 for word in words)]
    if not shared:
        return "none"
    if shared == [0]:
        return "left"
    if shared == [len(entity.words) - 1]:
        return "right"
    return "multiple"


def count_duplicates(document: Document) -> int:
    """Return how many entities of a document repeat the type and extent of another one."""
    return len(document.entities) - len({(entity.type, extent(document.text, entity)) for entity in document.entities})
