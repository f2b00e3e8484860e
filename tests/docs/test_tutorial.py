"""The tutorial's commands, one after the other, as a reader runs them."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from support.command import gridner

ROOT = Path(__file__).parents[2]


def test_the_commands_of_the_tutorial_run_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh tutorial\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    commands = [shlex.split(line) for block in blocks for line in block.splitlines()]
    assert {command[1] for command in commands} >= {"stats", "train", "predict", "evaluate", "export"}
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    said = {}
    for program, *arguments in commands:
        assert program == "gridner"
        done = gridner(*arguments)
        assert done.returncode == 0, f"{shlex.join(arguments)}: {done.stderr}"
        said[shlex.join(arguments)] = done.stdout
    drawn = [out for command, out in said.items() if command.startswith("predict 'After")]
    assert len(drawn) == 2
    without_scores = [re.sub(r"\d\.\d+", "", out) for out in drawn]  # whose last digit may be rounded either way
    assert without_scores[0] == without_scores[1]  # torch and ONNX Runtime
    assert "━" in drawn[0]  # it finds something; which type is up to an encoder that knows no English
