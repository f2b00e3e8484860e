"""gridner tune, as typed."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gridner import evaluate, read, write
from gridner.export.onnx import export
from gridner.inference.calibration import Calibration
from gridner.inference.checkpoint import EXPORTED, read_checkpoint
from gridner.inference.loading import load
from gridner.model.trained_model import TrainedModel
from gridner.training import TrainingTask, train_once
from support.command import gridner
from support.small import documents, part, tiny_config


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Exported after a short training, with names, and with settings that suit nothing."""
    folder = tmp_path_factory.mktemp("tuned")
    config = tiny_config(tune_thresholds=False, calibrate=False)
    task = TrainingTask(
        config=config, train=part(), dev=part(), output=folder / "m", command="gridner train …", own_names=True
    )
    train_once(task, seed=1)
    trained = TrainedModel.load(folder / "m")
    decoding = replace(config.decoding, link_threshold=0.95, end_threshold=0.95, name_bonus=0.1)
    config = replace(trained.checkpoint.config, decoding=decoding)
    trained.checkpoint = replace(trained.checkpoint, config=config)
    export(trained, folder / "exported")
    return folder / "exported"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    write(documents(), tmp_path / "corpus")
    return tmp_path / "corpus"


def f1(model: Path, corpus: Path) -> float:
    gold = list(read(corpus))
    return evaluate(gold, load(model).pipe(gold)).score().f1


def test_a_model_is_suited_to_a_corpus(model: Path, corpus: Path, tmp_path: Path) -> None:
    done = gridner("tune", "--model", model, "--dev", corpus, "--output", tmp_path / "new")
    assert done.returncode == 0, done.stderr
    assert "after" in done.stdout
    assert f1(tmp_path / "new", corpus) > f1(model, corpus)
    for name in EXPORTED:
        assert (tmp_path / "new" / name).read_bytes() == (model / name).read_bytes()
    (old, _), (new, _) = read_checkpoint(model), read_checkpoint(tmp_path / "new")
    assert new.calibration == Calibration()  # as is said
    assert "too few entities found on dev to calibrate scores" in done.stderr
    assert new.lexicon == old.lexicon
    assert replace(new.config, decoding=old.config.decoding, train=old.config.train) == old.config
    card = (tmp_path / "new" / "README.md").read_text()
    assert "gridner train …" in card
    assert "gridner tune --model" in card
    answers = [json.loads(line) for line in (tmp_path / "new" / "dev.jsonl").read_text().splitlines()]
    assert [len(one["entities"]) for one in answers] == [
        len(document.entities) for document in load(tmp_path / "new").pipe(documents())
    ]
    for _ in range(2):
        again = gridner("tune", "--model", tmp_path / "new", "--dev", corpus, "--output", tmp_path / "again", "--force")
        assert again.returncode == 0, again.stderr
    assert read_checkpoint(tmp_path / "again")[0].config == new.config  # where it started from does not matter
    assert (tmp_path / "again" / "README.md").read_text().count("gridner tune --model") == 2


def test_names_are_added_or_left_out(model: Path, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "names.tsv").write_text("Sign\tbrand new ache\n")
    own = set(map(str, read_checkpoint(model)[0].lexicon))
    for given, expected in (("none", set()), (tmp_path / "names.tsv", own | {str(("Sign", ["brand", "new", "ache"]))})):
        output = tmp_path / f"with-{Path(given).stem}"
        done = gridner("tune", "--model", model, "--dev", corpus, "--output", output, "--lexicon", given)
        assert done.returncode == 0, done.stderr
        checkpoint, _ = read_checkpoint(output)
        assert set(map(str, checkpoint.lexicon)) == expected
        assert (output / "names.tsv").exists() == bool(expected)
    text = "A brand new ache."
    without = tmp_path / "with-none"
    assert load(without, lexicon=tmp_path / "names.tsv").decoding.name_bonus  # names that are given later count
    assert load(tmp_path / "with-names")(text).entities


def test_many_documents_give_scores_a_meaning(model: Path, tmp_path: Path) -> None:
    many = [replace(document, id=f"{n}-{document.id}") for n in range(12) for document in documents()]
    write(many, tmp_path / "many.jsonl")
    done = gridner("tune", "--model", model, "--dev", tmp_path / "many.jsonl", "--output", tmp_path / "new")
    assert done.returncode == 0, done.stderr
    assert "too few" not in done.stderr
    assert read_checkpoint(tmp_path / "new")[0].calibration != Calibration()
    assert "## What a score means" in (tmp_path / "new" / "README.md").read_text()


def test_bad_input_is_said_in_a_line(model: Path, corpus: Path, tmp_path: Path) -> None:
    plain = [replace(document, entities=()) for document in documents()]
    write(plain, tmp_path / "plain")
    other = [
        replace(document, entities=tuple(replace(entity, type="Gene") for entity in document.entities))
        for document in documents()
    ]
    write(other, tmp_path / "other")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("dear")
    for dev, output, said in (
        (tmp_path / "plain", tmp_path / "o", "no entities"),
        (tmp_path / "other", tmp_path / "o", "entities of Gene, expected those of Sign"),
        (tmp_path / "none", tmp_path / "o", "not found"),
        (corpus, tmp_path / "full", "exists already"),
        (corpus, model, "exists already"),
    ):
        done = gridner("tune", "--model", model, "--dev", dev, "--output", output)
        assert done.returncode == 2
        assert said in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
    done = gridner("tune", "--model", model, "--dev", corpus, "--output", model, "--force")
    assert done.returncode == 2
    assert "the model itself" in done.stderr
    assert (tmp_path / "full" / "letter.txt").read_text() == "dear"


def test_names_of_a_corpus_and_scores_on_test(model: Path, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "names.tsv").write_text("Sign\ttoday\nSign\tbrand new ache\n")  # the corpus leaves "today" unannotated
    done = gridner(
        "tune", "--model", model, "--dev", f"a={corpus}", "--dev", f"b={corpus}", "--test", corpus,
        "--lexicon", tmp_path / "names.tsv", "--names-from", corpus, "--output", tmp_path / "new",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for row in ("dev-a, before", "dev-a, after", "dev-b, before", "dev-b, after", "test "):
        assert row in done.stdout
    assert "1 × lexicon: name that the corpus mostly leaves unmarked, left out" in done.stderr
    checkpoint, _ = read_checkpoint(tmp_path / "new")
    names = {" ".join(name) for _, name in checkpoint.lexicon}
    assert {"brand new ache", "nausea"} <= names
    assert "today" not in names
    assert set(checkpoint.training["scores"]) == {"dev-a", "dev-b", "test"}
    assert (tmp_path / "new" / "test.jsonl").read_text() == (tmp_path / "new" / "dev-a.jsonl").read_text()


def test_two_corpora_of_one_name_are_refused(model: Path, corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "new"
    done = gridner("tune", "--model", model, "--dev", f"a={corpus}", "--dev", f"a={corpus}", "--output", output)
    assert done.returncode == 2
    assert "--dev a=…: two of this name" in done.stderr
    assert not output.exists()
