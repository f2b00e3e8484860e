"""`Fragment`, `Entity` and `Document`: characters of a text.

Offsets are half-open and count Unicode code points of the untouched text, so a fragment covers `text[f.start:f.end]`.
None of these objects can be invalid.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gridner.errors import InvalidError, plural


@dataclass(frozen=True, slots=True, order=True)
class Fragment:
    """The characters `start` to `end` (half-open) of a text."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if type(self.start) is not int or type(self.end) is not int:
            raise InvalidError(f"fragment {self.start!r}-{self.end!r}: expected two integers")
        if not 0 <= self.start < self.end:
            raise InvalidError(f"fragment {self.start}-{self.end}: expected 0 <= start < end")

    def __len__(self) -> int:
        return self.end - self.start

    def __str__(self) -> str:
        return f"{self.start}-{self.end}"


@dataclass(frozen=True, slots=True)
class Entity:
    """A typed set of fragments, sorted and disjoint. `score`, `id` and `meta` are not compared."""

    type: str
    fragments: tuple[Fragment, ...]
    score: float | None = field(default=None, compare=False)
    id: str | None = field(default=None, compare=False)
    meta: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_type(self.type)
        if not isinstance(self.fragments, tuple) or not self.fragments:
            raise InvalidError(
                f"entity {self.type}: fragments are {self.fragments!r}, expected a tuple of at least one Fragment"
            )
        _check_order(self.fragments, f"entity {self.type}: fragments")
        check_score(self.score, f"entity {self.type}")
        _check_meta(self.meta, f"entity {self.type}")
        if self.id is not None:
            if not isinstance(self.id, str) or not self.id:
                raise InvalidError(f"entity {self.type}: id is {self.id!r:.40}, expected text")
            _check_unicode(self.id, f"entity {self.type}: id")

    @property
    def start(self) -> int:
        """Where the first fragment starts."""
        return self.fragments[0].start

    @property
    def end(self) -> int:
        """Where the last fragment ends."""
        return self.fragments[-1].end


@dataclass(frozen=True, slots=True)
class Document:
    """A text with its entities. `meta` is not compared.

    `sentences` are word offsets from the source, a tuple per sentence. If given, gridner does not split the text.
    """

    id: str
    text: str
    entities: tuple[Entity, ...] = ()
    sentences: tuple[tuple[Fragment, ...], ...] | None = None
    meta: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id or not self.id.isprintable():
            raise InvalidError(f"document id {self.id!r}: expected printable text")
        _check_unicode(self.id, f"document id {self.id!r}")
        if not isinstance(self.text, str):
            raise InvalidError(f"document {self.id}: text is {self.text!r}, expected text")
        _check_unicode(self.text, f"document {self.id}")
        if not isinstance(self.entities, tuple):
            raise InvalidError(f"document {self.id}: entities are {self.entities!r}, expected a tuple")
        _check_meta(self.meta, f"document {self.id}")
        for entity in self.entities:
            if not isinstance(entity, Entity):
                raise InvalidError(f"document {self.id}: {entity!r:.40} among the entities, expected an Entity")
            if entity.end > len(self.text):
                raise InvalidError(
                    f"document {self.id}: {entity.type} {show_fragments(entity.fragments)} is past the end of the text "
                    f"({plural(len(self.text), 'character')})"
                )
        if self.sentences is not None:
            self._check_sentences(self.sentences)

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        from gridner.view.html import document_html  # documents do not need it otherwise

        return document_html(self)

    def _check_sentences(self, sentences: tuple[tuple[Fragment, ...], ...]) -> None:
        if not isinstance(sentences, tuple) or not all(isinstance(words, tuple) and words for words in sentences):
            raise InvalidError(f"document {self.id}: sentences: expected a tuple of tuples of at least one word")
        words = [word for sentence in sentences for word in sentence]
        _check_order(words, f"document {self.id}: words")
        if words and words[-1].end > len(self.text):
            raise InvalidError(
                f"document {self.id}: word {words[-1]} is past the end of the text "
                f"({plural(len(self.text), 'character')})"
            )


def check_type(name: object) -> None:
    """Raise an error unless an entity type is printable text without white space at its ends."""
    if not isinstance(name, str) or not name or not name.isprintable() or name != name.strip():
        raise InvalidError(f"entity type {name!r}: expected printable text without white space at its ends")


def show_fragments(fragments: Iterable[Fragment]) -> str:
    """Return fragments in readable form: 0-5;16-20."""
    return ";".join(map(str, fragments))


def join_fragments(text: str, fragments: Iterable[Fragment]) -> tuple[Fragment, ...]:
    """Return the fragments with those joined that touch or have only white space between them."""
    joined: list[Fragment] = []
    for fragment in fragments:
        if joined:
            last = joined[-1]
            gap = text[last.end : fragment.start]
            if not gap or gap.isspace():
                joined[-1] = Fragment(last.start, fragment.end)
                continue
        joined.append(fragment)
    return tuple(joined)


def extent(text: str, entity: Entity) -> tuple[Fragment, ...]:
    """Return the characters that an entity covers, in the one form in which extents are compared.

    White space at the edges of a fragment does not count, and fragments with only white space between them are one. An
    entity of nothing but white space keeps its fragments.
    """
    trimmed = []
    for fragment in entity.fragments:
        covered = text[fragment.start : fragment.end]
        start = fragment.start + len(covered) - len(covered.lstrip())
        end = fragment.start + len(covered.rstrip())
        if start < end:
            trimmed.append(Fragment(start, end) if (start, end) != (fragment.start, fragment.end) else fragment)
    return join_fragments(text, trimmed or entity.fragments)


def covered_text(text: str, fragments: Iterable[Fragment]) -> str:
    """Return the text of the fragments, with gaps shown as ' … '."""
    return " … ".join(text[fragment.start : fragment.end] for fragment in fragments)


def _check_order(fragments: Iterable[Fragment], where: str) -> None:
    end = 0
    for fragment in fragments:
        if not isinstance(fragment, Fragment):
            raise InvalidError(f"{where}: {fragment!r}, expected a Fragment")
        if fragment.start < end:
            raise InvalidError(f"{where}: {fragment} starts before {end}, expected sorted and disjoint")
        end = fragment.end


def check_score(score: object, where: str) -> None:
    """Raise an error unless a score is None or a finite number."""
    if score is None:
        return
    if not isinstance(score, float | int) or isinstance(score, bool) or not abs(score) <= sys.float_info.max:
        raise InvalidError(f"{where}: score is {score!r:.40}, expected a finite number")


def _check_meta(meta: object, where: str) -> None:
    if not isinstance(meta, Mapping):
        raise InvalidError(f"{where}: meta is {meta!r:.40}, expected a mapping")


def _check_unicode(text: str, where: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidError(
            f"{where}: character {error.start} is a lone surrogate, U+{ord(text[error.start]):04X}, expected Unicode"
        ) from None
