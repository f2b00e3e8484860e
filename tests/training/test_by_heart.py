"""The shipped examples can be learned by heart, with the shipped settings of the tiny encoder."""

from pathlib import Path

from gridner.config import read_config
from gridner.corpus.splits import part_of
from gridner.errors import Notes
from gridner.formats import read
from gridner.training import TrainingTask, train_once

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_examples_are_learned_by_heart(tmp_path: Path) -> None:
    config = read_config("tiny", ["train.device=cpu", "train.patience=3"])  # ends once all is learned
    part = part_of(read(EXAMPLES), notes=Notes(), name="train")
    facts = train_once(TrainingTask(config=config, train=part, dev=part, output=tmp_path / "model"))
    exact = facts["scores"]["dev"]["exact"]
    assert exact["all"]["f1"] == 1
    assert exact["discontinuous"]["tp"] > 30
