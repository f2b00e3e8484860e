import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridner.text import split_lines, split_sentences, tokenize

TEXTS = st.text(
    alphabet=st.sampled_from(
        [*"aBc1. ,;:!?()-\n\r\t\"'•…。！", "\u00a0", "\u200d", "\u0301", "\ufeff", "😀", "\u2028", "ש", "患"]
    )
    | st.characters(exclude_categories=["Cs"]),
    max_size=60,
)


def sentences(text: str) -> list[str]:
    return [text[span.start : span.end].strip() for span in split_sentences(text)]


def words(text: str) -> list[str]:
    return [text[word.start : word.end] for word in tokenize(text)]


@given(TEXTS)
def test_sentences_cover_the_text_in_order(text: str) -> None:
    spans = list(split_sentences(text))
    assert "".join(text[span.start : span.end] for span in spans) == text
    assert all(a.end == b.start for a, b in itertools.pairwise(spans))


@given(TEXTS)
def test_words_cover_all_but_white_space_in_order(text: str) -> None:
    spans = list(tokenize(text))
    covered = [at for span in spans for at in range(span.start, span.end)]
    assert covered == sorted(set(covered))
    assert not [at for at in set(range(len(text))) - set(covered) if not text[at].isspace()]
    assert not any(character.isspace() for word in words(text) for character in word)


@given(TEXTS)
def test_words_of_a_part_lie_in_the_part(text: str) -> None:
    start, end = len(text) // 3, 2 * len(text) // 3
    assert all(start <= word.start and word.end <= end for word in tokenize(text, start, end))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He has pain. It is bad.", ["He has pain.", "It is bad."]),
        ("Dr. Smith saw Mr. Jones.", ["Dr. Smith saw Mr. Jones."]),
        ("Aspirin p.o. b.i.d. and rest.", ["Aspirin p.o. b.i.d. and rest."]),
        ("Genes (e.g. Sox9, cf. Fig. 2) vary.", ["Genes (e.g. Sox9, cf. Fig. 2) vary."]),
        ("Given 5 mg. The rash went.", ["Given 5 mg.", "The rash went."]),
        ("Short of vitamin C. The rest is fine.", ["Short of vitamin C.", "The rest is fine."]),
        ("Allergies: no. He smokes.", ["Allergies: no.", "He smokes."]),
        ("Antibody (cat. no. 5) used.", ["Antibody (cat. no. 5) used."]),
        ("Seen by J. Smith today.", ["Seen by J. Smith today."]),
        ("so tired!!! it never stops... why", ["so tired!!!", "it never stops... why"]),
        ("took it two weeks. it was awful", ["took it two weeks.", "it was awful"]),
        ("Really?! (Yes.) Go on.", ["Really?!", "(Yes.)", "Go on."]),
        ("头痛。没有发烧！好", ["头痛。", "没有发烧！", "好"]),
        ("هل تشعر بألم؟ نعم", ["هل تشعر بألم؟", "نعم"]),
    ],
)
def test_marks_end_sentences_where_a_reader_would_say_so(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize("newline", ["\n", "\r\n", " \n"])
@pytest.mark.parametrize(
    "lines",
    [
        ["net -6 L.", "2. Acute kidney injury"],
        ["Took vitamin B.", "Slept well."],
        ["He has a long history of heavy drinking and of chronic hepatitis C.", "Denies fever."],
        ["Further care by Dr. X.", "PREOPERATIVE DIAGNOSIS, stable."],
        ["Seen by J. Smith, M.D.", "Cardiology follows."],
        ["Type I.", "a) mild", "b) severe"],
        ["Allergies: no.", "2. Asthma"],
        ["Discussed with pt.", "3. Diabetes"],
    ],
)
def test_an_initial_or_an_abbreviation_does_not_bind_across_a_line_end(lines: list[str], newline: str) -> None:
    assert sentences(newline.join(lines)) == lines


@pytest.mark.parametrize(
    "text",
    ["Growth of E.\ncoli in broth.", "Seen by J. Smith today.", "As in Fig.\n2 and Fig. 3.", "Seen by Dr.\nA. Smith."],
)
def test_an_initial_or_an_abbreviation_binds_elsewhere(text: str) -> None:
    assert sentences(text) == [text]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_blank_line_always_parts(newline: str) -> None:
    assert sentences(f"and the{newline}{newline}left arm") == ["and the", "left arm"]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_headers_bullets_and_items_are_sentences(newline: str) -> None:
    lines = ["PMH: HTN", "MEDS: aspirin 81 mg", "Plan:", "1. Start statin", "2. Review", "- no rash", "- no fever"]
    assert sentences(newline.join(lines)) == lines


@pytest.mark.parametrize("space", [" ", "\n", "\r\n"])
def test_no_item_number_ends_a_sentence(space: str) -> None:
    listed = [f"Positive for: 1.{space}Asthma.", f"2.{space}Gout.", f"10.{space}Anemia, on iron."]
    assert sentences("\n".join(listed)) == listed
    assert sentences(f"MEDICATIONS:, 1.{space}Aspirin daily.,10.{space}Iron (oral).,11.{space}Zinc.") == [
        f"MEDICATIONS:, 1.{space}Aspirin daily.,",
        f"10.{space}Iron (oral).,",
        f"11.{space}Zinc.",
    ]
    heading = "A long line of an exclusion criterion that includes but is not limited to the following:"
    assert sentences(f"{heading}\n1.{space}Asthma.") == [heading, f"1.{space}Asthma."]
    numbers = ["Oriented times 3.", "Apgars of 8, 9.", "Normal placenta, pH 7.1.", "Score: 4.", "He is well."]
    assert sentences(" ".join(numbers)) == numbers


@pytest.mark.parametrize("width", [60, 72, 80, 100])
def test_hard_wrapped_prose_is_not_cut_at_line_ends(width: int) -> None:
    prose = (
        "The patient was admitted with shortness of breath and chest pain radiating to the left arm and Shoulder. "
        "There was no fever, and the cough that had troubled him since the last admission in the Spring was gone. "
    )
    text = (prose * 3).strip()
    wrapped = re.sub(rf"(.{{1,{width}}})(?: |$)", r"\1\n", text).rstrip("\n")
    unwrapped = [sentence.replace("\n", " ") for sentence in sentences(wrapped)]
    assert len(wrapped.split("\n")) > 3
    assert unwrapped == sentences(text)


def test_a_line_a_sentence() -> None:
    text = "one. two\n\nthree\r\nfour"
    assert [text[span.start : span.end] for span in split_lines(text)] == ["one. two", "three", "four"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rod-like cells/mm", ["rod", "-", "like", "cells", "/", "mm"]),
        ("5mg of 3.5 p53 H3K9", ["5", "mg", "of", "3.5", "p53", "H3", "K9"]),
        ("snake_case", ["snake", "_", "case"]),
        ("postnatal post-natal posterior posture", ["post", "natal", "post", "-", "natal", "posterior", "posture"]),
        ("cafe\u0301 naïve", ["cafe\u0301", "naïve"]),
        (
            "👨\u200d👩\u200d👧 👍🏽 🇩🇪 ❤\ufe0f 1\ufe0f\u20e3",
            ["👨\u200d👩\u200d👧", "👍🏽", "🇩🇪", "❤\ufe0f", "1\ufe0f\u20e3"],
        ),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("שָׁלוֹם", ["שָׁלוֹם"]),
        ("患者头痛 ok", ["患", "者", "头", "痛", "ok"]),
        ("a\u200bb \ufeffc", ["a", "\u200b", "b", "\ufeff", "c"]),
        ("x\u00a0y\tz", ["x", "y", "z"]),
    ],
)
def test_words_are_what_annotators_mark(text: str, expected: list[str]) -> None:
    assert words(text) == expected
