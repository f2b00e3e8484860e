"""docs/models.md, from what the models say about themselves. Run this file to write the page again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gridner.cli.printing import slice_label
from gridner.inference.checkpoint import ATTRIBUTION, CARD, Checkpoint, read_checkpoint
from gridner.inference.installed_models import DEFAULT_MODEL, OWN_MODELS

PAGE = Path(__file__).parents[2] / "docs" / "models.md"
HEAD = """\
# Models

The models that come with gridner: what they find, how well, and where they fail. `gridner models` lists them, together
with models that other packages bring.

```sh
gridner models
gridner predict "Pain in left arm and shoulder" --model medical
```

[Prediction](prediction.md#choose-a-model) says how to use a model by name, and several at once.

Scores are exact match of type and characters in percent, of the 8-bit files that gridner ships and of one training run.
Each card has further scores and says how the model was made.
"""


def page() -> str:
    """Return the page."""
    folders = sorted(path.parent for path in OWN_MODELS.glob(f"*/{CARD}"))
    folders.sort(key=lambda folder: folder.name != DEFAULT_MODEL)
    return "\n".join([HEAD, *(line for folder in folders for line in _section(folder))])


def _section(folder: Path) -> Iterator[str]:
    checkpoint, _ = read_checkpoint(folder)
    about, link = checkpoint.about, f"../src/gridner/models/{folder.name}"
    yield f"## {folder.name}{', the default model' * (folder.name == DEFAULT_MODEL)}\n"
    megabytes = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
    facts = f"language {about.language}, {megabytes:.0f} MB, licence {about.license}"
    yield f"{about.description}: {facts}. [Card]({link}/{CARD}), [sources]({link}/{ATTRIBUTION}).\n"
    yield "| type | what it is | such as | corpus |\n|---|---|---|---|"
    for one in checkpoint.described_types:
        yield f"| {one.name} | {one.description} | *{one.example}* | {one.corpus} |"
    for part, scores in _scores(checkpoint).items():
        yield f"\n| {part} | P | R | F1 | gold |\n|---|---:|---:|---:|---:|"
        for name, score in scores["exact"].items():
            numbers = " | ".join(f"{100 * score[key]:.1f}" for key in ("precision", "recall", "f1"))
            yield f"| {slice_label(name).strip()} | {numbers} | {score['tp'] + score['fn']:,} |"
    card = (folder / CARD).read_text(encoding="utf-8")
    if fails := re.search(r"^## Where it fails\n+((?:- .*\n(?:  .*\n)*)+)", card, re.MULTILINE):
        yield f"\nWhere it fails:\n\n{fails[1]}"


def _scores(checkpoint: Checkpoint) -> Mapping[str, Any]:
    """Return the scores on test, or on dev if there is no test."""
    scores = checkpoint.training["scores"]
    test = {part: score for part, score in scores.items() if part.startswith("test")}
    return test or scores


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
