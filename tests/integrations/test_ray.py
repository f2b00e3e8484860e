"""Prediction with Ray on one core, where a pool that takes all of it would wait for ever."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gridner import load, read, write
from gridner.errors import Notes, UsageError
from gridner.inference.parallel import PredictionTask
from gridner.integrations.ray_files import predict_to_file
from gridner.text import split_lines, with_sentences
from support.many_documents import Deadly, corpus, same_answers

ray: Any = pytest.importorskip("ray", reason="ray is not installed")
ours: Any = pytest.importorskip("gridner.integrations.ray")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    here = str(Path(__file__).parents[1])
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(num_cpus=1, log_to_driver=False, include_dashboard=False, runtime_env={"env_vars": {"PYTHONPATH": here}})
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


@pytest.mark.usefixtures("cluster")
def test_ray_finds_what_the_library_finds_in_the_same_order(exported: Path) -> None:
    task = PredictionTask(model=exported, threads=1, types=("Sign",))
    own = [with_sentences(document, split_lines(document.text)) for document in corpus(40)]  # which the rules part
    found = ours.predict(ours.from_documents(own, together=7), task, batch_size=8)
    same_answers(ours.to_documents(found, notes=Notes()), task.predict(task.load(), own, notes=Notes()))


@pytest.mark.usefixtures("cluster")
def test_a_worker_that_is_killed_loses_nothing_and_doubles_nothing(exported: Path, tmp_path: Path) -> None:
    deadly = Deadly(model=exported, threads=1, victim="d20", marker=tmp_path / "died")
    found = ours.predict(ours.from_documents(corpus(40), together=10), deadly, batch_size=10)
    same_answers(ours.to_documents(found, notes=Notes()), load(exported, threads=1).pipe(corpus(40)))
    assert (tmp_path / "died").exists()


@pytest.mark.usefixtures("cluster")
def test_a_bad_row_is_said_and_the_others_are_read(exported: Path) -> None:
    rows = [{"id": "good", "text": "No pain."}, {"id": "empty", "text": "  "}, {"id": "none", "text": None}]
    found = ours.predict(ray.data.from_items(rows), PredictionTask(model=exported, threads=1))
    said = {row["id"]: row["error"] for row in found.take_all()}
    assert said["good"] is None
    assert "an empty document" in said["empty"]
    assert "text is None, expected text" in said["none"]
    notes = Notes()
    assert [one.id for one in ours.to_documents(found, notes=notes)] == ["good"]
    assert notes["row that could not be read, left out"] == 2


@pytest.mark.usefixtures("cluster")
def test_other_columns_are_said() -> None:
    with pytest.raises(UsageError, match="the dataset has name, expected the columns id and text"):
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
    same_answers(read(tmp_path / "ray.jsonl"), read(tmp_path / "local.jsonl"))


def test_an_address_that_does_not_answer_is_said(tmp_path: Path) -> None:
    write(corpus(1), tmp_path / "in.jsonl")
    command = [sys.executable, "-m", "gridner", "predict", "--input", str(tmp_path / "in.jsonl"), "--engine", "ray"]
    command += ["--address", "127.0.0.1:1", "--output", str(tmp_path / "out.jsonl")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 2, done.stderr
    assert "Ray at 127.0.0.1:1 does not answer" in done.stderr.splitlines()[-1]


@pytest.mark.usefixtures("cluster")
def test_documents_are_predicted_into_a_file_with_one_call(exported: Path, tmp_path: Path) -> None:
    task = PredictionTask(model=exported, threads=1)
    written = predict_to_file(task, corpus(3), tmp_path / "ray.jsonl", workers=1)
    found = list(read(tmp_path / "ray.jsonl"))
    assert written == sum(len(document.entities) for document in found)
    same_answers(found, task.predict(task.load(), corpus(3), notes=Notes()))
