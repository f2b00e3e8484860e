"""Documents → training examples, and the steps of an epoch: a function of the seed and the epoch alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from gridner.augment import Coordinations
from gridner.batches import Encoded, Pieces
from gridner.config import Config
from gridner.documents import Document, extent
from gridner.errors import Notes, UsageError
from gridner.formats.jsonl import to_json
from gridner.sentences import Mention, Sentence, align


@dataclass(frozen=True, slots=True)
class Example:
    """The words of a window as pieces, and the mentions that lie in it."""

    words: Encoded
    mentions: tuple[Mention, ...]

    @property
    def cells(self) -> int:
        """The size of its grid."""
        return len(self.words.words) ** 2


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a corpus, aligned: train, dev or test."""

    documents: tuple[Document, ...]
    sentences: tuple[Sentence, ...]

    @property
    def types(self) -> tuple[str, ...]:
        """The entity types, sorted."""
        return tuple(sorted({entity.type for document in self.documents for entity in document.entities}))

    def about(self) -> dict[str, object]:
        """Counts and a hash, without any text: what a model card may say."""
        digest = hashlib.sha256()
        for document in sorted(self.documents, key=lambda document: document.id):
            digest.update(json.dumps(to_json(document), sort_keys=True).encode())
        entities = [entity for document in self.documents for entity in document.entities]
        return {
            "documents": len(self.documents),
            "sentences": len(self.sentences),
            "entities": len(entities),
            "discontinuous": sum(
                len(extent(document.text, entity)) > 1 for document in self.documents for entity in document.entities
            ),
            "types": {name: sum(entity.type == name for entity in entities) for name in self.types},
            "sha256": digest.hexdigest(),
        }


def part_of(documents: Iterable[Document], *, notes: Notes, name: str) -> Part:
    """Documents with their sentences and mentions. Entities that words or sentences cut are counted."""
    kept: list[Document] = []
    sentences: list[Sentence] = []
    for document in documents:
        aligned = align(document)
        for entity, why in aligned.cut:
            what = "left out of training" if name == "train" else "counts as missed"
            notes.add(f"{name}: entity that {why.value}, {what}", f"{document.id}: {entity.type}")
        kept.append(document)
        sentences += aligned.sentences
    return Part(tuple(kept), tuple(sentences))


def is_discontinuous(mention: Mention) -> bool:
    """Whether there is a gap between its words."""
    return mention.tail - mention.head + 1 > len(mention.words)


class TrainingSet:
    """The examples of a corpus and the steps that each epoch makes of them."""

    def __init__(self, part: Part, *, pieces: Pieces, config: Config, notes: Notes) -> None:
        self.pieces = pieces
        self.config = config
        used = _thinned(part.sentences, config.train.empty_share)
        self.examples = self._examples(used, notes)
        if not any(example.mentions for example in self.examples):
            raise UsageError("no entity in the training corpus can become a mention, expected at least one")
        repeated = config.train.discontinuous_times - 1
        self.examples += [one for one in self.examples if any(map(is_discontinuous, one.mentions))] * repeated
        self.coordinations = Coordinations(part.sentences) if config.train.coordinations else None
        with_entities = sum(bool(sentence.mentions) for sentence in part.sentences)
        self.made = round(config.train.coordinations * with_entities) if self.coordinations else 0
        if self.coordinations is not None and not len(self.coordinations):
            notes.add("no coordinations could be made from flat mentions", "train.coordinations")
            self.made = 0

    @property
    def steps(self) -> int:
        """The number of steps of an epoch."""
        return -(-(len(self.examples) + self.made) // self.config.train.batch_size)

    def epoch(self, seed: int, epoch: int) -> list[list[Example]]:
        """The steps of an epoch, drawn at random: were their sentences of one length, short ones would weigh more."""
        random = Random(f"{seed}/{epoch}")
        examples = list(self.examples)
        if self.coordinations is not None and self.made:
            examples += self._examples(self.coordinations.sample(self.made, random), Notes())[: self.made]
        random.shuffle(examples)
        size = self.config.train.batch_size
        return [examples[place : place + size] for place in range(0, len(examples), size)]

    def _examples(self, sentences: Sequence[Sentence], notes: Notes) -> list[Example]:
        settings = self.config.decoding
        found: list[Example] = []
        encoded = self.pieces.encode([[word.text for word in sentence.words] for sentence in sentences], notes=notes)
        for sentence, whole in zip(sentences, encoded, strict=True):
            seen: set[Mention] = set()
            for words in self.pieces.windows(whole, max_words=settings.max_words, overlap=settings.overlap):
                inside = [mention for mention in sentence.mentions if mention.head in words and mention.tail in words]
                seen.update(inside)
                moved = (
                    Mention(mention.type, tuple(word - words.start for word in mention.words)) for mention in inside
                )
                found.append(Example(whole.part(words), tuple(moved)))
            for mention in sentence.mentions:
                if mention not in seen:
                    place = f"{sentence.document_id}: {mention.type} of {mention.tail - mention.head + 1} words"
                    notes.add("mention longer than what two windows share, left out of training", place)
        return found


def _thinned(sentences: Iterable[Sentence], share: float) -> list[Sentence]:
    """All sentences with mentions, and so many of the others, evenly: with 0.2 every fifth."""
    kept = []
    empty = 0
    for sentence in sentences:
        if not sentence.mentions:
            empty += 1
            if int(empty * share + 1e-9) == int((empty - 1) * share + 1e-9):
                continue
        kept.append(sentence)
    return kept
