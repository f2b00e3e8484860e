"""The model card: data, command, versions and scores, without any text of the corpus."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from gridner.inference.checkpoint import Checkpoint
from gridner.inference.model_description import ModelAbout

VERSIONS = ("gridner", "torch", "transformers", "tokenizers", "numpy")


def versions() -> dict[str, str]:
    """Return the versions that a result may depend on."""
    return {"python": platform.python_version(), **{name: version(name) for name in VERSIONS}}


def kind_of(part: str) -> str:
    """Return train, dev or test for the name of a part, which ends with that of its corpus if there are several."""
    return part.partition("-")[0]


def card_of(checkpoint: Checkpoint) -> str:
    """Return the card of a model, in Markdown with the header of the hub."""
    training, model = checkpoint.training, checkpoint.config.model
    lines = [
        "---",
        "library_name: gridner",
        *(f"{name}: {value}" for name in ("license", "language") if (value := getattr(checkpoint.about, name).lower())),
        "tags: [token-classification, named-entity-recognition, discontinuous-ner]",
        "---",
        "",
        f"# A gridner model: {', '.join(checkpoint.types)}",
        "",
        *([f"{checkpoint.about.description}.", ""] if checkpoint.about.description else []),
        f"Discontinuous named-entity recognition: {model.architecture.upper()} on `{model.encoder}`, "
        f"tags {model.tags}, {f'TREM with {model.rounds} rounds' if model.trem else 'without TREM'}.",
        "",
        *_made(training),
        "",
        *_types(checkpoint),
        "## Data",
        "",
        "| part | documents | sentences | entities | discontinuous | SHA-256 |",
        "|---|---|---|---|---|---|",
    ]
    for name, about in training["data"].items():
        counts = (f"{about[key]:,}" for key in ("documents", "sentences", "entities", "discontinuous"))
        lines.append(f"| {name} | {' | '.join(counts)} | `{about['sha256'][:16]}` |")
    for name, about in training["data"].items():
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in about["types"].items())
        lines += ["", f"Entities of {name} by type: {kinds}."]
    if training.get("distillation"):
        lines += ["", "## Teachers", "", *_teachers(training["distillation"], checkpoint)]
    if checkpoint.groups:
        lines += ["", "## Where the types come from", "", *_origins(checkpoint)]
    if training.get("lexicon"):
        names = ", ".join(f"{kind} {count:,}" for kind, count in training["lexicon"]["names"].items())
        bonus = "a bonus" if checkpoint.group_tunings else f"{checkpoint.config.decoding.name_bonus:g}"
        lines += ["", f"The gazetteer adds {bonus} to the log-odds of the relations of its names: {names}."]
    for name, scores in training["scores"].items():
        lines += ["", f"## Scores on {name}", "", *_table(scores)]
    if training.get("reliability"):
        lines += ["", "## What a score means", "", *_reliability(training["reliability"]["calibrated"])]
    decoding = checkpoint.config.decoding
    has_dev = any(kind_of(name) == "dev" for name in training["scores"])
    if training.get("tuned"):
        lines += [
            "",
            "The second command chose thresholds, names and calibration on these dev documents.",
        ]
    if checkpoint.group_tunings:
        lines += ["", *_group_tunings(checkpoint)]
    elif checkpoint.config.train.tune_thresholds and has_dev:
        lines += [
            "",
            f"Thresholds were chosen on dev: links {decoding.link_threshold}, head and tail {decoding.end_threshold}. "
            "Epoch and thresholds fit dev, so expect lower scores on other corpora.",
        ]
    elif has_dev:
        lines += ["", "The epoch was chosen on dev, so expect lower scores on other corpora."]
    if training["notes"]:
        lines += ["", "## What was left out or changed", ""]
        lines += [f"- {count:,} × {note}" for note, count in training["notes"].items()]
    if training.get("versions"):
        lines += ["", "## Versions", "", ", ".join(f"{name} {number}" for name, number in training["versions"].items())]
    return "\n".join([*lines, ""])


def described(checkpoint: Checkpoint, card: str, about: ModelAbout) -> tuple[Checkpoint, str]:
    """Return a model with a description, and its card: a new one, unless somebody has edited it."""
    changed = replace(checkpoint, about=about)
    is_generated = bool(checkpoint.training) and card == card_of(checkpoint)
    return changed, card_of(changed) if is_generated else card


def _types(checkpoint: Checkpoint) -> list[str]:
    """Return a row for each type, if any is described."""
    if not checkpoint.about.types:
        return []
    lines = ["## What it finds", "", "| type | what it is | such as | corpus |", "|---|---|---|---|"]
    for type in checkpoint.described_types:
        example = f"*{type.example}*" if type.example else ""
        lines.append(f"| {type.name} | {type.description} | {example} | {type.corpus} |")
    return [*lines, ""]


def _made(training: Mapping[str, Any]) -> list[str]:
    """Return how a model was made, as far as that is known."""
    lines = []
    if "seed" in training:
        lines.append(
            f"Trained with seed {training['seed']} for {training['epochs']} epochs in {training['seconds'] / 60:.0f} "
            f"minutes on {training['device']}; the weights are those of epoch {training['best_epoch']}."
        )
    if training.get("tuned"):
        lines += ["", "Then `gridner tune` chose thresholds, names and calibration on the dev documents listed here."]
    commands = [*([training["command"]] if "command" in training else []), *training.get("tuned", [])]
    return [*lines, *(["", "```sh", *commands, "```"] if commands else [])]


def _teachers(about: Mapping[str, Any], checkpoint: Checkpoint) -> list[str]:
    """What the model learned from beside the corpus; none of the text."""
    weight, temperature = checkpoint.config.distill.weight, checkpoint.config.distill.temperature
    return [
        f"Beside the corpus, each step had {about['per_step']:,} of {about['sentences']:,} unlabelled sentences, with "
        f"the mean tag probabilities of the teachers (weight {weight:g}, temperature {temperature:g}).",
        "",
        "| | name | SHA-256 |",
        "|---|---|---|",
        *(f"| teacher | {source['name']} | `{source['sha256'][:16]}` |" for source in about["teachers"]),
        *(f"| text | {source['name']} | `{source['sha256'][:16]}` |" for source in about["text"]),
    ]


def _origins(checkpoint: Checkpoint) -> list[str]:
    """Return a row for each of several corpora: the types that it annotates, and how often an epoch saw it."""
    lines = [
        "The model learned from each corpus only the types that it annotates, and is scored there on these types.",
        "",
        "| corpus | weight | types |",
        "|---|---|---|",
    ]
    for group in checkpoint.groups:
        about = checkpoint.training["data"].get(f"train-{group.name}", {})
        counts = about.get("types", {})
        types = ", ".join(f"{name} {counts[name]:,}" if name in counts else name for name in group.types)
        lines.append(f"| {group.name} | {checkpoint.training.get('weights', {}).get(group.name, 1):g} | {types} |")
    return lines


def _group_tunings(checkpoint: Checkpoint) -> list[str]:
    """Return a row for each group of types: its thresholds and the bonus of its names."""
    lines = [
        "Each corpus has thresholds and a calibration of its own, chosen on its dev documents. They fit dev, so expect "
        f"lower scores on other corpora. The threshold for all types is {checkpoint.config.decoding.threshold:g}.",
        "",
        "| corpus | links | head and tail | names |",
        "|---|---|---|---|",
    ]
    for group, tuning in zip(checkpoint.groups, checkpoint.group_tunings, strict=True):
        lines.append(f"| {group.name} | {tuning.link_threshold:g} | {tuning.end_threshold:g} | {tuning.name_bonus:g} |")
    return lines


def _reliability(rows: list[dict[str, float]]) -> list[str]:
    head = "A score is a probability: of the dev entities with a score near 0.8, about 80 % are right."
    lines = [head, "", "| score | entities | mean score | right |", "|---|---|---|---|"]
    for row in rows:
        numbers = f"{row['count']:,} | {row['score']:.2f} | {row['right']:.2f}"
        lines.append(f"| {row['low']:.1f}–{row['high']:.1f} | {numbers} |")
    return lines


def _table(scores: Mapping[str, Any]) -> list[str]:
    rows = ["| exact match | P | R | F1 | gold |", "|---|---|---|---|---|"]
    for name, score in scores["exact"].items():
        numbers = (f"{100 * score[key]:.2f}" for key in ("precision", "recall", "f1"))
        rows.append(f"| {name} | {' | '.join(numbers)} | {score['tp'] + score['fn']:,} |")
    return rows
