"""What models say about themselves and their types."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridner.errors import FormatError, UsageError
from gridner.inference.checkpoint import MANIFEST, read_checkpoint, read_types, write_about
from gridner.inference.model_card import card_of, described
from gridner.inference.model_description import MAX_CHARACTERS, ModelAbout, TypeAbout, about_from, read_about
from gridner.inference.model_info import describe_model
from support.untrained import TYPES, untrained

SIGN = TypeAbout("Sign", "what a nurse sees", "pain in … shoulder", "notes")
ABOUT = ModelAbout("Drugs and signs in notes", "en", "CC0-1.0", (SIGN,))
LINES = st.text(st.characters(exclude_categories=["C", "Z"]), max_size=20)
TRAINING: dict[str, dict[str, object]] = {"data": {}, "scores": {}, "notes": {}}


@given(
    st.builds(ModelAbout, LINES, LINES, LINES, st.tuples(st.builds(TypeAbout, st.just("Sign"), LINES, LINES, LINES)))
)
def test_a_description_survives_files_and_plain_data(about: ModelAbout) -> None:
    assert about_from(about.to_dict(), "tests", TYPES) == about


def test_a_printed_description_can_be_read(tmp_path: Path) -> None:
    odd = replace(ABOUT, types=(replace(SIGN, example='"C:\\temp" … “x”'),))
    (tmp_path / "about.toml").write_text(odd.to_toml(), encoding="utf-8")
    assert read_about(tmp_path / "about.toml", TYPES) == odd


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[types.Cell]", "type 'Cell', expected those of the model: Drug, Sign"),
        ("[types.Sign]\nexamples = ''", "types.Sign: 'examples' is unknown, expected description, example, corpus"),
        ("licence = 'MIT'", "'licence' is unknown, expected description, language, license"),
        ("language = 3", "language is 3, expected one line"),
        (f"description = '{'x' * (MAX_CHARACTERS + 1)}'", f"at most {MAX_CHARACTERS} characters"),
        ('description = "a\\nb"', "expected one line"),
        ("types = ['Sign']", "types is \\['Sign'\\], expected a table"),
        ("description: text", "write it in TOML"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "about.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=said):
        read_about(tmp_path / "about.toml", TYPES)


def test_a_model_keeps_its_description(tmp_path: Path) -> None:
    model = untrained("toe")
    model.checkpoint = replace(model.checkpoint, about=ABOUT)
    model.save_pretrained(tmp_path)
    checkpoint, _ = read_checkpoint(tmp_path)
    assert checkpoint.about == ABOUT
    assert checkpoint.described_types == read_types(tmp_path) == (TypeAbout("Drug"), SIGN)
    facts = describe_model(tmp_path)
    assert (facts["description"], facts["language"], facts["license"]) == (ABOUT.description, "en", "CC0-1.0")
    assert [one["example"] for one in facts["types"]] == ["", "pain in … shoulder"]


def test_describing_a_model_changes_nothing_else(tmp_path: Path) -> None:
    untrained("toe").save_pretrained(tmp_path)
    before, others = json.loads((tmp_path / MANIFEST).read_bytes()), _others(tmp_path)
    write_about(tmp_path, replace(ABOUT, language="de"))
    write_about(tmp_path, ABOUT)
    after = json.loads((tmp_path / MANIFEST).read_bytes())
    assert after.pop("about") == ABOUT.to_dict()
    assert list(after.items()) == list(before.items())
    assert _others(tmp_path) == others
    assert read_checkpoint(tmp_path)[0].about == ABOUT


def _others(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != MANIFEST}


def test_a_description_that_does_not_suit_the_model_is_refused(tmp_path: Path) -> None:
    untrained("toe").save_pretrained(tmp_path)
    write_about(tmp_path, ModelAbout(types=(TypeAbout("Cell", "not a type of this model"),)))
    with pytest.raises(FormatError, match=r"gridner.json: about: type 'Cell', expected those of the model"):
        read_checkpoint(tmp_path)


def test_types_come_from_the_corpora_of_their_groups_unless_they_say_otherwise() -> None:
    checkpoint = replace(untrained("groups").checkpoint, about=ABOUT)
    drug, sign = checkpoint.described_types
    assert (drug.corpus, sign.corpus) == ("a", "notes")
    assert untrained("groups").checkpoint.described_types[1].corpus == "a, b"


def test_a_generated_card_is_renewed_and_an_edited_one_is_kept() -> None:
    checkpoint = replace(untrained("toe").checkpoint, training=TRAINING)
    changed, card = described(checkpoint, card_of(checkpoint), ABOUT)
    assert changed.about == ABOUT
    assert "| Sign | what a nurse sees | *pain in … shoulder* | notes |" in card
    assert "license: cc0-1.0" in card.splitlines()
    assert described(checkpoint, "# By hand\n", ABOUT)[1] == "# By hand\n"


def test_a_type_as_people_read_it() -> None:
    assert str(SIGN) == "Sign: what a nurse sees, such as “pain in … shoulder”"
    assert str(TypeAbout("Sign", example="pain")) == "Sign: such as “pain”"
    assert str(TypeAbout("Sign")) == "Sign"
