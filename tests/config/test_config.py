import re
from dataclasses import FrozenInstanceError
from importlib import resources
from pathlib import Path

import pytest

from gridner import UsageError
from gridner.config import Config, config_from, read_config


def test_what_is_not_said_has_its_default() -> None:
    config = config_from({"model": {"rounds": 2}}, "here")
    assert config.model.rounds == 2
    assert config.model.channels == Config().model.channels
    assert config.train == Config().train


def test_settings_survive_the_way_to_plain_data_and_back() -> None:
    config = config_from({"model": {"dilations": [1, 2], "tags": "NNW+THW"}, "train": {"rate": 1}}, "here")
    assert config_from(config.to_dict(), "there") == config


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Config().train.epochs = 3  # type: ignore[misc]


def test_everything_that_is_wrong_is_said_at_once_with_hints() -> None:
    data = {
        "modle": {},
        "model": {"round": 2, "width": "wide", "tags": "NNW", "dilations": [1.5], "trem": 1},
        "train": {"epochs": 1.5, "rate": "fast"},
        "decoding": 3,
    }
    with pytest.raises(UsageError) as caught:
        config_from(data, "my.toml")
    said = str(caught.value)
    assert said.startswith("my.toml: ")
    for part in (
        "[modle] is unknown; did you mean model?",
        "model.round is unknown; did you mean rounds?",
        "model.width is 'wide', expected an integer",
        "model.tags is 'NNW', expected one of NNW+PNW+HTW+THW, NNW+THW, PNW+HTW",
        "model.dilations is [1.5], expected a list of integers",
        "model.trem is 1, expected true or false",
        "train.epochs is 1.5, expected an integer",
        "train.rate is 'fast', expected a number",
        "decoding is 3, expected a section [decoding]",
    ):
        assert part in said


def test_impossible_values_are_said_beside_unknown_ones() -> None:
    with pytest.raises(UsageError) as caught:
        config_from({"train": {"epoch": 5, "batch_size": 0}, "model": {"width": 7}}, "my.toml")
    for part in ("train.epoch is unknown", "train.batch_size is 0", "model.width is 7"):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("section", "values", "said"),
    [
        ("model", {"heads": 7}, "expected a divisor of model.width"),
        ("model", {"width": 33, "heads": 1}, "expected an even number"),
        ("model", {"word_dropout": 1.0}, "expected 0 to 0.99"),
        ("model", {"architecture": "w2ner"}, "which has none"),
        ("model", {"architecture": "w2ner", "trem": False}, "expected NNW+THW"),
        ("model", {"rounds": 0}, "expected at least 1"),
        ("decoding", {"threshold": 1.0}, "expected at least 0 and less than 1"),
        ("decoding", {"overlap": -1}, "expected at least 0"),
        ("train", {"rate": 10**400}, "expected a finite number"),
        ("decoding", {"overlap": 200}, "expected less than decoding.max_words"),
        ("train", {"epochs": 0}, "expected at least 1"),
        ("train", {"empty_share": 1.5}, "expected 0 to 1"),
    ],
)
def test_values_that_make_no_sense_are_refused(section: str, values: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        config_from({section: values}, "here")


def test_a_file_is_read_and_changed_by_settings(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text('[train]\nepochs = 3\n[model]\nencoder = "a/b"\n')
    config = read_config(path, ["train.epochs=5", "train.rate=1e-4", "model.encoder=roberta-base", "model.trem=false"])
    assert (config.train.epochs, config.train.rate) == (5, 1e-4)
    assert (config.model.encoder, config.model.trem) == ("roberta-base", False)


@pytest.mark.parametrize("setting", ["epochs=5", "train.epochs", "=5", "train.=5"])
def test_a_setting_has_a_section_a_key_and_a_value(tmp_path: Path, setting: str) -> None:
    (tmp_path / "my.toml").write_text("")
    with pytest.raises(UsageError, match=r"expected section\.key=value"):
        read_config(tmp_path / "my.toml", [setting])


def test_a_file_that_is_not_toml_or_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("[train\n")
    with pytest.raises(UsageError, match=r"bad\.toml: .*expected TOML"):
        read_config(tmp_path / "bad.toml")
    with pytest.raises(UsageError, match="not found"):
        read_config(tmp_path / "none.toml")


def shipped() -> list[str]:
    return sorted(file.name for file in (resources.files("gridner.config") / "presets").iterdir())


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_configuration_can_be_read_by_its_name(name: str) -> None:
    assert read_config(name) == read_config(name.removesuffix(".toml"))


def test_the_configuration_for_a_first_try_needs_no_pretrained_model() -> None:
    assert "tiny.toml" in shipped()
    assert read_config("tiny").model.encoder == "tiny"


def test_toe_is_craft_with_trem() -> None:
    assert read_config("toe").model.trem
    assert read_config("toe", ["model.trem=false"]) == read_config("craft")


def test_the_papers_configurations_have_the_papers_values() -> None:
    for name in ("cadec", "share13", "share14"):
        config = read_config(name)
        assert (config.model.width, config.model.distance_width, config.model.region_width) == (768, 20, 20)
        assert config.model.channels in (64, 80, 96, 128)
        assert config.model.grid_dropout in (0.1, 0.3, 0.5)
        assert (config.model.rounds, config.train.encoder_rate, config.train.rate) == (3, 5e-6, 1e-3)
        assert config.train.batch_size in (12, 16)
        assert config.train.warmup in (0, 0.1, 0.4)
