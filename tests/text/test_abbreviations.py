import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridner.documents import Document
from gridner.text.abbreviations import find_abbreviations, singular_short_form
from gridner.text.alignment import sentences_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He has otitis media (OM).", {"OM": "otitis media"}),
        ("OM ( otitis media ) is common", {"OM": "otitis media"}),
        ("human polymorphonuclear neutrophils (PMNs)", {"PMN": "polymorphonuclear neutrophils"}),
        ("spinocerebellar ataxia type 15 (SCA15)", {"SCA15": "spinocerebellar ataxia type 15"}),
        ("graft-versus-host disease [GVHD; severe]", {"GVHD": "graft - versus - host disease"}),
        ("otitis media (OM), then old man (OM)", {"OM": "otitis media"}),
        ("in otitis media (see Table 1)", {}),
        ("two drugs (AB)", {}),
        ("a rash (mild)", {}),
        ("otitis\nmedia (OM)", {}),
        ("(OM)", {}),
        ("pain in the arm which nobody could explain for months (PM)", {}),
    ],
)
def test_definitions_are_found(text: str, expected: dict[str, str]) -> None:
    assert {short: " ".join(words) for short, words in find_abbreviations(text).items()} == expected


def test_a_short_form_and_its_plural_are_one() -> None:
    assert [singular_short_form(word) for word in ("PMNs", "PMN", "AS", "as", "Ras")] == [
        "PMN",
        "PMN",
        "AS",
        "as",
        "Ras",
    ]


WORD = st.text(alphabet="abcdefg", min_size=1, max_size=8)


@given(st.lists(WORD, min_size=2, max_size=6), st.lists(WORD, max_size=5))
def test_the_initials_of_words_abbreviate_them(long: list[str], before: list[str]) -> None:
    short = "".join(word[0] for word in long).upper()
    found = find_abbreviations(f"{' '.join(before)} {' '.join(long)} ({short})")
    assert len(short) >= len(" ".join(long)) or [*before, *long][-len(found[short]) :] == list(found[short])


def test_every_sentence_knows_the_abbreviations_of_its_text() -> None:
    first, second = sentences_of(Document("d", "OM hurts. He has otitis media (OM)."))
    assert first.abbreviations == second.abbreviations == {"OM": ("otitis", "media")}
