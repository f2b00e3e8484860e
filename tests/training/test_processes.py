"""Two processes with the same global batch do what one does."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from support.training import weights

PROGRAM = """
import json, sys
from dataclasses import replace
from pathlib import Path
from support.small import tiny_config
from support.training import Watch, task
from gridner.training import train_once

config = tiny_config(epochs=5, batch_size=2, cells=60)
still = replace(config.model, word_dropout=0.0, grid_dropout=0.0, predictor_dropout=0.0)
watch = Watch()
folder = Path(sys.argv[1])
train_once(replace(task(folder / "model"), config=replace(config, model=still)), watcher=watch)
if watch.losses:
    (folder / "losses.json").write_text(json.dumps(watch.losses))
"""

STOPPED = """
import atexit, os, signal, sys
from pathlib import Path

@atexit.register
def threads():  # after those of the training, so what is left then is left while Python ends
    names = [path.read_text() for path in Path("/proc/self/task").glob("*/comm")]
    (folder / f"threads-{os.environ['RANK']}").write_text("".join(names))

from support.training import Watch, task
from gridner.training import train_once
from gridner.training.interruption import Stopped

folder, at = Path(sys.argv[1]), int(sys.argv[2])
resume = at == 0
watch = Watch(at, lambda: os.kill(os.getpid(), signal.SIGTERM))
try:
    train_once(task(folder / "model"), watcher=watch, resume=resume)
except Stopped:
    (folder / f"stopped-{os.environ['RANK']}").write_text("")
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


TORCHRUN = ("-m", "torch.distributed.run", "--nproc-per-node=2")


def run(folder: Path, program: str, *arguments: str, launcher: tuple[str, ...] = ()) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "program.py").write_text(program)
    here = Path(__file__).parent
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, (here, here.parent))),
        "OMP_NUM_THREADS": "1",
        "ACCELERATE_USE_CPU": "1",
    }
    launcher = (*launcher, f"--master-port={free_port()}") if launcher else ()
    command = [sys.executable, *launcher, str(folder / "program.py"), str(folder), *arguments]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]


def losses(folder: Path, *launcher: str) -> list[float]:
    run(folder, PROGRAM, launcher=launcher)
    found = json.loads((folder / "losses.json").read_text())
    assert len(found) == 20
    return [float(loss) for loss in found]


def test_two_processes_have_the_losses_of_one(tmp_path: Path) -> None:
    one, two = losses(tmp_path / "one"), losses(tmp_path / "two", *TORCHRUN)
    assert two == pytest.approx(one, abs=1e-4)
    assert max(one) - min(one) > 0.1  # there was something to agree on


@pytest.mark.parametrize("at", [3, 4])  # 4 steps an epoch: within it, and at its end
def test_two_processes_stop_together_and_go_on(tmp_path: Path, at: int) -> None:
    """Only the first is asked to stop: it is the one that has a watcher."""
    run(tmp_path / "whole", STOPPED, "-1", launcher=TORCHRUN)
    run(tmp_path / "stopped", STOPPED, str(at), launcher=TORCHRUN)
    assert {path.name for path in (tmp_path / "stopped").glob("stopped-*")} == {"stopped-0", "stopped-1"}
    threads = [path.read_text() for path in (tmp_path / "stopped").glob("threads-*")]
    assert len(threads) == 2
    assert "gloo" not in "".join(threads)  # one that is left may abort the process: the group must end them
    run(tmp_path / "stopped", STOPPED, "0", launcher=TORCHRUN)
    assert weights(tmp_path / "stopped" / "model") == weights(tmp_path / "whole" / "model")
