"""Write two small corpora of problems in patients' words and in the words of clinical notes.

    python benchmarks/phrases.py reactions.jsonl conditions.jsonl --documents 400 --seed 1

The default model trains on them beside real corpora, which have drug labels, criteria of trials and articles, but no
posts and no notes. The sentences are put together from the words in benchmarks/phrases/phrases.toml: problems with body
parts, coordinations of both, and clauses ("legs and arms ached" contains *legs … ached* and *arms ached*).

Both corpora have the same texts. The first annotates AdverseReaction: problems that the writer attributes to a
medicine. The second annotates Condition, whatever its cause, and Drug.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import gridner
from gridner.documents import Document, Entity, Fragment, join_fragments

WORDS = Path(__file__).parent / "phrases" / "phrases.toml"


@dataclass(frozen=True)
class Phrase:
    """Text with its mentions: each is the fragments, as (start, end), of a problem."""

    text: str
    mentions: tuple[tuple[tuple[int, int], ...], ...]
    clause: bool = False  # a whole clause ("my arms ached"), not a noun phrase


def of_pieces(pieces: Sequence[str], *mentions: Sequence[int], clause: bool = False) -> Phrase:
    """Join pieces of text; a mention is the numbers of its pieces."""
    spans, text = [], ""
    for piece in pieces:
        text += piece
        spans.append((len(text) - len(piece.lstrip()), len(text)))
    return Phrase(text, tuple(tuple(spans[number] for number in mention) for mention in mentions), clause)


class Phrases:
    """Random phrases and sentences from lists of words."""

    def __init__(self, words: dict[str, Any], random: Random) -> None:
        self.words: dict[str, list[str]] = words
        self.headed_words: list[list[str]] = words["headed"]
        self.random = random
        self.kinds: dict[Callable[[], Phrase], int] = {  # with how often each comes
            self.plain: 6,
            self.in_part: 3,
            self.in_parts: 4,
            self.two_in_part: 2,
            self.compound: 2,
            self.compounds: 3,
            self.swollen: 2,
            self.headed: 3,
        }

    def one(self, name: str) -> str:
        """Return one of the words of this name."""
        return self.random.choice(self.words[name])

    def some(self, name: str, count: int) -> list[str]:
        """Return several different words of this name."""
        return self.random.sample(self.words[name], count)

    def owner(self) -> str:
        """Return what stands before a body part."""
        return self.random.choice(["my ", "my ", "the ", "both ", "", ""])

    def plain(self) -> Phrase:
        """*nausea*."""
        return of_pieces([self.one("problems")], [0])

    def in_part(self) -> Phrase:
        """*pain in my left arm*."""
        return of_pieces([f"{self.one('sensations')} in {self.owner()}{self.one('parts')}"], [0])

    def in_parts(self) -> Phrase:
        """*pain in left arm* and *pain in … shoulder*."""
        first, second, third = self.some("parts", 3)
        start, owner = f"{self.one('sensations')} in", self.owner()
        link = self.random.choice([" and", " or", " as well as"])
        if self.random.random() < 0.3:
            pieces = [start, f" {owner}{first}", ",", f" {second}", link, f" {third}"]
            return of_pieces(pieces, [0, 1], [0, 3], [0, 5])
        return of_pieces([start, f" {owner}{first}", link, f" {second}"], [0, 1], [0, 3])

    def two_in_part(self) -> Phrase:
        """*numbness … in my hands* and *tingling in my hands*."""
        first, second = self.some("sensations", 2)
        end = f" in {self.owner()}{self.one('parts')}"
        return of_pieces([first, " and", f" {second}", end], [0, 3], [2, 3])

    def compound(self) -> Phrase:
        """*knee pain*."""
        return of_pieces([f"{self.one('compound_parts')} {self.one('compound_problems')}"], [0])

    def compounds(self) -> Phrase:
        """*knee … pain* and *hip pain*."""
        first, second = self.some("compound_parts", 2)
        link = self.random.choice([" and", " and", " or", " and/or"])
        return of_pieces([first, link, f" {second}", f" {self.one('compound_problems')}"], [0, 3], [2, 3])

    def swollen(self) -> Phrase:
        """*swollen ankles* and *swollen … feet*."""
        first, second = self.some("plural_parts", 2)
        return of_pieces([self.one("swollen"), f" {first}", " and", f" {second}"], [0, 1], [0, 3])

    def headed(self) -> Phrase:
        """*loss of taste* and *loss of … smell*."""
        start, *ends = self.random.choice(self.headed_words)
        first, second = self.random.sample(ends, 2)
        link = self.random.choice([" and", " or"])
        return of_pieces([start, f" {first}", link, f" {second}"], [0, 1], [0, 3])

    def clause(self) -> Phrase:
        """*legs … ached* and *arms ached*; *eyes felt dry* and *eyes felt … gritty*; or a problem told with a verb."""
        kind = self.random.randrange(4)
        first, second = self.some("plural_parts", 2)
        if kind == 0:
            return of_pieces(["I ", self.one("told")], [1], clause=True)
        if kind == 1:
            return of_pieces(["my ", f"{first} {self.one('clauses')}"], [1], clause=True)
        if kind == 2:
            pieces = ["my ", first, " and", f" {second}", f" {self.one('clauses')}"]
            return of_pieces(pieces, [1, 4], [3, 4], clause=True)
        dry, gritty = self.some("states", 2)
        return of_pieces(
            ["my ", f"{first} {self.one('felt')}", f" {dry}", " and", f" {gritty}"], [1, 2], [1, 4], clause=True
        )

    def noun(self) -> Phrase:
        """Return a noun phrase of a random kind."""
        (kind,) = self.random.choices(list(self.kinds), list(self.kinds.values()))
        return kind()

    def listed(self) -> list[str | Phrase]:
        """Return one to three noun phrases, as a list in a sentence."""
        count = self.random.choices([1, 2, 3], [6, 3, 2])[0]
        parts: list[str | Phrase] = [self.noun()]
        for number in range(1, count):
            parts += [", " if number < count - 1 or self.random.random() < 0.3 else ", and ", self.noun()]
        return parts

    def reaction(self) -> list[str | Phrase]:
        """Return a sentence about the effects of a medicine; {} is the medicine."""
        time = self.one("times")
        if self.random.random() < 0.3:
            before = self.random.choice(["Since starting {}, ", "After a week on {} ", "With {} ", "On this drug ", ""])
            return [before, self.clause(), self.random.choice([".", f" {time}.", ", so I stopped."])]
        return self.random.choice(
            [
                ["I had ", *self.listed(), f" {time} on {{}}."],
                ["{} gave me ", *self.listed(), "."],
                ["Side effects: ", *self.listed(), "."],
                ["After taking {} I got ", *self.listed(), f" {time}."],
                ["Stopped {} because of ", *self.listed(), "."],
                ["My side effects were ", *self.listed(), f" {time}."],
                ["Since I started {} I have had ", *self.listed(), "."],
                ["The patient developed ", *self.listed(), " while taking {}."],
                ["Had to quit {} due to ", *self.listed(), "."],
                ["I also had ", *self.listed(), "."],
                ["Also ", *self.listed(), "."],
                ["I keep getting ", *self.listed(), f" {time}."],
                ["Within days I developed ", *self.listed(), "."],
                ["The worst of it: ", *self.listed(), "."],
                ["Has anyone else had ", *self.listed(), "?"],
            ]
        )

    def condition(self) -> list[str | Phrase]:
        """Return a sentence about problems that no medicine caused."""
        time = self.one("times")
        article, _, rest = (self.one("conditions") + " ").partition(" ")
        illness = (
            of_pieces([rest.strip()], [0]) if article in ("a", "an") else of_pieces([f"{article} {rest}".strip()], [0])
        )
        known: list[str | Phrase] = [f"{article} " if article in ("a", "an") else "", illness]
        return self.random.choice(
            [
                ["I take {} for ", *known, "."],
                ["I have had ", *known, " for ten years."],
                ["She has a history of ", *known, "."],
                ["My doctor prescribed {} for ", *known, "."],
                ["{} did help my ", illness, "."],
                ["Complains of ", *self.listed(), f" {time}."],
                ["Patient reports ", *self.listed(), "."],
                ["Presented with ", *self.listed(), f" {time}."],
                ["He denies ", *self.listed(), "."],
                ["She came to the clinic with ", *self.listed(), "."],
                [*self.listed(), f" {time}."],
                [*self.listed(), "."],
            ]
        )

    def document(self, name: str) -> tuple[Document, Document]:
        """Return a text twice: with its reactions, and with its conditions and drugs."""
        drug = self.one("drugs")
        text, reactions, conditions = "", list[Entity](), list[Entity]()
        for _ in range(self.random.randint(2, 5)):
            kind = self.random.choices(["reaction", "condition", "empty"], [5, 4, 2])[0]
            parts = [self.one("empty")] if kind == "empty" else getattr(self, kind)()
            start = len(text) + bool(text)
            text += " " if text else ""
            for part in parts:
                phrase = part if isinstance(part, Phrase) else Phrase(part, ())
                for before, after in _around(phrase.text, drug):
                    text += before
                    if after:
                        conditions.append(Entity("Drug", (Fragment(len(text), len(text) + len(after)),)))
                        text += after
                shift = len(text) - len(phrase.text)
                for mention in phrase.mentions:
                    fragments = tuple(Fragment(a + shift, b + shift) for a, b in mention)
                    conditions.append(Entity("Condition", fragments))
                    if kind == "reaction":
                        reactions.append(Entity("AdverseReaction", fragments))
            text = text[:start] + text[start : start + 1].upper() + text[start + 1 :]
        return (_document(name, text, reactions), _document(name, text, conditions))


def _around(text: str, drug: str) -> Iterator[tuple[str, str]]:
    """Yield pieces of text, each with the medicine that follows it, or nothing."""
    *before, last = text.split("{}")
    yield from ((piece, drug) for piece in before)
    yield last, ""


def _document(name: str, text: str, entities: Sequence[Entity]) -> Document:
    whole = tuple(Entity(entity.type, join_fragments(text, entity.fragments)) for entity in entities)
    return Document(name, text, whole)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reactions", type=Path)
    parser.add_argument("conditions", type=Path)
    parser.add_argument("--documents", type=int, default=400, help="number of documents (default: 400)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    phrases = Phrases(tomllib.loads(WORDS.read_text(encoding="utf-8")), Random(options.seed))
    pairs = [phrases.document(f"phrases-{number}") for number in range(options.documents)]
    gridner.write([pair[0] for pair in pairs], options.reactions)
    gridner.write([pair[1] for pair in pairs], options.conditions)


if __name__ == "__main__":
    main()
