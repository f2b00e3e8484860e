"""Learning from corrections."""

from dataclasses import replace
from pathlib import Path

import pytest

from gridner import Document, Entity, Fragment, Notes, UsageError
from gridner.inference.checkpoint import read_checkpoint
from gridner.inference.installed_models import find_model
from gridner.model.trained_model import TrainedModel
from gridner.training import TrainingTask, learn, train_once
from gridner.training.corrections import replace_model
from support.small import documents, part, tiny_config


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("learning") / "model"
    train_once(TrainingTask(config=tiny_config(epochs=1), train=part(3), dev=part(3), output=folder, command="…"))
    return folder


def drug(document: Document) -> Document:
    """The same with an entity of another type."""
    return replace(document, entities=(*document.entities, Entity("Drug", (Fragment(0, 4),))))


def test_a_model_learns_what_annotators_corrected(model: Path, tmp_path: Path) -> None:
    gold = documents()
    settings = (
        "train.epochs=30",
        "train.batch_size=1",
        "train.rate=0.01",
        "train.encoder_rate=0.001",
        "train.patience=0",
    )
    learned = learn(gold, model=model, output=tmp_path / "new", dev=iter(gold), settings=settings)
    assert learned.after.score().f1 > learned.before.score().f1 + 0.2
    assert learned.improved
    checkpoint, _ = read_checkpoint(tmp_path / "new")
    assert checkpoint.training["scores"]["dev"]["exact"]["all"]["f1"] == pytest.approx(learned.after.score().f1)


def test_part_of_the_corrections_is_dev_and_rates_are_lower(model: Path, tmp_path: Path) -> None:
    learned = learn(documents(), model=model, output=tmp_path / "new", dev=0.4, settings=["train.epochs=1"])
    assert (len(learned.train.documents), len(learned.dev.documents)) == (4, 2)
    before, after = (read_checkpoint(folder)[0].config.train for folder in (model, tmp_path / "new"))
    assert after.rate == pytest.approx(0.3 * before.rate)
    assert after.encoder_rate == pytest.approx(0.3 * before.encoder_rate)
    assert after.epochs == 1


def test_types_that_the_corrections_lack_stay_and_new_ones_come(model: Path, tmp_path: Path) -> None:
    some = [
        replace(one, entities=tuple(replace(entity, type="Drug") for entity in one.entities)) for one in documents()
    ]
    learn(some, model=model, output=tmp_path / "new", settings=["train.epochs=1"])
    assert read_checkpoint(tmp_path / "new")[0].types == ("Drug", "Sign")


def test_old_documents_are_rehearsed_unless_they_were_corrected(model: Path, tmp_path: Path) -> None:
    notes = Notes()
    gold = documents()
    old = [Document(f"old-{one.id}", f"{one.text} So.", one.entities) for one in gold]
    learned = learn(
        gold[:2],
        model=model,
        output=tmp_path / "new",
        dev=gold[:1],
        rehearse=[*old, gold[0]],
        settings=["train.epochs=1"],
        notes=notes,
    )
    ids = {document.id for document in learned.train.documents}
    assert {"note-0", "note-1"} < ids
    assert any(name.startswith("old-") for name in ids)
    assert notes["rehearsed document that is among the corrections or in dev, left out"] == 1


def test_the_threshold_of_a_calibrated_model_is_not_taken_for_a_raw_one(model: Path, tmp_path: Path) -> None:
    trained = TrainedModel.load(model)
    odd = replace(trained.checkpoint.calibration, score_odds=(-1.0, 1.0), right_odds=(-3.0, -1.0))
    decoding = replace(trained.checkpoint.config.decoding, threshold=odd(0.5))
    config = replace(trained.checkpoint.config, decoding=decoding)
    trained.checkpoint = replace(trained.checkpoint, calibration=odd, config=config)
    trained.save_pretrained(tmp_path / "calibrated")
    learn(
        documents(),
        model=tmp_path / "calibrated",
        output=tmp_path / "new",
        settings=["train.epochs=1", "train.calibrate=false"],
    )
    assert read_checkpoint(tmp_path / "new")[0].config.decoding.threshold == pytest.approx(0.5)


def test_what_cannot_be_learned_is_one_line(model: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="an exported model cannot be trained; give the folder that gridner train"):
        learn(documents(), model=find_model(), output=tmp_path / "new")
    with pytest.raises(UsageError, match="no entities in 0 annotated documents"):
        learn([], model=model, output=tmp_path / "new")
    with pytest.raises(UsageError, match="no entities of Drug, which the corrections have"):
        learn(map(drug, documents()), model=model, output=tmp_path / "new", rehearse=documents())
    with pytest.raises(UsageError, match=r"train\.epoch is unknown"):
        learn(documents(), model=model, output=tmp_path / "new", settings=["train.epoch=1"])
    assert not (tmp_path / "new").exists()


def test_a_model_that_is_replaced_is_kept(tmp_path: Path) -> None:
    for name in ("model", "new", "model.old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "name").write_text(name)
    kept = replace_model(tmp_path / "model", tmp_path / "new")
    assert kept == tmp_path / "model.old-2"
    found = {path.name: (path / "name").read_text() for path in tmp_path.iterdir()}
    assert found == {"model": "new", "model.old": "model.old", "model.old-2": "model"}
