"""Changes of settings that an experiment tries: the rows of Table 4, the sets of Table 2, and the W2NER baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from gridner.config import Config, config_from
from gridner.errors import UsageError

Changes = Mapping[str, Any]  # "section.key" → value
MODES = {"t": "T", "l": "L"}


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table: its label, and what it changes in the settings. Some change the decoding alone."""

    label: str
    changes: Changes
    trains: bool = True

    def of(self, config: Config) -> Config:
        """The settings of the row."""
        return changed(config, self.changes)


def changed(config: Config, changes: Changes) -> Config:
    """Settings with some of them changed, checked as a whole."""
    data = config.to_dict()
    for path, value in changes.items():
        section, key = path.split(".")
        data[section][key] = value
    return config_from(data, ", ".join(f"{path}={value}" for path, value in changes.items()) or "settings")


def w2ner_of(config: Config) -> Config:
    """The W2NER preset with the encoder, the widths and the training of other settings."""
    model = replace(config.model, architecture="w2ner", tags="NNW+THW", trem=False, dilations=(1, 2, 3))
    return replace(config, model=model)


ABLATION: dict[str, Row] = {
    "best": Row("as the settings have it", {}),
    "without-trem": Row("without TREM", {"model.trem": False}),
    **{f"rounds-{count}": Row(f"rounds = {count}", {"model.rounds": count}) for count in (1, 2, 3, 4)},
    "nnw-thw": Row("NNW+THW", {"model.tags": "NNW+THW"}),
    "pnw-htw": Row("PNW+HTW", {"model.tags": "PNW+HTW"}),
    "without-trem-nnw-thw": Row("without TREM, NNW+THW", {"model.trem": False, "model.tags": "NNW+THW"}),
    **{
        f"links-{links}-ends-{ends}": Row(
            f"{MODES[links]}(NNW,PNW), {MODES[ends]}(THW,HTW)",
            {"decoding.links": MODES[links], "decoding.ends": MODES[ends]},
            trains=False,
        )
        for links, ends in product("tl", "tl")
    },
    **{f"maps-{count}": Row(f"M_num = {count}", {"model.maps": count}) for count in (2, 4, 6, 8)},
    "thresholds-fixed": Row("thresholds of 0.5, not chosen on dev", {"train.tune_thresholds": False}, trains=False),
    "k-1": Row("k = 1, one mention a head–tail cell", {"decoding.k": 1}, trains=False),
}

# Table 2 gives sets; each is tried in turn. The dropout is that of words and grid.
SEARCH: dict[str, dict[str, Changes]] = {
    "d_q": {f"d_q-{value}": {"model.channels": value} for value in (64, 80, 96, 128)},
    "dropout": {
        f"dropout-{value}": {"model.word_dropout": value, "model.grid_dropout": value} for value in (0.1, 0.3, 0.5)
    },
    "batch": {f"batch-{value}": {"train.batch_size": value} for value in (12, 16)},
    "warm": {f"warm-{value:g}": {"train.warmup": value} for value in (0.0, 0.1, 0.4)},
}


def ablation_rows(config: Config) -> dict[str, Row]:
    """The rows that differ from the settings, after the settings themselves."""
    if config.model.architecture != "toe":
        raise UsageError(f"architecture {config.model.architecture}, expected settings of toe to leave things out of")
    return {name: row for name, row in ABLATION.items() if name == "best" or row.of(config) != config}


def chosen(names: Sequence[str], wanted: Sequence[str] | None) -> list[str]:
    """Those of the names that are wanted, in their own order; all without a wish."""
    found = [name for name in names if wanted is None or name in wanted]
    if wanted is not None and not found:
        raise UsageError(f"--rows {','.join(wanted)}, expected some of {', '.join(names)}")
    return found
