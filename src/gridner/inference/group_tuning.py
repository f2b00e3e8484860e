"""Thresholds, the bonus of gazetteer names and calibration for each group of types of a model of several corpora.

Corpora differ: what is sure on one is doubtful on another, and names help on one and harm on another. After calibration
by group, a score means the same for all types, so one threshold serves them all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridner.config import DecodingConfig, config_from
from gridner.errors import FormatError, UsageError
from gridner.inference.calibration import Calibration

COMMON_THRESHOLDS: tuple[float, ...] = (*np.arange(0.1, 0.701, 0.02).round(2).tolist(),)  # that are tried
KEYS = ("link_threshold", "end_threshold", "name_bonus")


@dataclass(frozen=True, slots=True)
class GroupTuning:
    """How the relations of one group of types become mentions. The fields mean what they mean in `DecodingConfig`."""

    link_threshold: float
    end_threshold: float
    name_bonus: float
    calibration: Calibration = field(default_factory=Calibration)

    @classmethod
    def of(cls, decoding: DecodingConfig, calibration: Calibration | None = None) -> GroupTuning:
        """Return the part of the decoding settings that a group can have for itself."""
        return cls(decoding.link_threshold, decoding.end_threshold, decoding.name_bonus, calibration or Calibration())

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for the manifest of a model."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str) -> GroupTuning:
        """Read what `to_dict` returns. Values are checked as in a settings file."""
        settings = config_from({"decoding": {key: data[key] for key in KEYS}}, where).decoding
        return cls.of(settings, Calibration.from_dict(data["calibration"]))

    def with_changes(self, changes: Mapping[str, Any]) -> GroupTuning:
        """Return the tuning with the decoding settings among `changes` that it has."""
        return replace(self, **{key: changes[key] for key in KEYS if key in changes})


def read_group_tunings(manifest: Mapping[str, Any], where: str) -> tuple[GroupTuning, ...]:
    """Return the tuning of each group of types in the manifest of a model; nothing if all share their settings."""
    groups, tunings = manifest.get("groups", []), manifest.get("group_tunings", [])
    try:
        if tunings and len(tunings) != len(groups):
            raise ValueError(f"{len(tunings)} for {len(groups)} groups")
        return tuple(GroupTuning.from_dict(tuning, where) for tuning in tunings)
    except (TypeError, KeyError, ValueError, UsageError) as error:
        raise FormatError(f"{where}: group_tunings: {error!s:.120}, expected one tuning for each group") from None


@dataclass(frozen=True, slots=True)
class ScoredEntities:
    """The entities that were found in a corpus: their scores, which of them are right, and how many there are."""

    scores: NDArray[np.floating]
    right: NDArray[np.bool_]
    gold: int

    def f1(self, threshold: float) -> float:
        """Return the F1 of the entities whose score exceeds a threshold."""
        found = self.scores > threshold
        right = int(self.right[found].sum())
        return 2 * right / max(1, int(np.count_nonzero(found)) + self.gold)


def common_threshold(corpora: Sequence[ScoredEntities]) -> float:
    """Return the threshold with the best mean F1 over corpora; of equal ones, the highest."""
    return max(COMMON_THRESHOLDS, key=lambda least: (sum(corpus.f1(least) for corpus in corpora), least))
