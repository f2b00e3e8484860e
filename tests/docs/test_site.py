"""The documentation site builds without a warning, and fetches nothing."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="mkdocs is not installed")
FETCHED = re.compile(r'<(?:script|img|link rel="stylesheet")[^>]+(?:src|href)="?(https?:[^" >]+)')
ROOT = Path(__file__).parents[2]


def test_the_site_builds_and_fetches_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 15
    for page in pages:
        fetched = FETCHED.findall(page.read_text())
        assert not fetched, page
