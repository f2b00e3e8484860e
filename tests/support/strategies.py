"""Hypothesis strategies: texts with everything that breaks offsets, entities in pieces, documents."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from gridner.documents import Document, Entity, Fragment
from gridner.files import is_empty

TYPES = ("ADR", "Disease_Disorder", "Drug", "Anatomy-Site")
ODD_TYPES = (*TYPES, "CL:0000540", "side effect", "Körper", "a|b")

HARD_PIECES = (
    "👩‍👩‍👧",  # emoji joined by zero-width joiners
    "❤️",  # a variation selector
    "🇩🇪",
    "👍🏽",
    "e\u0301",  # a combining mark
    "ä",
    "\r\n",
    "\r",
    "\n",
    "\n\n",
    "\t",
    "\u00a0",
    "\u200b",
    "\u200d",
    "\u2060",
    "שלום",
    "\u202bعربي\u202c",
    "\ufeff",
    "\u2028",
    "\u0085",
    "\v",
    "\f",
    "\x1c",
    "𝒳",
    "疼痛",
    " ",
    "  ",
    ". ",
    "|",
    ";",
    "\\",
    '"',
    "pain",
    "left arm",
    "and shoulder",
    "Dr. Li saw 5 mg. It",
    "post-natal",
)

BRAT_LINES = (
    "R1\tCauses Arg1:T1 Arg2:T2\t",
    "E1\tProcess:T2 Theme:T1",
    "A1\tNegation E1",
    "A2\tStage T1 T3",
    "N1\tReference T1 ICD10:E11\tdiabetes",
    "#1\tAnnotatorNotes A1\tsee T9",
    "*\tEquiv T1 T2",
)


def texts(*, max_pieces: int = 12) -> st.SearchStrategy[str]:
    """Text with at least one character that is not white space, and no lone surrogates."""
    piece = st.one_of(
        st.sampled_from(HARD_PIECES), st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
    )
    return st.lists(piece, min_size=1, max_size=max_pieces).map("".join).filter(lambda text: not is_empty(text))


def ids() -> st.SearchStrategy[str]:
    """Document ids that are file names: dots, digits, folders, letters of all kinds."""
    part = st.text(st.sampled_from("ab1_-.é "), min_size=1, max_size=6).filter(lambda name: name[0] not in ". ")
    return st.lists(part, min_size=1, max_size=2).map("/".join).filter(lambda name: not name.endswith(".pipe"))


def fragments(length: int, *, most: int = 4) -> st.SearchStrategy[tuple[Fragment, ...]]:
    """One to `most` fragments of a text of that length, sorted and disjoint; they may touch."""

    def build(edges: Sequence[int]) -> tuple[Fragment, ...]:
        ordered = sorted(edges)
        pairs = zip(ordered[::2], ordered[1::2], strict=True)
        found = [Fragment(start, end) for start, end in pairs if start < end]
        return tuple(found) or (Fragment(min(ordered[0], length - 1), min(ordered[0], length - 1) + 1),)

    counts = st.integers(1, most)
    return counts.flatmap(
        lambda count: st.lists(st.integers(0, length), min_size=2 * count, max_size=2 * count).map(build)
    )


def json_values() -> st.SearchStrategy[Any]:
    """What JSON can carry."""
    leaves = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**60), 2**60),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    )
    keys = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
    return st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3))


def metas() -> st.SearchStrategy[dict[str, Any]]:
    """A `meta`, often empty; the keys that formats keep for themselves are among its keys, with any content."""
    keys = st.sampled_from(["brat", "share", "source", ""])
    brat = st.fixed_dictionaries({"brat": st.lists(st.sampled_from(BRAT_LINES), unique=True)})
    return st.one_of(st.just({}), brat, st.dictionaries(keys, json_values(), max_size=2))


def entities(length: int, *, types: Sequence[str] = TYPES, plain: bool = False) -> st.SearchStrategy[Entity]:
    """An entity of a text of that length; `plain` ones have no score, id or meta."""
    if plain:
        return st.builds(Entity, st.sampled_from(types), fragments(length))
    scores = st.none() | st.floats(0, 1) | st.floats(allow_nan=False, allow_infinity=False)
    names = st.none() | st.from_regex(r"T[1-9][0-9]?", fullmatch=True) | st.sampled_from(["m 1", "x", "T1", "\u2028"])
    return st.builds(Entity, st.sampled_from(types), fragments(length), scores, names, metas())


@st.composite
def documents(draw: st.DrawFn, *, types: Sequence[str] = TYPES, plain: bool = False) -> Document:
    """A document with entities of all shapes; unless `plain`, with scores, ids, meta and sometimes own sentences."""
    text = draw(texts())
    found = draw(st.lists(entities(len(text), types=types, plain=plain), max_size=6))
    if plain:
        return Document(draw(ids()), text, tuple(found))
    own = draw(st.none() | own_sentences(len(text)))
    return Document(draw(ids()), text, tuple(found), own, draw(metas()))


@st.composite
def own_sentences(draw: st.DrawFn, length: int) -> tuple[tuple[Fragment, ...], ...]:
    """Sentences of words of a text of that length, as a source gives them; maybe none."""
    edges = sorted(draw(st.sets(st.integers(0, length), max_size=10)))
    words = [Fragment(start, end) for start, end in pairwise(edges) if draw(st.booleans())]
    sentences: list[tuple[Fragment, ...]] = []
    while words:
        count = draw(st.integers(1, len(words)))
        sentences.append(tuple(words[:count]))
        words = words[count:]
    return tuple(sentences)


def corpora(*, types: Sequence[str] = TYPES, plain: bool = False) -> st.SearchStrategy[list[Document]]:
    """One to three documents whose ids differ, also where a folder cannot hold both (a and a/b)."""
    found = st.lists(documents(types=types, plain=plain), min_size=1, max_size=3)
    return found.map(lambda many: list({document.id.split("/")[0]: document for document in many}.values()))


@st.composite
def word_records(draw: st.DrawFn) -> tuple[list[str], list[tuple[str, tuple[int, ...]]]]:
    """Words without white space and mentions of them: flat, nested, overlapping, discontinuous; none twice."""
    word = texts(max_pieces=2).map(lambda text: "".join(text.split()))
    words = draw(st.lists(word, min_size=1, max_size=8))
    index = st.sets(st.integers(0, len(words) - 1), min_size=1).map(lambda found: tuple(sorted(found)))
    return words, draw(st.lists(st.tuples(st.sampled_from(TYPES), index), max_size=5, unique=True))
