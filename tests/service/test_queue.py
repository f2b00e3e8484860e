"""Whatever computes has a place in the queue, a time limit, and ends when nobody waits for it."""

import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from gridner.inference.recognizer import Recognizer
from gridner.service import page
from gridner.service.app import Service
from gridner.service.limits import Limits
from support.serving import quick, running, slow

TEXT = "Pain in left arm and shoulder."
BODIES: dict[str, dict[str, Any]] = {
    "/v1/recognize": {"text": TEXT},
    "/page/draw": {"text": TEXT, "ann": "T1\tSign 0 4\tPain\n"},
    "/page/grid": {"text": TEXT, "at": 0},
    "/page/save": {"documents": [{"id": "a", "text": TEXT}], "format": "csv"},
}
WORK = {"/page/draw": "annotated_document", "/page/grid": "grids_json", "/page/save": "file_to_save"}


def left(address: str, path: str, body: Any) -> socket.socket:
    """A connection on which a request was sent."""
    host, port = address.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)))
    content = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    connection.sendall(head.encode() + content)
    return connection


def metric(address: str, name: str) -> float:
    (line,) = (one for one in httpx.get(f"{address}/metrics").text.splitlines() if one.startswith(f"{name} "))
    return float(line.split()[1])


class Endless:
    """Work that has no end; it tells when it begins and when it is given up."""

    def __init__(self) -> None:
        self.began, self.ended = threading.Event(), threading.Event()

    def __call__(self, *_: Any) -> Iterator[None]:
        try:
            while True:
                self.began.set()
                yield
        finally:
            self.ended.set()


@pytest.fixture(params=WORK)
def path(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def endless(path: str, monkeypatch: pytest.MonkeyPatch) -> Endless:
    """What the service computes for a path has no end."""
    work = Endless()
    monkeypatch.setattr(page, WORK[path], work)
    return work


@pytest.mark.parametrize("path", BODIES)
def test_what_computes_is_refused_when_the_queue_is_full(path: str) -> None:
    reader = slow()
    with running(Service(recognizer=reader, limits=Limits(queue=1))) as address, ThreadPoolExecutor() as pool:
        first = pool.submit(httpx.post, f"{address}/v1/recognize", json={"text": "No pain."}, timeout=60)
        reader.began.acquire()
        done = httpx.post(f"{address}{path}", json=BODIES[path])
        assert done.status_code == 503
        assert done.json()["detail"] == "1 request is waiting, the maximum; retry later"
        assert int(done.headers["retry-after"]) >= 1
        reader.gate.release(10)
        assert first.result().status_code == 200
        assert metric(address, "gridner_queue_requests") == 0


def test_what_computes_has_the_time_limit_of_recognition(path: str, endless: Endless) -> None:
    with running(Service(recognizer=quick(), limits=Limits(seconds=0.5))) as address:
        done = httpx.post(f"{address}{path}", json=BODIES[path], timeout=60)
        assert done.status_code == 503
        assert done.json()["detail"].startswith("no answer within 0.5 seconds")
        assert endless.ended.wait(60)


def test_what_computes_ends_when_the_client_goes(path: str, endless: Endless) -> None:
    with running(Service(recognizer=quick())) as address:
        with left(address, path, BODIES[path]):
            assert endless.began.wait(60)
            assert metric(address, "gridner_queue_requests") == 1
        assert endless.ended.wait(60)


def test_what_computes_does_not_hold_up_others(recognizer: Recognizer, path: str, endless: Endless) -> None:
    with running(Service(recognizer=recognizer)) as address:
        with left(address, path, BODIES[path]):
            assert endless.began.wait(60)
            for other, body in BODIES.items():
                if other != path:
                    assert httpx.post(f"{address}{other}", json=body, timeout=60).status_code == 200
        assert endless.ended.wait(60)


def test_what_the_client_gives_up_is_counted_apart_from_what_takes_too_long() -> None:
    reader = slow()
    with running(Service(recognizer=reader, limits=Limits(seconds=1))) as address:
        assert httpx.post(f"{address}/v1/recognize", json={"text": "No pain."}, timeout=60).status_code == 503
        assert (metric(address, "gridner_timeouts_total"), metric(address, "gridner_cancelled_total")) == (1, 0)
    reader = slow()
    with running(Service(recognizer=reader)) as address:
        with left(address, "/v1/recognize", {"text": "No pain."}):
            reader.began.acquire()
        while metric(address, "gridner_cancelled_total") != 1:
            pass
        assert metric(address, "gridner_timeouts_total") == 0


def test_what_is_too_slow_alone_is_told_to_send_less_and_no_time_to_retry() -> None:
    with running(Service(recognizer=slow(), limits=Limits(seconds=1))) as address:
        done = httpx.post(f"{address}/v1/recognize", json={"text": "No pain."}, timeout=60)
    assert done.status_code == 503
    assert done.json()["detail"] == "no answer within 1 second; send less text per request"
    assert "retry-after" not in done.headers


def test_what_is_too_slow_under_load_is_told_to_retry() -> None:
    reader = slow()
    with running(Service(recognizer=reader, limits=Limits(seconds=2))) as address, ThreadPoolExecutor() as pool:
        asked = [
            pool.submit(httpx.post, f"{address}/v1/recognize", json={"text": "No pain."}, timeout=60) for _ in range(2)
        ]
        for done in (one.result() for one in asked):
            assert done.status_code == 503
            assert "less text" not in done.json()["detail"]
            assert done.json()["detail"].endswith("retry later")
            assert int(done.headers["retry-after"]) >= 1


@pytest.mark.parametrize(
    ("ann", "said"),
    [
        ("T{n}\tSign 0 4\tPain\n" * 11, "note.ann: 11 annotations, expected at most 10"),
        ("T{n}\tSign 0 29\n" * 4, "note.ann: annotations cover 116 characters"),
    ],
)
def test_more_annotations_than_can_be_drawn_are_refused(ann: str, said: str) -> None:
    lines = "\n\n".join(line.format(n=number) for number, line in enumerate(ann.splitlines(), start=1))
    limits = Limits(annotations=10, covered_characters=100)
    with running(Service(recognizer=quick(), limits=limits)) as address:
        done = httpx.post(f"{address}/page/draw", json={"text": TEXT, "id": "note", "ann": lines})
        assert done.status_code == 413
        assert done.json()["detail"].startswith(said)
        fewer = "\n".join(lines.split("\n\n")[:3])
        assert httpx.post(f"{address}/page/draw", json={"text": TEXT, "ann": fewer}).status_code == 200


def test_what_is_found_and_too_much_to_draw_is_counted(recognizer: Recognizer) -> None:
    with running(Service(recognizer=recognizer)) as address:
        whole = httpx.post(f"{address}/page/draw", json={"text": TEXT}, timeout=60).json()
    with running(Service(recognizer=recognizer, limits=Limits(covered_characters=60))) as address:
        drawn = httpx.post(f"{address}/page/draw", json={"text": TEXT}, timeout=60).json()
    found, kept = whole["document"]["entities"], drawn["document"]["entities"]
    assert 0 < len(kept) < len(found)
    (note,) = (note for note in drawn["notes"] if note not in whole["notes"])
    assert note["what"].startswith("entity of a low score, left out")
    assert note["count"] == len(found) - len(kept)
    assert min(one["score"] for one in kept) >= max(one["score"] for one in found if one not in kept)
