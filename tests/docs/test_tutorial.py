"""The tutorial's commands, one after the other, as a reader runs them."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_commands_of_the_tutorial_run_in_their_order(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh tutorial\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    commands = [shlex.split(line) for block in blocks for line in block.splitlines()]
    assert {command[1] for command in commands} >= {"stats", "train", "predict", "evaluate", "export"}
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONUTF8": "1"}
    said = {}
    for program, *arguments in commands:
        assert program == "gridner"
        done = subprocess.run(
            [sys.executable, "-m", "gridner", *arguments],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, f"{shlex.join(arguments)}: {done.stderr}"
        said[shlex.join(arguments)] = done.stdout
    drawn = [out for command, out in said.items() if command.startswith("predict 'After")]
    assert len(drawn) == 2
    without_scores = [re.sub(r"\d\.\d+", "", out) for out in drawn]  # whose last digit may be rounded either way
    assert without_scores[0] == without_scores[1]  # torch and ONNX Runtime
    assert "━" in drawn[0]  # it finds something; which type is up to an encoder that knows no English
