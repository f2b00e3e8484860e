"""`Word`, `Mention`, `Sentence`: entities aligned to the words of sentences, and mentions mapped back.

Two terms that never mix: an Entity is characters in a document, a Mention is words in a sentence.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import pairwise

from gridner.documents import Document, Entity, Fragment, check_score, check_type, extent
from gridner.errors import InvalidError, plural
from gridner.text.abbreviations import Abbreviations, find_abbreviations
from gridner.text.splitting import split_sentences, tokenize


@dataclass(frozen=True, slots=True)
class Word:
    """A word and its characters `start` to `end` in the document."""

    text: str
    start: int
    end: int

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or type(self.start) is not int or type(self.end) is not int:
            raise InvalidError(f"word {self.text!r:.40} {self.start!r}-{self.end!r}: expected text and two integers")
        if not self.text or self.start < 0 or self.end - self.start != len(self.text):
            raise InvalidError(f"word {self.text!r} {self.start}-{self.end}: expected text of the length end - start")


@dataclass(frozen=True, slots=True)
class Mention:
    """Words of a sentence that name something, by strictly increasing index. `score` and `models` are not compared."""

    type: str
    words: tuple[int, ...]
    score: float | None = field(default=None, compare=False)
    models: tuple[str, ...] = field(default=(), compare=False)  # that found it, where several are combined

    def __post_init__(self) -> None:
        check_type(self.type)
        words = self.words
        if not isinstance(words, tuple) or not words or not all(type(word) is int for word in words):
            raise InvalidError(f"mention {self.type}: words are {words!r}, expected a tuple of at least one index")
        if words[0] < 0 or any(a >= b for a, b in pairwise(words)):
            raise InvalidError(f"mention {self.type}: words are {words!r}, expected strictly increasing indices from 0")
        check_score(self.score, f"mention {self.type}")

    @property
    def head(self) -> int:
        """The first word."""
        return self.words[0]

    @property
    def tail(self) -> int:
        """The last word."""
        return self.words[-1]


def renumber(mention: Mention, new_index: Mapping[int, int] | Sequence[int]) -> Mention:
    """Return the mention with each of its word indices replaced by `new_index[word]`."""
    return replace(mention, words=tuple(new_index[word] for word in mention.words))


@dataclass(frozen=True, slots=True)
class Sentence:
    """The words of a sentence and its mentions."""

    document_id: str
    words: tuple[Word, ...]
    mentions: tuple[Mention, ...] = ()
    abbreviations: Abbreviations = field(default_factory=dict, compare=False, repr=False)  # that the document defines

    def __post_init__(self) -> None:
        if not isinstance(self.document_id, str) or not self.document_id:
            raise InvalidError(f"document id {self.document_id!r}: expected text")
        if not isinstance(self.words, tuple) or not self.words:
            raise InvalidError(f"document {self.document_id}: a sentence without words; leave it out")
        if not all(isinstance(word, Word) for word in self.words):
            raise InvalidError(f"document {self.document_id}: words are {self.words!r:.60}, expected a tuple of Word")
        if not isinstance(self.mentions, tuple) or not all(isinstance(mention, Mention) for mention in self.mentions):
            raise InvalidError(
                f"document {self.document_id}: mentions are {self.mentions!r:.60}, expected a tuple of Mention"
            )
        if len(set(self.mentions)) != len(self.mentions):
            raise InvalidError(f"document {self.document_id}: a mention appears twice in a sentence")
        if any(a.end > b.start for a, b in pairwise(self.words)):
            raise InvalidError(
                f"document {self.document_id}: words overlap or are out of order, expected them sorted and disjoint"
            )
        for mention in self.mentions:
            if mention.tail >= len(self.words):
                raise InvalidError(
                    f"document {self.document_id}: mention {mention.type} {mention.words} is outside a sentence of "
                    f"{plural(len(self.words), 'word')}"
                )

    @property
    def start(self) -> int:
        """Where the first word starts."""
        return self.words[0].start

    @property
    def end(self) -> int:
        """Where the last word ends."""
        return self.words[-1].end


class CutReason(Enum):
    """Reasons why an entity cannot become a mention."""

    SENTENCE = "crosses a sentence"
    WORD = "begins or ends inside a word"


@dataclass(frozen=True, slots=True)
class Alignment:
    """The sentences of a document with mentions, and the entities that could not become mentions."""

    sentences: tuple[Sentence, ...]
    cut: tuple[tuple[Entity, CutReason], ...]


def with_sentences(document: Document, spans: Iterable[Fragment]) -> Document:
    """Return the document with your own sentences, given as characters, for example from `split_lines`."""
    return replace(document, sentences=tuple(_tokenized(document.text, spans)))


def sentences_of(document: Document) -> tuple[Sentence, ...]:
    """Return the sentences of a document, without mentions: its own, or else split and tokenized."""
    return tuple(stream_sentences(document))


def stream_sentences(document: Document) -> Iterator[Sentence]:
    """Yield the sentences of a document one by one, for documents of any length."""
    text = document.text
    if document.sentences is None:
        sentences = _tokenized(text, split_sentences(text))
    else:
        sentences = iter(document.sentences)
    abbreviations = find_abbreviations(text)
    for words in sentences:
        located = tuple(Word(text[word.start : word.end], word.start, word.end) for word in words)
        yield Sentence(document.id, located, abbreviations=abbreviations)


def _tokenized(text: str, spans: Iterable[Fragment]) -> Iterator[tuple[Fragment, ...]]:
    """Yield the words of each span that has any."""
    for span in spans:
        if words := tuple(tokenize(text, span.start, span.end)):
            yield words


def align(document: Document) -> Alignment:
    """Return the sentences of a document with its entities as mentions.

    An entity becomes a mention if and only if mapping it back restores its extent.
    """
    sentences = sentences_of(document)
    starts = [sentence.start for sentence in sentences]
    mentions: list[dict[Mention, None]] = [{} for _ in sentences]
    cut = []
    for entity in document.entities:
        fragments = extent(document.text, entity)
        number = bisect_right(starts, fragments[0].start) - 1
        if number < 0 or fragments[-1].end > sentences[number].end:
            cut.append(
                (entity, CutReason.SENTENCE if _crosses_sentences(sentences, starts, fragments) else CutReason.WORD)
            )
            continue
        for candidate in (entity.fragments, fragments):  # untrimmed first: the document's own words may be white space
            words = overlapping_words(sentences[number].words, candidate)
            if words and fragments_of(sentences[number], words) == candidate:
                mentions[number][Mention(entity.type, words, entity.score)] = None
                break
        else:
            cut.append((entity, CutReason.WORD))
    aligned = tuple(replace(sentence, mentions=tuple(own)) for sentence, own in zip(sentences, mentions, strict=True))
    return Alignment(aligned, tuple(cut))


def overlapping_words(words: Sequence[Word], fragments: Iterable[Fragment]) -> tuple[int, ...]:
    """Return the indices of the words that share a character with the fragments."""
    indices: list[int] = []
    for fragment in fragments:
        first = bisect_right(words, fragment.start, key=lambda word: word.end)
        last = bisect_left(words, fragment.end, key=lambda word: word.start)
        indices.extend(range(max(first, indices[-1] + 1) if indices else first, last))
    return tuple(indices)


def fragments_of(sentence: Sentence, words: Iterable[int]) -> tuple[Fragment, ...]:
    """Return the characters of words of a sentence; neighbouring words are one fragment."""
    runs: list[list[int]] = []
    for word in words:
        if runs and runs[-1][1] == word - 1:
            runs[-1][1] = word
        else:
            runs.append([word, word])
    return tuple(Fragment(sentence.words[first].start, sentence.words[last].end) for first, last in runs)


def entity_of(sentence: Sentence, mention: Mention) -> Entity:
    """Return a mention as an entity of the document."""
    meta = {"models": list(mention.models)} if mention.models else {}
    return Entity(mention.type, fragments_of(sentence, mention.words), mention.score, meta=meta)


def _crosses_sentences(sentences: Sequence[Sentence], starts: Sequence[int], fragments: Sequence[Fragment]) -> bool:
    first = max(0, bisect_right(starts, fragments[0].start) - 1)
    if sentences and sentences[first].end <= fragments[0].start:
        first += 1
    return bisect_left(starts, fragments[-1].end) - first > 1
