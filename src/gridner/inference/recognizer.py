"""Texts → documents with entities, on any engine. All but the network itself is here."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from gridner.config import DecodingConfig
from gridner.corpus.gazetteer import Lexicon
from gridner.documents import Document, Entity
from gridner.errors import Notes, UsageError
from gridner.inference.batches import EncodedSentence, PieceTokenizer
from gridner.inference.calibration import Calibration
from gridner.inference.engine import Engine, score_sentences
from gridner.tagging.decoding import Decoded, decode
from gridner.tagging.tags import Name, Relations, TagScheme, favoured, probabilities, shifted
from gridner.tagging.windows import merge
from gridner.text.sentences import Mention, Sentence, each_sentence, entity_of, renumber

SENTENCES_PER_BATCH = 512  # sentences that are sorted by length and batched


@dataclass(frozen=True, slots=True)
class SentenceRequest:
    """A sentence, the score that its mentions must exceed (None: the settings') and where to count what is cut."""

    sentence: Sentence
    threshold: float | None = None
    notes: Notes = field(default_factory=Notes)


@dataclass(frozen=True, slots=True)
class WindowInput:
    """Some words of a sentence as the network takes them."""

    sentence: int
    words: range
    encoded: EncodedSentence
    names: tuple[Name, ...]  # of the lexicon, words as numbered in the window

    @property
    def named(self) -> set[int]:
        """The words of the names: candidates, whatever the network says."""
        return {word for name in self.names for word in name.words}


@dataclass(frozen=True, slots=True)
class Window:
    """What the network says about some words of a sentence, and the names of the lexicon among them."""

    sentence: int
    words: range
    candidates: tuple[int, ...]  # the words that the grid is over, as numbered in the window
    tags: NDArray[np.floating]  # probabilities [m, m, labels] for m candidates
    relations: Relations
    names: tuple[Name, ...] = ()  # words as in the grid

    def mention(self, found: Mention) -> Mention:
        """Return a mention of the grid by the words of the window."""
        return renumber(found, self.candidates)


@dataclass(slots=True)
class _Unanswered:
    """A document, its sentences that were read and not answered yet, and the entities of those that were."""

    document: Document
    sentences: deque[Sentence] = field(default_factory=deque)
    entities: list[Entity] = field(default_factory=list)

    def answered(self) -> Document:
        return replace(self.document, entities=tuple(self.entities))


def as_documents(given: Iterable[Document | str]) -> Iterator[Document]:
    """Yield documents as they are, and texts as documents with their number, from 1, as id."""
    if isinstance(given, Document | str):
        raise UsageError("one text, expected a list of texts or documents; call the recognizer itself for one")
    for number, one in enumerate(given, start=1):
        if not isinstance(one, Document | str):
            raise UsageError(f"item {number} is {one!r:.40}, expected a text or a Document")
        yield Document(str(number), one) if isinstance(one, str) else one


@dataclass(slots=True)
class Recognizer:
    """Finds entities. The result for a text does not depend on what else is asked for at the same time."""

    engine: Engine
    pieces: PieceTokenizer
    scheme: TagScheme
    decoding: DecodingConfig
    one_label: bool = False  # the network is W2NER's: one label a cell, the last is "none"
    calibration: Calibration = field(default_factory=Calibration)  # of scores; `decoding.threshold` is one of them
    lexicon: Lexicon = field(default_factory=Lexicon)  # names that get `decoding.name_bonus`
    cells: int = 8192  # of a batch, padding included: what bounds the memory

    def __call__(self, text: str) -> Document:
        """The entities of a text."""
        return next(self.pipe([Document("text", text)]))

    def pipe(
        self,
        documents: Iterable[Document | str],
        *,
        batch_size: int = SENTENCES_PER_BATCH,
        notes: Notes | None = None,
        each: Callable[[], None] = lambda: None,
    ) -> Iterator[Document]:
        """The documents with the entities that are found, in their order; those that they have are replaced.

        Plain texts are taken, too; their ids are their numbers, from 1.
        So many sentences at a time are read, sorted by length and given to the network under the budget of cells.
        `each` is called after each sentence.
        """
        ahead: deque[_Unanswered] = deque()

        def sentences() -> Iterator[Sentence]:
            for document in as_documents(documents):
                ahead.append(_Unanswered(document))
                waiting = ahead[-1].sentences
                for sentence in each_sentence(document):
                    waiting.append(sentence)
                    yield sentence

        for mentions in self.mentions(sentences(), batch_size=batch_size, notes=notes):
            while not ahead[0].sentences:
                yield ahead.popleft().answered()
            sentence = ahead[0].sentences.popleft()
            ahead[0].entities += [entity_of(sentence, mention) for mention in mentions]
            each()
        for document in ahead:
            yield document.answered()

    def mentions(
        self, sentences: Iterable[Sentence], *, batch_size: int = SENTENCES_PER_BATCH, notes: Notes | None = None
    ) -> Iterator[list[Mention]]:
        """The mentions of each sentence, in text order within a window."""
        if batch_size < 1:
            raise UsageError(f"batch_size is {batch_size}, expected at least 1")
        notes = Notes() if notes is None else notes
        rest = iter(sentences)
        while some := list(islice(rest, batch_size)):
            yield from self.answers([SentenceRequest(sentence, notes=notes) for sentence in some])

    def answers(self, asked: Sequence[SentenceRequest]) -> Iterator[list[Mention]]:
        """The mentions of sentences that go through the network together, each as it was asked for."""
        done = dict(one for one in self.read(asked) if one is not None)
        for number in range(len(asked)):
            yield done[number]

    def read(self, asked: Sequence[SentenceRequest]) -> Iterator[tuple[int, list[Mention]] | None]:
        """The same window by window, so that a caller can do something else in between, or stop.

        After each window comes the number of the sentence that it completes, with its mentions, or None. A sentence of
        several windows is complete when all are read.
        """
        parts: dict[int, list[tuple[range, Sequence[Mention]]]] = {number: [] for number in range(len(asked))}
        for window in self.windows([one.sentence for one in asked], notes=[one.notes for one in asked]):
            one = asked[window.sentence]
            decoded = self.decode(window, threshold=one.threshold)
            if decoded.capped_cells or decoded.capped_mentions:
                place = f"{one.sentence.document_id}: {one.sentence.start}-{one.sentence.end}"
                one.notes.add("sentence where the decoder's caps were reached", place)
            mentions = [window.mention(mention) for mention in decoded.mentions]
            parts[window.sentence].append((window.words, mentions))
            whole = len(window.words) == len(one.sentence.words)
            yield (window.sentence, self._merged(parts.pop(window.sentence))) if whole else None
        yield from ((number, self._merged(found)) for number, found in parts.items())

    def _merged(self, found: Sequence[tuple[range, Sequence[Mention]]]) -> list[Mention]:
        merged = merge(sorted(found, key=lambda pair: pair[0].start))
        return [replace(mention, score=self.calibration(mention.score or 0.0)) for mention in merged]

    def decode(self, window: Window, *, threshold: float | None = None) -> Decoded:
        """The mentions of a window, by the words of its grid, with scores that are not calibrated yet."""
        settings = self.decoding
        members = self.scheme.members
        relations = favoured(window.relations, window.names, settings.name_bonus, members=members)
        relations = Relations(
            shifted(relations.links, settings.link_threshold), shifted(relations.ends, settings.end_threshold)
        )
        least = self.calibration.score_for(settings.threshold if threshold is None else threshold)
        return decode(
            relations, self.scheme.types, members=members, threshold=least, k=settings.k, limit=settings.limit
        )

    def windows(self, sentences: Sequence[Sentence], *, notes: Sequence[Notes] = ()) -> Iterator[Window]:
        """The relations of every window of every sentence, in batches of similar length; `notes` has one for each."""
        settings = self.decoding
        known = self.scheme.known if self.one_label else None
        parts = self.parts(sentences, notes=notes)
        for place, grid in score_sentences(
            self.engine,
            self.pieces,
            [part.encoded for part in parts],
            always=[part.named for part in parts],
            cells=self.cells,
        ):
            part = parts[place]
            if grid.candidates:
                tags = probabilities(grid.scores, one_label=self.one_label, known=known)
            else:
                tags = np.zeros((0, 0, len(self.scheme.labels)))
            relations = self.scheme.relations(tags, links=settings.links, ends=settings.ends)
            where = {word: number for number, word in enumerate(grid.candidates)}
            named = (Name(name.type, tuple(where[word] for word in name.words)) for name in part.names)
            yield Window(part.sentence, part.words, grid.candidates, tags, relations, tuple(named))

    def parts(self, sentences: Sequence[Sentence], *, notes: Sequence[Notes] = ()) -> list[WindowInput]:
        """Cut sentences into the windows that the network takes, as pieces, with the names of the lexicon in them."""
        settings = self.decoding
        encoded = self.pieces.encode([[word.text for word in sentence.words] for sentence in sentences], notes=notes)
        return [
            WindowInput(number, words, whole.part(words), self._names(sentences[number], words))
            for number, whole in enumerate(encoded)
            for words in self.pieces.windows(whole, max_words=settings.max_words, overlap=settings.overlap)
        ]

    def _names(self, sentence: Sentence, words: range) -> tuple[Name, ...]:
        if not self.lexicon or not self.decoding.name_bonus:
            return ()
        types = {type: number for number, type in enumerate(self.scheme.types)}
        found = self.lexicon.find([word.text for word in sentence.words[words.start : words.stop]])
        return tuple(Name(types[one.type], one.words) for one in found if one.type in types)
