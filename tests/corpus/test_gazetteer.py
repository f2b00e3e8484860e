from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from gridner.corpus.gazetteer import Lexicon, Match, names_of, read_lexicon
from gridner.errors import FormatError, Notes, UsageError
from gridner.inference.loading import load
from gridner.tagging.decoding import decode
from gridner.tagging.tags import GazetteerName, Relations, with_name_bonus
from gridner.text.splitting import tokenize
from support.small import documents, sentence
from support.untrained import untrained

NAMES = Lexicon([("Cell", ["rod", "cell"]), ("Cell", ["Cell"]), ("Sign", ["cell", "death"]), ("Sign", ["sepsis"])])


def file(folder: Path, content: str) -> Path:
    path = folder / "names.tsv"
    path.write_text(content, encoding="utf-8")
    return path


def test_names_are_found_whatever_their_case_and_number() -> None:
    assert NAMES.find("Rod cells , sepsis , CELL".split()) == [
        Match("Cell", (0, 1)),
        Match("Sign", (3,)),
        Match("Cell", (5,)),
    ]
    assert NAMES.find(["rods", "cell"]) == [Match("Cell", (1,))]
    assert NAMES.find([]) == []


@pytest.mark.parametrize(
    ("singular", "plural"),
    [
        ("cell", "cells"),
        ("neuropathy", "neuropathies"),
        ("spermatogonium", "spermatogonia"),
        ("metastasis", "metastases"),
        ("vertebra", "vertebrae"),
        ("anemia", "anemias"),
        ("tie", "ties"),
    ],
)
def test_a_plural_finds_the_name_in_the_singular_and_the_other_way_round(singular: str, plural: str) -> None:
    for name, word in [(singular, plural), (plural, singular), (singular, singular), (plural, plural)]:
        assert Lexicon([("A", ["b", name])]).find(["b", word]) == [Match("A", (0, 1))]


@given(st.lists(st.text(alphabet="aeimsuy", min_size=1), max_size=5))
@example(["aaaes", "mmiums"])  # what is left without the s is a plural, or has one
def test_a_lexicon_of_normalized_names_is_the_same(words: list[str]) -> None:
    once = Lexicon(("A", [word]) for word in words)
    assert Lexicon(once) == once


@pytest.mark.parametrize("name", ["alpha cell", "α-cells", "Alpha – cell"])
@pytest.mark.parametrize(
    ("text", "words"), [("the α - cells", (1, 2, 3)), ("an alpha cell", (1, 2)), ("Α cell", (0, 1))]
)
def test_hyphens_do_not_count_and_greek_letters_are_like_their_names(
    name: str, text: str, words: tuple[int, ...]
) -> None:
    lexicon = Lexicon([("Cell", [text[word.start : word.end] for text in [name] for word in tokenize(text)])])
    assert lexicon.find(text.split()) == [Match("Cell", words)]
    assert Lexicon.from_text(lexicon.to_text(), where="names.tsv") == lexicon


def test_a_word_with_a_hyphen_is_like_two_words() -> None:
    lexicon = Lexicon([("Cell", ["T-cell"]), ("Cell", ["NK", "cell"])])
    assert lexicon.find(["T", "-", "cells"]) == [Match("Cell", (0, 1, 2))]
    assert lexicon.find(["NK-cells", "die"]) == [Match("Cell", (0,))]
    assert lexicon.find(["pre-NK-cells"]) == []  # a part of a word is no name


def test_a_name_that_ends_with_a_sign_is_not_the_name_without_it() -> None:
    lexicon = Lexicon([("Cell", ["CD4", "-"]), ("Cell", ["-"])])
    assert lexicon.find(["CD4"]) == lexicon.find(["a", "-", "b"]) == []
    assert Lexicon.from_text(lexicon.to_text(), where="names.tsv") == lexicon


def test_symbols_that_look_like_greek_letters_are_read_as_these() -> None:
    assert Lexicon([("A", ["\N{MICRO SIGN}-receptor"])]) == Lexicon([("A", ["mu", "receptor"])])


def test_a_gazetteer_of_older_models_is_read() -> None:
    lexicon = Lexicon.from_text("Cell\tt - cell\nSign\tβ test\nSign\t12 p -\nSign\tmmium\nSign\t–\n", where="names.tsv")
    names = [("Cell", "T cell"), ("Sign", "beta test"), ("Sign", "12 p -"), ("Sign", "mmium")]
    assert lexicon == Lexicon((type, name.split()) for type, name in names)
    assert Lexicon.from_text(lexicon.to_text(), where="names.tsv") == lexicon


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("EI and acute EIs", [(0,), (2, 3)]),
        ("BEI ei AR", []),  # a part of a long form is no name
        ("PTSD", [(0,)]),  # itself a name
        ("HIV infection", [(0, 1)]),  # as it stands in a longer name
        ("acute and other EI", [(3,), (0, 3)]),  # after a gap
        ("IL - 6 rose", [(0, 1, 2)]),  # an abbreviation of several words
        ("acute PD - XS", [(0, 1, 2, 3)]),
    ],
)
def test_an_abbreviation_stands_for_itself_and_its_long_form(text: str, expected: list[tuple[int, ...]]) -> None:
    names = ["ear infection", "acute ear infection", "PTSD", "HIV infection"]
    lexicon = Lexicon(("Sign", name.split()) for name in [*names, "interleukin 6", "acute pain dx", "rod"])
    abbreviations = {
        ("EI",): ("ear", "infection"),
        ("BEI",): ("bad", "ear", "infection"),
        ("AR",): ("acute", "rod"),
        ("PTSD",): ("posttraumatic", "stress", "disorder"),
        ("HIV",): ("human", "immunodeficiency", "virus"),
        ("IL", "-", "6"): ("interleukin", "-", "6"),
        ("PD", "-", "XS"): ("pain", "dx"),
    }
    found = lexicon.find(text.split(), abbreviations)
    assert [match.words for match in found] == expected


def test_a_name_within_a_longer_one_counts_only_if_it_is_of_another_type() -> None:
    assert NAMES.find("rod cell death".split()) == [Match("Cell", (0, 1)), Match("Sign", (1, 2))]


WORDS = st.lists(st.sampled_from(["a", "b", "as", "B", "pass", "cells", "cell", "α", "-"]), min_size=1, max_size=3)


@given(st.lists(st.tuples(st.sampled_from("AB"), WORDS), max_size=6), st.lists(WORDS, max_size=4))
def test_what_is_found_is_what_a_search_of_every_span_finds(
    names: list[tuple[str, list[str]]], text: list[list[str]]
) -> None:
    def key(words: list[str]) -> str:
        if words[0] == "-" or words[-1] == "-":
            return "".join(words)  # as no span of a text begins or ends
        *first, last = ["alpha" if word == "α" else word.lower() for word in words if word != "-"]
        plural = len(last) > 3 and last.endswith("s") and not last.endswith(("ss", "is", "us"))
        return " ".join([*first, last[:-1] if plural else last])

    words = [word for some in text for word in some]
    spans = [(start, stop) for start in range(len(words)) for stop in range(start + 1, len(words) + 1)]
    spans = [(start, stop) for start, stop in spans if words[start] != "-" and words[stop - 1] != "-"]
    every = {(type, *span) for type, name in names for span in spans if key(words[slice(*span)]) == key(name)}
    longest = {
        (type, tuple(range(start, stop)))
        for type, start, stop in every
        if not any(kind == type and a <= start and stop <= b and (a, b) != (start, stop) for kind, a, b in every)
    }
    assert {tuple(match) for match in Lexicon(names).find(words)} == longest


def test_a_bonus_moves_the_log_odds_of_names_alone() -> None:
    random = np.random.default_rng(1)
    before = Relations(random.uniform(0.01, 0.99, (4, 4, 1)), random.uniform(0.01, 0.99, (4, 4, 2)))
    after = with_name_bonus(
        before, [GazetteerName(1, (0, 1, 2)), GazetteerName(1, (0, 1, 2)), GazetteerName(0, (3,))], 2.0
    )

    def moved(old: NDArray[np.floating], new: NDArray[np.floating]) -> NDArray[np.floating]:
        found: NDArray[np.floating] = np.log(new / (1 - new)) - np.log(old / (1 - old))
        return found

    links, ends = np.zeros((4, 4, 1)), np.zeros((4, 4, 2))
    links[0, 1] = links[1, 2] = ends[0, 2, 1] = ends[3, 3, 0] = 2.0
    np.testing.assert_allclose(moved(before.links, after.links), links, atol=1e-9)
    np.testing.assert_allclose(moved(before.ends, after.ends), ends, atol=1e-9)
    extreme = Relations(
        np.array([[[0.0], [1.0]], [[0.0], [0.0]]], dtype=np.float32), np.ones((2, 2, 1), dtype=np.float32)
    )
    assert np.isfinite(with_name_bonus(extreme, [GazetteerName(0, (0, 1))], 50.0).links).all()


def test_a_name_favours_the_links_of_the_groups_that_have_its_type() -> None:
    even = Relations(np.full((2, 2, 3), 0.5), np.full((2, 2, 2), 0.5))
    after = with_name_bonus(even, [GazetteerName(1, (0, 1))], 2.0, group_types=[[0], [1], [0, 1]])
    assert (after.links[0, 1] > 0.5).tolist() == [False, True, True]
    assert (after.ends[0, 1] > 0.5).tolist() == [False, True]


def test_a_name_with_a_gap_gets_half_unless_it_is_there_without_one() -> None:
    even = Relations(np.full((3, 3, 1), 0.5), np.full((3, 3, 1), 0.5))
    odds = with_name_bonus(even, [GazetteerName(0, (0, 2)), GazetteerName(0, (1, 2)), GazetteerName(0, (0, 1, 2))], 2.0)
    assert odds.links[0, 2, 0] == pytest.approx(1 / (1 + np.exp(-1)))
    assert odds.links[1, 2, 0] == odds.ends[0, 2, 0] == pytest.approx(1 / (1 + np.exp(-2)))
    assert odds.ends[0, 1, 0] == 0.5


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rod and cone cells", [(0, 3)]),
        ("Rod , cone and other cells", [(0, 5)]),
        ("rod ( r ) cells die", [(0, 4)]),
        ("rod / cone cells", [(0, 3)]),
        ("nerve growth and death", [(0, 3)]),  # the beginning is shared
        ("rod and cells", []),  # nothing joined
        ("rod with cone cells", []),
        ("rod and a b c d e cells", []),  # too far
        ("rod and cone rod cells", [(3, 4), (0, 4)]),
        ("rod- and cone- cells", [(0, 3)]),
        ("rod - and cone - cells", [(0, 5)]),
        ("a-rod and cone cells", []),  # a part of a word
    ],
)
def test_an_enumeration_parts_a_name(text: str, expected: list[tuple[int, ...]]) -> None:
    lexicon = Lexicon([("Cell", ["rod", "cell"]), ("Cell", ["nerve", "death"])])
    assert [match.words for match in lexicon.find(text.split())] == expected


def test_of_names_with_a_gap_the_longest_counts_and_those_without_stay() -> None:
    lexicon = Lexicon([("Cell", name.split()) for name in ("rod cell", "retinal rod cell", "cone cell")])
    found = lexicon.find("retinal rod and cone cells".split())
    assert [match.words for match in found] == [(3, 4), (0, 1, 4)]


def test_a_name_that_the_network_doubts_is_found_with_the_bonus() -> None:
    doubt = Relations(np.full((2, 2, 1), 0.01), np.full((2, 2, 1), 0.01))
    assert not decode(doubt, ("Cell",)).mentions
    found = decode(with_name_bonus(doubt, [GazetteerName(0, (0, 1))], 8.0), ("Cell",)).mentions
    assert [mention.words for mention in found] == [(0, 1)]


def test_names_that_the_corpus_leaves_unmarked_are_left_out_and_counted() -> None:
    lexicon = Lexicon([("Cell", ["cell"]), ("Cell", ["rod", "cell"]), ("Cell", ["neuron"]), ("Drug", ["aspirin"])])
    corpus = [
        sentence("a cell and a rod cell", ("Cell", (4, 5))),
        sentence("the Neuron , a neuron", ("Cell", (1,))),
        *[sentence("rod or cone cells")] * 2,  # says nothing about rod cells
    ]
    notes = Notes()
    kept = lexicon.suited(corpus, notes=notes)
    assert list(kept) == [("Cell", ["neuron"]), ("Cell", ["rod", "cell"])]
    assert notes.places("lexicon: name that the corpus mostly leaves unmarked, left out") == ["Cell: cell"]
    assert notes.places("lexicon: name of a type that the corpus does not have, left out") == ["Drug: aspirin"]


def test_names_of_a_corpus_are_those_without_a_gap() -> None:
    corpus = [sentence("Rod and cone cells", ("Cell", (0, 3)), ("Cell", (2, 3)))]
    assert list(names_of(corpus)) == [("Cell", ["cone", "cell"])]


def test_words_with_white_space_in_them_make_names_that_can_be_read_again() -> None:
    odd = Lexicon([("Sign", ["left", "\n", "arm"]), ("Sign", ["sore\r\u2028throat"]), ("Sign", ["\n"])])
    assert list(odd) == [("Sign", ["left", "arm"]), ("Sign", ["sore", "throat"])]
    assert Lexicon.from_text(odd.to_text(), where="here") == odd


def test_a_file_is_read_and_a_lexicon_written_and_read_again(tmp_path: Path) -> None:
    read = read_lexicon(file(tmp_path, "# names\nCell\tT-cells\n\nCell\tt-cell\r\nSign\t ache \n"))
    assert list(read) == [("Sign", ["ache"]), ("Cell", ["t", "cell"])]
    assert read.about()["names"] == {"Cell": 1, "Sign": 1}
    again = Lexicon.from_text(read.to_text(), where="names.tsv")
    assert list(again) == list(read)
    assert again.about() == read.about() != NAMES.about()
    assert list(read | NAMES) == sorted([*read, *NAMES], key=lambda one: " ".join(one[1]))
    with pytest.raises(FormatError, match="a line without a type"):
        Lexicon.from_text("Cell\n", where="names.tsv")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Cell Sertoli cell\n", "names.tsv:1: 'Cell Sertoli cell', expected a type, a tab and a name"),
        ("Cell\ta\nCell\t \n", r"names.tsv:2: 'Cell\t ', expected a type, a tab and a name"),
        ("Cell\ta\tb\n", r"names.tsv:1: 'Cell\ta\tb', expected a type, a tab and a name"),
        ("\tname\n", "names.tsv:1: entity type ''"),
        ("# nothing\n\n", "names.tsv: no names, expected lines with a type, a tab and a name"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        read_lexicon(file(tmp_path, content))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"absent\.tsv: cannot be read"):
        read_lexicon(tmp_path / "absent.tsv")


def test_a_model_keeps_its_names_and_takes_more(tmp_path: Path, exported: Path) -> None:
    model = untrained("toe")
    names = names_of([sentence("left arm", ("Sign", (0, 1)))])
    model.checkpoint = replace(model.checkpoint, lexicon=names)
    model.save_pretrained(tmp_path / "m")
    own = load(tmp_path / "m", name_bonus=50.0)
    assert list(own.lexicon) == [("Sign", ["left", "arm"])]
    assert not load(tmp_path / "m", lexicon="none").lexicon
    assert "left arm" in {
        document.text[one.start : one.end] for document in own.pipe(documents()) for one in document.entities
    }
    more = load(exported, lexicon=file(tmp_path, "Drug\tzyrtec\n"), name_bonus=50.0, threshold=0.9999)
    assert [one.type for one in more("zyrtec").entities] == ["Drug"]
    assert not load(exported, name_bonus=50.0, threshold=0.9999)("zyrtec").entities
    text = "Otitis media (OM) hurts. She had OM twice."
    medical = load(exported, lexicon=file(tmp_path, "Sign\totitis media\n"), name_bonus=50.0, threshold=0.9999)
    found = [text[one.fragments[0].start : one.end] for one in medical(text).entities]
    assert found == ["Otitis media", "OM", "OM"]
    with pytest.raises(UsageError, match="names of Cell, expected those of Drug, Sign"):
        load(exported, lexicon=file(tmp_path, "Cell\tneuron\n"))
    (tmp_path / "m" / "names.tsv").write_text("Sign\tother\n")
    with pytest.raises(FormatError, match=r"names\.tsv: altered"):
        load(tmp_path / "m")
