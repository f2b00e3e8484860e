import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from gridner.errors import FormatError, GridnerError, Notes
from gridner.inference.checkpoint import MANIFEST, TOKENIZER, WEIGHTS, Checkpoint, read_checkpoint
from gridner.inference.engine import score_sentences
from gridner.model.trained_model import TorchEngine, TrainedModel
from gridner.tagging.tags import TagScheme
from gridner.training.initialization import fresh
from support.small import documents, part, tiny_config


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "model"
    untrained().save_pretrained(folder)
    return folder


@pytest.fixture
def copy(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "model"))


def untrained() -> TrainedModel:
    config = tiny_config()
    start = fresh(config, TagScheme(("Sign",)), part().sentences, seed=3, notes=Notes())
    checkpoint = Checkpoint(
        config=config,
        types=("Sign",),
        language_model=start.language_model,
        max_pieces=start.pieces.max_pieces,
        version="0.1.0",
    )
    return TrainedModel(start.model, checkpoint, start.pieces, "# A card\n")


def test_a_saved_model_gives_identical_scores(saved: Path) -> None:
    torch.manual_seed(0)
    first, second = untrained(), TrainedModel.from_pretrained(saved)
    words = [[word.text for word in sentence.words] for sentence in part().sentences]
    encoded = first.pieces.encode(words)
    one, two = (
        dict(score_sentences(TorchEngine(model.model), model.pieces, encoded, forced=[()] * len(encoded), cells=999))
        for model in (first, second)
    )
    assert all(np.array_equal(one[number].scores, two[number].scores) for number in range(len(encoded)))
    assert first.checkpoint == second.checkpoint
    assert second.card == "# A card\n"
    assert list(first.recognizer().pipe(documents())) == list(second.recognizer().pipe(documents()))


def test_saving_what_was_loaded_gives_the_same_files(saved: Path, tmp_path: Path) -> None:
    TrainedModel.load(saved).save_pretrained(tmp_path / "again")
    assert {path.name: path.read_bytes() for path in saved.iterdir()} == {
        path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()
    }


def test_all_files_can_be_read_by_whom_the_others_can(saved: Path) -> None:
    assert len({path.stat().st_mode for path in saved.iterdir()}) == 1


def test_there_is_nothing_but_json_text_and_tensors(saved: Path) -> None:
    assert {path.name for path in saved.iterdir()} == {MANIFEST, TOKENIZER, WEIGHTS, "README.md"}


def test_decoding_can_be_changed_without_training(saved: Path) -> None:
    assert TrainedModel.load(saved).recognizer(threshold=0.2).decoding.threshold == 0.2


@pytest.mark.parametrize("name", [TOKENIZER, WEIGHTS])
def test_a_missing_file_is_named(copy: Path, name: str) -> None:
    (copy / name).unlink()
    with pytest.raises(FormatError, match=f"{name}: missing"):
        TrainedModel.load(copy)


@pytest.mark.parametrize("name", [TOKENIZER, WEIGHTS])
def test_an_altered_file_is_named(copy: Path, name: str) -> None:
    data = bytearray((copy / name).read_bytes())
    data[-10] ^= 1
    (copy / name).write_bytes(data)
    with pytest.raises(FormatError, match=f"{name}: altered"):
        TrainedModel.load(copy)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": 99, "gridner": "7.0"}, r"format 99 \(written by gridner 7.0\), expected 2"),
        ({"task": "translation"}, "task 'translation', expected discontinuous-ner"),
        ({"types": []}, "types are"),
        ({"types": "Sign"}, "types is 'Sign', expected list"),
        ({"max_pieces": None}, "max_pieces is None"),
        ({"files": {}}, r"files are \[\]"),
        ({"files": {TOKENIZER: 1, WEIGHTS: 2}}, f"{TOKENIZER}: altered"),
        ({"config": {"model": {"widht": 3}}}, "did you mean width"),
        ({"language_model": {"model_type": "nonsense"}}, "nonsense"),
        ({"language_model": {"auto_map": {"AutoModel": "x--y.Z"}}}, "."),
    ],
)
def test_what_is_wrong_is_said_in_one_line(copy: Path, change: dict[str, object], said: str) -> None:
    about = json.loads((copy / MANIFEST).read_text())
    (copy / MANIFEST).write_text(json.dumps(about | change))
    with pytest.raises(GridnerError, match=said) as caught:
        TrainedModel.load(copy)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 1}', "[" * 100_000, "nul\x00"])
def test_nonsense_is_not_a_model(copy: Path, text: str) -> None:
    (copy / MANIFEST).write_text(text)
    with pytest.raises(FormatError, match=MANIFEST):
        read_checkpoint(copy)


def test_weights_of_another_network_are_refused(copy: Path, saved: Path) -> None:
    about = json.loads((saved / MANIFEST).read_text())
    about["config"]["model"]["hidden"] = 9
    (copy / MANIFEST).write_text(json.dumps(about))
    with pytest.raises(FormatError, match=r"predictor.grid_hidden.bias has shape \(8,\), expected \(9,\)"):
        TrainedModel.load(copy)


def test_a_folder_of_models_says_where_they_are(tmp_path: Path) -> None:
    for seed in (1, 2):
        (tmp_path / f"seed-{seed}").mkdir()
        (tmp_path / f"seed-{seed}" / MANIFEST).write_text("{}")
    with pytest.raises(FormatError, match=rf"there are models in it: {tmp_path}/seed-1, {tmp_path}/seed-2\)"):
        TrainedModel.load(tmp_path)


def test_other_folders_are_not_models(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="not a gridner model, expected a folder"):
        TrainedModel.load(tmp_path)
    (tmp_path / "snapshot").mkdir()
    with pytest.raises(FormatError, match="a training run that has not finished"):
        TrainedModel.load(tmp_path)


def test_a_hub_without_network_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(GridnerError, match="no/such-model: cannot be loaded"):
        TrainedModel.from_pretrained("no/such-model", cache_dir=tmp_path, local_files_only=True)


def test_what_is_pushed_to_the_hub_is_the_whole_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Hub:
        def __init__(self, **_: object) -> None:
            pass

        def create_repo(self, repo_id: str, **_: object) -> object:
            return type("Repository", (), {"repo_id": repo_id})

        def upload_folder(self, *, folder_path: Path, **_: object) -> str:
            shutil.copytree(folder_path, tmp_path / "hub")
            return "commit"

    monkeypatch.setattr("huggingface_hub.hub_mixin.HfApi", Hub)
    assert untrained().push_to_hub("me/model") == "commit"
    assert TrainedModel.load(tmp_path / "hub").checkpoint == untrained().checkpoint
    assert {path.name for path in (tmp_path / "hub").iterdir()} == {MANIFEST, TOKENIZER, WEIGHTS, "README.md"}


@pytest.mark.parametrize(
    "found", [3, {}, {"scores": [0, 1]}, {"scores": [0, 1], "right": [1, 0]}, {"scores": ["a"], "right": []}]
)
def test_a_calibration_that_makes_no_sense_is_refused(copy: Path, found: object) -> None:
    about = json.loads((copy / MANIFEST).read_text())
    (copy / MANIFEST).write_text(json.dumps({**about, "calibration": found}))
    with pytest.raises(FormatError, match=r"gridner\.json: .*expected"):
        read_checkpoint(copy)
