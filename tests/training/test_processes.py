"""Two processes with the same global batch do what one does."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from gridner.training import train_once
from support.training import Watch, task_without_dropout, weights

LOSSES = """
import json, sys
from pathlib import Path
from support.training import Watch, task_without_dropout
from gridner.training import train_once
watch, folder = Watch(), Path(sys.argv[1])
train_once(task_without_dropout(folder / "two", epochs=5, batch_size=2, cells=60), watcher=watch)
if watch.losses:
    (folder / "losses.json").write_text(json.dumps(watch.losses))
"""

RUNS = """
import atexit, os, signal, socket, sys
from pathlib import Path
import support.imports

folder = Path(sys.argv[1])

def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])

def note_threads():  # registered before the training's own, so it runs after: what is left then is left at the end
    names = [path.read_text() for path in Path("/proc/self/task").glob("*/comm")]
    (folder / f"{run}.threads-{os.environ['RANK']}").write_text("".join(names))

for run in sys.argv[2:]:  # the model's folder, a dot, and the step at which the first process is asked to stop
    model, at = run.split(".")
    os.environ |= {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
    children = []
    for rank in ("0", "1"):
        children.append(os.fork())
        if children[-1] == 0:
            os.environ |= {"RANK": rank, "LOCAL_RANK": rank}
            atexit.register(note_threads)
            from support.training import Watch, task
            from gridner.training import train_once
            from gridner.training.interruption import Stopped
            watch = Watch(int(at), lambda: os.kill(os.getpid(), signal.SIGTERM))
            try:
                train_once(task(folder / model), watcher=watch, resume=at == "0")
            except Stopped:
                (folder / f"{run}.stopped-{rank}").write_text("")
            sys.exit()
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert codes == [0, 0], (run, codes)
"""
TORCHRUN = ("-m", "torch.distributed.run", "--nproc-per-node=2")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def run(folder: Path, program: str, *arguments: str, launcher: tuple[str, ...] = ()) -> None:
    (folder / "program.py").write_text(program)
    env = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parents[1]),
        "OMP_NUM_THREADS": "1",
        "ACCELERATE_USE_CPU": "1",
    }
    command = [sys.executable, *launcher, str(folder / "program.py"), str(folder), *arguments]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]


def test_two_processes_have_the_losses_of_one(tmp_path: Path) -> None:
    watch = Watch()
    train_once(task_without_dropout(tmp_path / "one", epochs=5, batch_size=2, cells=60), watcher=watch)
    run(tmp_path, LOSSES, launcher=(*TORCHRUN, f"--master-port={free_port()}"))
    losses = json.loads((tmp_path / "losses.json").read_text())
    assert len(losses) == 20
    assert losses == pytest.approx(watch.losses, abs=1e-4)
    assert max(losses) - min(losses) > 0.1  # there was something to agree on


def test_two_processes_stop_together_and_resume_to_identical_weights(tmp_path: Path) -> None:
    """Only the first, which has a watcher, is asked to stop: within an epoch of 4 steps, and at its end."""
    run(tmp_path, RUNS, "whole.-1", "within.3", "within.0", "end.4", "end.0")
    for stopped in ("within.3", "end.4"):
        for rank in ("0", "1"):
            assert (tmp_path / f"{stopped}.stopped-{rank}").is_file()
            threads = (tmp_path / f"{stopped}.threads-{rank}").read_text()
            assert "gloo" not in threads  # one that is left may abort the process: the group must end them
    assert weights(tmp_path / "within") == weights(tmp_path / "whole") == weights(tmp_path / "end")
