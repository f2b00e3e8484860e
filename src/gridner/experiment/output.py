"""What an experiment leaves: its tables as Markdown and JSON, and its figure as PNG."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

from gridner.errors import OutputError
from gridner.experiment.paper_tables import Outcome
from gridner.experiment.study import Study
from gridner.files import write_text, write_whole

SUFFIXES = (".md", ".json", ".png")


def check_place(output: Path, name: str) -> None:
    """Files of that name that are not of this experiment stay as they are, and that is found before any work."""
    paths = [output / f"{name}{suffix}" for suffix in SUFFIXES]
    there = next((path for path in paths if path.exists()), None)
    if there is not None and not _is_ours(output / f"{name}.json", name):
        raise OutputError(f"{there}: not made by gridner experiment {name}, expected another --output")
    for path in paths:
        if path.is_dir():
            raise OutputError(f"{path}: is a folder, expected a file or nothing there")


def _is_ours(path: Path, name: str) -> bool:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(data, dict) and data.get("experiment") == name


def write_outcome(name: str, outcome: Outcome, study: Study) -> str:
    """Write the files of an experiment, and return the Markdown."""
    failed = {run: study.runs.failures[run] for run, shown in study.runs.has_result.items() if not shown}
    seeds = f"Seeds {', '.join(map(str, study.seeds))}. " if study.runs.has_result.keys() & study.runs.finished else ""
    lines = [f"# {outcome.title}", ""]
    lines += [f"{seeds}Made by `{study.command}`.", ""] if study.command else []
    lines += ["| part | documents | sentences | entities | discontinuous |", "|---|---:|---:|---:|---:|"]
    facts = {part: one.about() for part, one in study.parts.items()}
    for part, about in facts.items():
        cells = (f"{about[key]:,}" for key in ("documents", "sentences", "entities", "discontinuous"))
        lines.append(f"| {part} | {' | '.join(cells)} |")
    lines += ["", *(table.markdown() for table in outcome.tables)]
    lines += [f"Failed: {run} ({why})." for run, why in failed.items()]
    lines += [f"- Note: {count:,} × {what}." for what, count, _ in study.notes]
    text = "\n".join(lines).rstrip() + "\n"
    data = {
        "experiment": name,
        "title": outcome.title,
        "command": study.command,
        "seeds": list(study.seeds),
        "data": facts,
        "settings": study.config.to_dict(),
        "tables": [table.plain() for table in outcome.tables],
        "failed": failed,
        "notes": {what: count for what, count, _ in study.notes},
        **outcome.about,
    }
    study.output.mkdir(parents=True, exist_ok=True)
    made: dict[str, Callable[[Path], None]] = {
        ".md": partial(write_text, text=text),
        ".json": partial(write_text, text=json.dumps(data, indent=1, ensure_ascii=False)),
        ".png": outcome.figure.draw,
    }
    for suffix in SUFFIXES:
        write_whole(study.output / f"{name}{suffix}", made[suffix], folder=False, force=True)
    return text
