"""gridner next and gridner learn, as typed."""

import json
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from gridner import GridnerError, read, write
from gridner.cli import app
from gridner.inference.installed_models import find_model
from gridner.model.trained_model import TrainedModel
from gridner.training import TrainingTask, train_once
from support.small import TEXTS, documents, part, tiny_config


class Done(NamedTuple):
    """What a command printed, and how it ended."""

    returncode: int
    stdout: str
    stderr: str


def gridner(*arguments: object) -> Done:
    """Run a command in this process, which is much faster."""
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    if isinstance(result.exception, GridnerError):
        return Done(2, result.stdout, f"{result.stderr}gridner: {result.exception}\n")
    return Done(result.exit_code, result.stdout, result.stderr)


QUICK = ("--set", "train.epochs=1")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("annotation") / "model"
    config = tiny_config(epochs=20, batch_size=1, rate=1e-2)
    train_once(TrainingTask(config=config, train=part(4), dev=part(4), output=folder, command="…"))
    return folder


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """Plain texts."""
    folder = tmp_path / "notes"
    folder.mkdir()
    for number, text in enumerate(TEXTS):
        (folder / f"note-{number}.txt").write_text(text)
    return folder


def test_what_is_worth_annotating_is_a_list(model: Path, notes: Path, tmp_path: Path) -> None:
    done = gridner("next", notes, "--model", model, "-n", 2)
    assert (done.returncode, done.stderr) == (0, "")
    ids = done.stdout.split()
    assert len(ids) == 2
    assert set(ids) < {f"note-{number}" for number in range(6)}
    lines = gridner("next", notes, "--model", model, "-n", 2, "--json").stdout.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ids
    done = gridner("next", notes, "--model", model, "-n", 2, "--output", tmp_path / "list.ids")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "list.ids").read_text().split() == ids


def test_brat_label_studio_and_json_lines_get_the_same_suggestions(model: Path, notes: Path, tmp_path: Path) -> None:
    found = {}
    for name in ("brat", "tasks.json", "texts.jsonl"):
        done = gridner("next", notes, "--model", model, "-n", 3, "--output", tmp_path / name)
        assert done.returncode == 0, done.stderr
        assert "3 documents" in done.stderr
        found[name] = sorted(read(tmp_path / name), key=lambda document: document.id)
    assert any(document.entities for document in found["brat"])
    assert found["brat"] == found["tasks.json"]
    assert [document.id for document in found["texts.jsonl"]] == [document.id for document in found["brat"]]
    again = gridner("next", notes, "--model", model, "--output", tmp_path / "brat")
    assert again.returncode == 2
    assert "--force" in again.stderr


def test_rounds_of_annotation_with_brat(model: Path, notes: Path, tmp_path: Path) -> None:
    work = tmp_path / "brat"
    assert gridner("next", notes, "--model", model, "-n", 4, "--output", work).returncode == 0
    refused = gridner("learn", "--from", work, "--model", model, "--output", tmp_path / "new")
    assert refused.returncode == 2
    assert "no entities in 0 annotated documents" in refused.stderr
    write(documents(), tmp_path / "gold")
    for ann in sorted(work.glob("*.ann")):
        ann.write_text((tmp_path / "gold" / ann.name).read_text() + "#9\tAnnotatorNotes T1\tchecked\n")
    done = gridner("learn", "--from", work, "--model", model, "--output", tmp_path / "new", *QUICK)
    assert done.returncode == 0, done.stderr
    assert "before" in done.stdout
    assert "after" in done.stdout
    assert "learned from 3 documents, scored on 1 document" in done.stdout
    assert (tmp_path / "new" / "gridner.json").is_file()
    more = gridner("next", work, "--model", tmp_path / "new")
    assert more.returncode == 0
    assert more.stdout == ""
    assert "document that is annotated already" in more.stderr


def test_a_label_studio_export_is_learned_from(model: Path, tmp_path: Path) -> None:
    export_file = tmp_path / "export.json"
    write(documents(), export_file, "labelstudio")
    done = gridner("learn", "--from", export_file, "--model", model, "--output", tmp_path / "new", *QUICK)
    assert done.returncode == 0, done.stderr
    assert "scored on 1 document" in done.stdout
    assert "1 × document that nobody has annotated" in done.stderr  # the one without entities


def test_a_model_is_replaced_only_if_the_new_one_is_no_worse(model: Path, tmp_path: Path) -> None:
    own = tmp_path / "model"
    TrainedModel.load(model).save_pretrained(own)
    wrong = [replace(one, entities=one.entities[:1]) for one in documents()[:4]]
    write(documents()[:4], tmp_path / "right")
    write(wrong, tmp_path / "wrong")
    spoil = ("--set", "train.rate=1", "--set", "train.encoder_rate=1")
    options = ("--model", own, "--output", tmp_path / "new", "--dev", tmp_path / "right", "--replace")
    done = gridner("learn", "--from", tmp_path / "wrong", *options, *QUICK, *spoil)
    assert done.returncode == 1, done.stderr
    assert "was not replaced" in done.stderr
    assert not (tmp_path / "model.old").exists()
    keep = ("--set", "train.rate=1e-12", "--set", "train.encoder_rate=1e-12")
    options = ("--model", own, "--output", tmp_path / "newer", "--dev", tmp_path / "right", "--replace")
    done = gridner("learn", "--from", tmp_path / "right", *options, *QUICK, *keep)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "model.old" / "gridner.json").is_file()
    assert (own / "gridner.json").is_file()
    assert not (tmp_path / "newer").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("next", "nowhere"), "nowhere: not found"),
        (("next", ".", "--to", "brat"), "--to without --output"),
        (("learn", "--from", "nowhere", "--model", ".", "--output", "x"), "nowhere: not found"),
        (("learn", "--from", ".", "--model", "nowhere", "--output", "x", "--format", "brat"), "not a gridner model"),
        (("learn", "--from", ".", "--model", ".", "--output", "x", "--dev", "7"), "--dev 7"),
    ],
)
def test_a_mistake_is_one_line(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = gridner(*(tmp_path if one == "." else one for one in arguments))
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_exported_model_cannot_learn(tmp_path: Path) -> None:
    write(documents(), tmp_path / "gold")
    done = gridner("learn", "--from", tmp_path / "gold", "--model", find_model(), "--output", tmp_path / "new")
    assert done.returncode == 2
    assert "an exported model cannot be trained; give the folder that gridner train wrote" in done.stderr
