import pytest
from hypothesis import assume, given
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
        ("interleukin-6 (IL-6) rose", {"IL - 6": "interleukin - 6"}),
        ("messenger ribonucleic acids (mRNAs)", {"mRNA": "messenger ribonucleic acids"}),
        ("otitis" + "," * 80 + "media (OM)", {}),
        ("x" * 160 + " media (OM)", {}),
        ("pain in the arm which nobody could explain for months (PM)", {}),
    ],
)
def test_definitions_are_found(text: str, expected: dict[str, str]) -> None:
    found = find_abbreviations(text)
    assert {" ".join(short): " ".join(words) for short, words in found.items()} == expected


def test_a_short_form_and_its_plural_are_one() -> None:
    words = ("PMNs", "PMN", "mRNAs", "AS", "as", "Ras", "s")
    assert [singular_short_form(word) for word in words] == ["PMN", "PMN", "mRNA", "AS", "as", "Ras", "s"]


def test_a_long_form_that_the_cut_began_inside_a_word_is_none() -> None:
    assert not find_abbreviations("hypotitis " + "w" * 140 + " m (OM)")


WORD = st.text(alphabet="abcdefg", min_size=1, max_size=8)


@given(st.lists(WORD, min_size=2, max_size=6), st.lists(WORD, max_size=5))
def test_the_initials_of_words_abbreviate_them(long: list[str], before: list[str]) -> None:
    short = "".join(word[0] for word in long).upper()
    assume(len(short) < len(" ".join(long)))
    found = list(find_abbreviations(f"{' '.join(before)} {' '.join(long)} ({short})").get((short,), ()))
    assert found or len(" ".join(long).replace(" ", "")) == len(short)  # one-letter words may leave nothing shorter
    assert [*before, *long][len(before) + len(long) - len(found) :] == found
    assert not found or (found[0][0] == short[0].lower() and len(found) <= len(long))
    letters = iter("".join(found))
    assert all(letter in letters for letter in short.lower()) or not found


def test_every_sentence_knows_the_abbreviations_of_its_text() -> None:
    first, second = sentences_of(Document("d", "OM hurts. He has otitis media (OM)."))
    assert first.abbreviations == second.abbreviations == {("OM",): ("otitis", "media")}
