"""Two processes of a pretraining with the same batches do what one does."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from gridner.pretraining import pretrain
from support.pretraining import task, weights

PROGRAM = """
import json, sys
from pathlib import Path
from gridner.pretraining import pretrain
from support.pretraining import task
facts = pretrain(task(Path(sys.argv[1]), "two", new_pieces=2))
if facts:
    (Path(sys.argv[1]) / "history.json").write_text(json.dumps(facts["history"]))
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_two_processes_learn_what_one_learns(tmp_path: Path) -> None:
    history = pretrain(task(tmp_path, "one", new_pieces=2))["history"]
    (tmp_path / "program.py").write_text(PROGRAM)
    env = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parents[1]),
        "OMP_NUM_THREADS": "1",
        "ACCELERATE_USE_CPU": "1",
    }
    launcher = ("-m", "torch.distributed.run", "--nproc-per-node=2", f"--master-port={free_port()}")
    command = [sys.executable, *launcher, str(tmp_path / "program.py"), str(tmp_path)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    together = json.loads((tmp_path / "history.json").read_text())
    assert [row["perplexity"] for row in together] == pytest.approx([row["perplexity"] for row in history], rel=1e-3)
    one, two = weights(tmp_path / "one"), weights(tmp_path / "two")
    assert all(torch.allclose(one[name], two[name], atol=1e-3) for name in one)
