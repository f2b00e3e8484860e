import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["first-run", "tests"])
def test_a_newcomer_needs_one_line(name: str) -> None:
    block = re.search(rf"^```sh {name}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    assert block
    assert len(block[1].splitlines()) == 1


def test_the_python_example_runs() -> None:
    code = re.search(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    assert code
    done = subprocess.run(
        [sys.executable, "-c", code[1]], cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Condition ['Pain in', 'shoulder']" in done.stdout


def test_links_lead_somewhere() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name}: {target}"
