"""The card and the curve of a pretraining: sources by name and hash, settings, perplexities; none of the text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gridner.view.duration import duration


def pretraining_card(facts: Mapping[str, Any]) -> str:
    """The card, in Markdown with the hub's header."""
    settings, history = facts["settings"], facts["history"]
    first, last = history[0], history[-1]
    lines = [
        "---",
        "library_name: transformers",
        "tags: [fill-mask]",
        "---",
        "",
        f"# {Path(facts['encoder']).name}, pretrained further",
        "",
        f"`{facts['encoder']}` after {facts['steps']:,} steps of masked-language-model training "
        f"({facts['rows']:,} rows of {settings['length']} pieces, {facts['epochs']:.2f} passes) "
        f"in {duration(facts['seconds'])} on {facts['device']}. "
        f"{'The head started fresh, tied to the embeddings.' if facts['fresh_head'] else 'The head is its own.'}",
        "",
        f"Perplexity of held-out text ({facts['held_out_rows']:,} rows, {100 * settings['mask']:g} % of words hidden): "
        f"{first['perplexity']:.2f} before, {last['perplexity']:.2f} after.",
        "",
        "Use it with `gridner train … --set model.encoder=FOLDER`.",
        "",
        *(["```sh", facts["command"], "```", ""] if facts["command"] else []),
        "## Text",
        "",
        "| source | lines | pieces | weight | perplexity before | after | SHA-256 |",
        "|---|---|---|---|---|---|---|",
    ]
    for source in facts["sources"]:
        key = f"perplexity {source['number']}"
        scores = (f"{row[key]:.2f}" if key in row else "" for row in (first, last))
        lines.append(
            f"| {source['name']} | {source['lines']:,} | {source['pieces']:,} | {source['weight']:g} | "
            f"{' | '.join(scores)} | `{source['sha256'][:16]}` |"
        )
    unknown = 100 * facts["unknown"] / max(1, facts["pieces"])
    each = facts["pieces"] / max(1, facts["words"])
    lines += ["", f"A word has {each:.2f} pieces; {unknown:.2f} % of the pieces are unknown to the vocabulary."]
    if facts["new_pieces"]:
        lines += [f"{facts['new_pieces']:,} frequent words of the text are new pieces of the vocabulary."]
    if facts["licences"]:
        lines += ["", "## Licences", "", *(f"- {note}" for note in facts["licences"])]
    lines += [
        "",
        "## Settings",
        "",
        ", ".join(f"{name} {value}" for name, value in settings.items() if value is not None),
    ]
    if facts["notes"]:
        lines += ["", "## What was left out or changed", ""]
        lines += [f"- {count:,} × {what}" for what, count in facts["notes"].items()]
    lines += ["", "## Versions", "", ", ".join(f"{name} {number}" for name, number in facts["versions"].items())]
    return "\n".join([*lines, ""])


def draw_perplexity(history: Sequence[Mapping[str, float]], path: Path) -> None:
    """Write a PNG: perplexity of the held-out text by step."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.plot([row["step"] for row in history], [row["perplexity"] for row in history], marker="o", markersize=3)
    axes.set_yscale("log")
    axes.set_xlabel("step")
    axes.set_ylabel("perplexity of held-out text")
    figure.savefig(path, format="png")
