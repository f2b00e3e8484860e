"""What is looked at after each epoch: TREM's feedback is alive, and candidates are chosen on dev."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from gridner.config import Config, config_from
from gridner.errors import Notes
from gridner.model.toe import Toe
from gridner.model.trained_model import TorchEngine, TrainedModel
from gridner.model.trem import Residual
from gridner.tagging.tags import TagScheme
from gridner.training import TrainingTask, train_once
from gridner.training.diagnostics import tune_candidate_offset
from gridner.training.examples import Example, examples_of
from gridner.training.initialization import Start, fresh
from support.small import part, tiny_config


def config(**model: object) -> Config:
    data = tiny_config(epochs=3).to_dict()
    data["model"] |= {"rounds": 3, **model}
    return config_from(data, "tests")


def log(folder: Path) -> list[dict[str, str]]:
    with open(folder / "log.csv", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(("residual", "alive"), [("words", True), ("tags", False)])
def test_words_of_later_rounds_differ_from_each_other(tmp_path: Path, residual: Residual, alive: bool) -> None:
    """With the residual on the tags they become nearly one vector: what this test is to catch."""
    train_once(
        TrainingTask(config=config(residual=residual, width=64), train=part(), dev=part(), output=tmp_path / "m")
    )
    row = log(tmp_path / "m")[-1]
    first, *later = (float(row[f"variance round {number}"]) for number in (1, 2, 3))
    assert (min(later) >= first / 2) == alive
    assert (min(float(row["entropy tags"]), float(row["entropy words"])) > 0.05) or not alive


def started(config: Config) -> tuple[Start, list[Example]]:
    start = fresh(config, TagScheme(part().types), part().sentences, seed=1, notes=Notes())
    sentences = [sentence for sentence in part().sentences if sentence.mentions]
    return start, examples_of(sentences, pieces=start.pieces, settings=config.decoding, notes=Notes())


@pytest.mark.parametrize("recall", [0.5, 0.8, 1.0])
def test_as_many_entity_words_are_candidates_as_asked_for(recall: float) -> None:
    start, examples = started(config(candidates=True))
    model: Toe = start.model
    assert model.candidates is not None
    found = tune_candidate_offset(model, model.candidates, examples, start.pieces, recall)
    counted = total = 0
    for example in examples:
        excess = TorchEngine(model).encode(start.pieces.collate([example.words])).excess[0]
        gold = {word for mention in example.mentions for word in mention.words}
        counted, total = counted + sum(excess[word] > 0 for word in gold), total + len(gold)
    assert counted / total == pytest.approx(found["candidate recall"])
    assert found["candidate recall"] >= recall
    assert found["candidate cells"] <= 1
    if recall < 1:
        assert found["candidate words"] < 1


def test_a_network_learns_with_candidates_and_keeps_what_was_chosen(tmp_path: Path) -> None:
    settings = config(candidates=True)
    settings = replace(settings, train=replace(settings.train, epochs=4))
    train_once(TrainingTask(config=settings, train=part(), dev=part(), output=tmp_path / "m"))
    row = log(tmp_path / "m")[-1]
    assert float(row["candidate recall"]) == 1  # 0.998 of few words is all
    assert float(row["loss"]) < float(log(tmp_path / "m")[0]["loss"])
    head = TrainedModel.load(tmp_path / "m").model.candidates
    assert head is not None
    assert not torch.equal(head.offset, type(head)(width=2).offset)
