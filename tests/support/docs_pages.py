"""The Python of a page of the docs, run as a reader runs it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "ecosystem.md"


def entry_point(folder: Path) -> None:
    """Make a folder that, on the path, tells spaCy what an installed gridner tells it."""
    about = folder / "gridner_entry-0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: gridner-entry\nVersion: 0\n")
    (about / "entry_points.txt").write_text("[spacy_factories]\ngridner = gridner.integrations.spacy:make\n")


def run(code: str, folder: Path) -> str:
    """What a script prints that is run in a folder."""
    env = {**os.environ, "PYTHONUTF8": "1", "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_section(title: str, folder: Path) -> list[str]:
    """What each block of a section prints."""
    sections = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    (section,) = (section for section in sections if section.startswith(f"{title}\n"))
    blocks = re.findall(r"^```python\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    assert blocks
    return [run(block, folder) for block in blocks]
