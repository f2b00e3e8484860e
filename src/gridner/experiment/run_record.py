"""The state of a study: its runs (planned, started, finished, failed) and the systems that others provide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gridner.config import Config
from gridner.experiment.systems import System


@dataclass(slots=True)
class OtherSystems:
    """Systems that the study does not train: predictions or models, by name."""

    paths: Mapping[str, Path] = field(default_factory=dict)
    format: str = "auto"  # of predictions
    scored: dict[str, System] = field(default_factory=dict)


@dataclass(slots=True)
class RunRecord:
    """The runs of a study. A run is called NAME/seed-N after its configuration and its seed."""

    planned: dict[str, Config] = field(default_factory=dict)  # configurations by name
    unnamed: int = 0  # planned configurations whose names depend on the results of others
    started: set[str] = field(default_factory=set)
    finished: set[str] = field(default_factory=set)
    failures: dict[str, str] = field(default_factory=dict)  # run → error message
    has_result: dict[str, bool] = field(default_factory=dict)  # runs and systems of the current experiment

    def total(self, seeds: Sequence[int]) -> int:
        """Return how many runs are planned."""
        return len(seeds) * (len(self.planned) + self.unnamed)

    def remaining(self, seeds: Sequence[int]) -> int:
        """Return how many planned runs have not started and are not finished."""
        runs = {f"{name}/seed-{seed}" for name in self.planned for seed in seeds}
        return len(runs - self.started - self.finished) + len(seeds) * self.unnamed
