"""A small training, and who watches it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from safetensors.numpy import load_file

from gridner.inference.checkpoint import WEIGHTS
from gridner.training import TrainingTask
from gridner.training.snapshot import State
from support.small import part, tiny_config


@dataclass
class Watch:
    """Remembers the losses and does something at a step."""

    at: int = -1
    then: Callable[[], object] = lambda: None
    losses: list[float] = field(default_factory=list)
    began: int = -1

    def begin(self, state: State, steps: int) -> None:
        self.began = state.epoch * steps + state.step

    def step(self, state: State, steps: int, loss: float) -> None:
        self.losses.append(loss)
        if len(self.losses) == self.at:
            self.then()

    def epoch(self, state: State) -> None:
        pass


def task(output: Path, **settings: object) -> TrainingTask:
    return TrainingTask(
        config=tiny_config(**settings), train=part(), dev=part(), output=output, command="gridner train …"
    )


def weights(folder: Path) -> dict[str, bytes]:
    return {name: tensor.tobytes() for name, tensor in load_file(folder / WEIGHTS).items()}
