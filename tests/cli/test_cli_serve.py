"""gridner serve as operators start and stop it."""

import os
import re
import signal
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

import gridner
from support.serving import COMMAND, served

TEXT = "Loss of rod and cone photoreceptors, with apoptosis of bipolar and amacrine cells. "


def test_it_says_where_it_is_and_answers_what_it_has_before_it_ends() -> None:
    with served() as (process, address), ThreadPoolExecutor() as pool:
        with httpx.Client(base_url=address, timeout=60) as client:
            assert client.get("/readyz").json() == {"status": "ready"}
            (model,) = client.get("/v1/models").json()["models"]
            assert [one["name"] for one in model["types"]] == list(gridner.load().types)
            assert all(one["description"] and one["example"] for one in model["types"])
        long = pool.submit(httpx.post, f"{address}/v1/recognize", json={"text": TEXT * 60}, timeout=60)
        while "gridner_queue_requests 1.0" not in httpx.get(f"{address}/metrics").text:
            pass
        process.send_signal(signal.SIGTERM)
        (document,) = long.result().json()["documents"]
        assert len(document["entities"]) > 100
        assert process.wait(30) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{address}/healthz")


def test_why_an_annotation_tool_was_refused_is_printed() -> None:
    with served() as (process, address):
        done = httpx.post(f"{address}/brat?types=Ghost", content=TEXT.encode(), timeout=60)
        assert done.status_code == 422
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        assert process.stderr is not None
        said = process.stderr.read()
        assert "WARNING POST /brat 422: type 'Ghost'" in said
        assert TEXT not in said


def test_the_token_comes_from_the_environment() -> None:
    with served("--max-characters", "50", GRIDNER_TOKEN="hush") as (process, address):
        headers = {"Authorization": "Bearer hush"}
        transport = httpx.HTTPTransport(retries=5)
        with httpx.Client(transport=transport, timeout=60) as client:
            assert client.post(f"{address}/v1/recognize", json={"text": "cells"}).status_code == 401
            done = client.post(f"{address}/v1/recognize", json={"text": "cells"}, headers=headers)
            assert done.status_code == 200
            done = client.post(f"{address}/v1/recognize", json={"text": TEXT}, headers=headers)
            assert done.status_code == 413
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--host", "nowhere.invalid"], "nowhere.invalid:0 cannot be listened on"),
        (["--model", "nowhere"], "nowhere"),
        (["--port", "70000"], "65535"),
        (["--queue", "0"], "--queue"),
    ],
)
def test_what_is_wrong_is_a_line(options: list[str], said: str) -> None:
    done = subprocess.run([*COMMAND, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_more_threads_than_cores_are_cut_and_printed() -> None:
    options = ["--threads", "100000", "--model", "nowhere"]  # it ends after that
    done = subprocess.run([*COMMAND, *options], capture_output=True, text=True, check=False)
    assert re.match(r"--threads 100,000: only \d+ cores? available, using \d+\n", done.stderr)


def test_a_port_that_is_taken_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run([*COMMAND, "--port", port], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"gridner: 127.0.0.1:{port} cannot be listened on (Address already in use")


def test_the_extra_that_is_missing_is_named(tmp_path: Path) -> None:
    (tmp_path / "uvicorn.py").write_text("raise ImportError('gone', name='uvicorn')")
    done = subprocess.run(
        COMMAND, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(tmp_path)}
    )
    assert done.returncode == 2
    assert done.stderr == ("gridner: uvicorn is missing; install it with: pip install 'gridner[serve]'\n")
