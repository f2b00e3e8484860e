"""Two processes with the same global batch do what one does."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import json, sys
from dataclasses import replace
from pathlib import Path
from small import tiny_config
from test_train import Watch, task
from gridner.training import train

config = tiny_config(epochs=5, batch_size=2, cells=60)
still = replace(config.model, word_dropout=0.0, grid_dropout=0.0, predictor_dropout=0.0)
watch = Watch()
folder = Path(sys.argv[1])
train(replace(task(folder / "model"), config=replace(config, model=still)), watcher=watch)
if watch.losses:
    (folder / "losses.json").write_text(json.dumps(watch.losses))
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def launch(folder: Path, *launcher: str) -> list[float]:
    folder.mkdir()
    program = folder / "program.py"
    program.write_text(PROGRAM)
    here = Path(__file__).parent
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, (here, here.parent))),
        "OMP_NUM_THREADS": "1",
        "ACCELERATE_USE_CPU": "1",
    }
    command = [sys.executable, *launcher, str(program), str(folder)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads((folder / "losses.json").read_text())
    assert len(found) == 20
    return [float(loss) for loss in found]


def test_two_processes_have_the_losses_of_one(tmp_path: Path) -> None:
    torchrun = ("-m", "torch.distributed.run", "--nproc-per-node=2", f"--master-port={free_port()}")
    one, two = launch(tmp_path / "one"), launch(tmp_path / "two", *torchrun)
    assert two == pytest.approx(one, abs=1e-4)
    assert max(one) - min(one) > 0.1  # there was something to agree on
