"""The site has pages that are files of the repository outside docs/: links to them are the same in both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent
OUTSIDE = {
    "src/gridner/models/craft/README.md": "card.md",
    "src/gridner/models/craft/ATTRIBUTION.md": "ATTRIBUTION.md",
    "src/gridner/formats/jsonl.schema.json": "files/jsonl.schema.json",
    "deploy/gridner.service": "files/gridner.service",
    "deploy/Containerfile": "files/Containerfile.txt",
}


def on_files(files: Files, config: Any) -> Files:
    """Add them."""
    for path, name in OUTSIDE.items():
        files.append(File.generated(config, name, content=(ROOT / path).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Let links lead there."""
    for path, name in OUTSIDE.items():
        markdown = markdown.replace(f"](../{path})", f"]({name})")
    return markdown
