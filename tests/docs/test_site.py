"""The documentation site builds without a warning, and fetches nothing."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mkdocs", reason="mkdocs is not installed")
FETCHED = re.compile(r'<(?:script|img|link rel="stylesheet")[^>]+(?:src|href)="?(https?:[^" >]+)')
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_site_builds_and_fetches_nothing(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 15
    for page in pages:
        fetched = FETCHED.findall(page.read_text())
        assert not fetched, page


def test_signatures_of_the_reference_do_not_run_off_the_page(site: Path, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 1000, "height": 800})
    page.goto((site / "reference" / "index.html").as_uri())
    signatures = page.locator(".doc-signature code")
    assert signatures.count() > 20
    assert not signatures.evaluate_all("(all) => all.filter((one) => one.scrollWidth > one.clientWidth + 1).length")
    page.close()
