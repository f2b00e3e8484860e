"""Add files from outside docs/ to the site, so that the same links work on the site and in the repository."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent
MODELS = sorted(path.parent.name for path in ROOT.glob("src/gridner/models/*/README.md"))
OUTSIDE = {
    **{f"src/gridner/models/{name}/README.md": f"cards/{name}.md" for name in MODELS},
    **{f"src/gridner/models/{name}/ATTRIBUTION.md": f"cards/{name}-sources.md" for name in MODELS},
    "src/gridner/formats/jsonl.schema.json": "files/jsonl.schema.json",
    "deploy/gridner.service": "files/gridner.service",
    "deploy/Containerfile": "files/Containerfile.txt",
}


def on_files(files: Files, config: Any) -> Files:
    """Add the files to the site."""
    for path, name in OUTSIDE.items():
        files.append(File.generated(config, name, content=(ROOT / path).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """Point links to these files at their place on the site."""
    depth = page.file.src_uri.count("/")
    for path, name in OUTSIDE.items():
        markdown = markdown.replace(f"]({'../' * (depth + 1)}{path})", f"]({'../' * depth}{name})")
    if page.file.src_uri.startswith("cards/"):
        markdown = markdown.replace("](ATTRIBUTION.md)", f"]({page.file.name}-sources.md)")
    return markdown
