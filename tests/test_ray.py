"""Prediction with Ray on one core, where a pool that takes all of it would wait for ever."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gridner import Document, load, read, write
from gridner.bulk import Task
from gridner.errors import Notes, UsageError
from gridner.formats.jsonl import to_json
from gridner.recognizer import Recognizer
from small import TEXTS

ray: Any = pytest.importorskip("ray", reason="ray is not installed")
ours: Any = pytest.importorskip("gridner.ray")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own


def corpus(count: int = 40) -> list[Document]:
    return [Document(f"d{n}", " ".join(TEXTS[(n + k) % 6] for k in range(2))) for n in range(count)]


def plain(documents: Iterable[Document]) -> list[dict[str, Any]]:
    found = [to_json(document) for document in documents]
    for item in found:
        for entity in item["entities"]:
            entity["score"] = round(entity["score"], 3)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadly(Task):
    """It kills its process when it first meets a document; the second time it does its work."""

    victim: str
    marker: Path

    def answers(
        self,
        recognizer: Recognizer,
        documents: Iterable[Document],
        *,
        notes: Notes,
        each: Callable[[], None] = lambda: None,
    ) -> Iterator[Document]:
        some = list(documents)
        if not self.marker.exists() and any(document.id == self.victim for document in some):
            self.marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return Task.answers(self, recognizer, some, notes=notes, each=each)


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    here = str(Path(__file__).parent)
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(num_cpus=1, log_to_driver=False, include_dashboard=False, runtime_env={"env_vars": {"PYTHONPATH": here}})
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


@pytest.mark.usefixtures("cluster")
def test_ray_finds_what_the_library_finds_in_the_same_order(exported: Path) -> None:
    task = Task(model=exported, threads=1, types=("Sign",))
    found = ours.predict(ours.from_documents(corpus(), together=7), task, batch_size=8)
    expected = plain(task.answers(task.load(), corpus(), notes=Notes()))
    assert plain(ours.to_documents(found, notes=Notes())) == expected
    assert any(one["entities"] for one in expected)


@pytest.mark.usefixtures("cluster")
def test_a_worker_that_is_killed_loses_nothing_and_doubles_nothing(exported: Path, tmp_path: Path) -> None:
    deadly = Deadly(model=exported, threads=1, victim="d20", marker=tmp_path / "died")
    found = ours.predict(ours.from_documents(corpus(), together=10), deadly, batch_size=10)
    answers = list(ours.to_documents(found, notes=Notes()))
    assert (tmp_path / "died").exists()
    assert plain(answers) == plain(load(exported, threads=1).pipe(corpus()))


@pytest.mark.usefixtures("cluster")
def test_a_bad_row_is_said_and_the_others_are_read(exported: Path) -> None:
    rows = [{"id": "good", "text": "No pain."}, {"id": "empty", "text": "  "}, {"id": "none", "text": None}]
    found = ours.predict(ray.data.from_items(rows), Task(model=exported, threads=1))
    said = {row["id"]: row["error"] for row in found.take_all()}
    assert said["good"] is None
    assert "an empty document" in said["empty"]
    assert "text is None, expected text" in said["none"]
    notes = Notes()
    assert [one.id for one in ours.to_documents(found, notes=notes)] == ["good"]
    assert notes["row that could not be read, left out"] == 2


@pytest.mark.usefixtures("cluster")
def test_other_columns_are_said() -> None:
    with pytest.raises(UsageError, match="a dataset of name, expected id and text among them"):
        ours.predict(ray.data.from_items([{"name": "x"}]))


def test_the_command_gives_what_it_gives_without_ray(exported: Path, tmp_path: Path) -> None:
    write(corpus(12), tmp_path / "in.jsonl")
    for engine in ("local", "ray"):
        command = [
            sys.executable,
            "-m",
            "gridner",
            "predict",
            "--input",
            str(tmp_path / "in.jsonl"),
            "--engine",
            engine,
        ]
        command += ["--model", str(exported), "--threads", "1", "--output", str(tmp_path / f"{engine}.jsonl")]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr
    assert plain(read(tmp_path / "ray.jsonl")) == plain(read(tmp_path / "local.jsonl"))


def test_an_address_that_does_not_answer_is_said(tmp_path: Path) -> None:
    write(corpus(1), tmp_path / "in.jsonl")
    command = [sys.executable, "-m", "gridner", "predict", "--input", str(tmp_path / "in.jsonl"), "--engine", "ray"]
    command += ["--address", "127.0.0.1:1", "--output", str(tmp_path / "out.jsonl")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 2, done.stderr
    assert "Ray at 127.0.0.1:1 does not answer" in done.stderr.splitlines()[-1]
