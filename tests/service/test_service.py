"""The service as programs see it."""

import gzip
import json
import logging
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridner import Document
from gridner.formats.jsonl import to_json
from gridner.inference.recognizer import Recognizer
from gridner.service.app import Service, create_app
from gridner.service.limits import Limits
from support.serving import quick, running, slow
from support.small import TEXTS

SECRET = "Patient Zbigniew Kowalczyk has pain in arm."


@pytest.fixture(scope="module")
def service(recognizer: Recognizer) -> Service:
    limits = Limits(body_bytes=20_000, texts=5, characters=2000, seconds=30)
    return Service(recognizer=recognizer, name="tiny", limits=limits)


@pytest.fixture(scope="module")
def client(service: Service) -> Iterator[httpx.Client]:
    with running(service) as address, httpx.Client(base_url=address) as client:
        yield client


def recognize(client: httpx.Client, **body: Any) -> httpx.Response:
    return client.post("/v1/recognize", json=body)


def test_one_text_gives_the_document_of_the_library(client: httpx.Client, recognizer: Recognizer) -> None:
    done = recognize(client, text=TEXTS[0])
    assert done.status_code == 200
    assert done.json()["notes"] == []
    (found,) = done.json()["documents"]
    expected = to_json(recognizer(TEXTS[0]))
    assert found["entities"]
    assert [(one["type"], one["fragments"]) for one in found["entities"]] == [
        (one["type"], one["fragments"]) for one in expected["entities"]
    ]
    assert found["text"] == TEXTS[0]


def test_several_texts_come_back_in_order(client: httpx.Client) -> None:
    done = recognize(client, texts=["No pain.", {"id": "mine", "text": "She has pain."}])
    assert [(one["id"], one["text"]) for one in done.json()["documents"]] == [
        ("text-1", "No pain."),
        ("mine", "She has pain."),
    ]


def test_threshold_and_types_choose(client: httpx.Client) -> None:
    every = recognize(client, text=TEXTS[1], threshold=0).json()["documents"][0]["entities"]
    sure = recognize(client, text=TEXTS[1], threshold=0.9).json()["documents"][0]["entities"]
    signs = recognize(client, text=TEXTS[1], threshold=0, types=["Sign"]).json()["documents"][0]["entities"]
    assert len(sure) < len(every)
    assert all(one["score"] > 0.9 for one in sure)
    assert signs == [one for one in every if one["type"] == "Sign"]
    assert 0 < len(signs) < len(every)


@given(st.text(st.sampled_from("ab 😢𝒳é."), min_size=1, max_size=40).filter(str.strip))
def test_utf16_offsets_are_those_of_javascript(client: httpx.Client, text: str) -> None:
    plain, wide = (
        recognize(client, text=text, threshold=0.2, offsets=offsets).json()["documents"][0]["entities"]
        for offsets in ("code-points", "utf-16")
    )
    units = text.encode("utf-16-le")
    for one, other in zip(plain, wide, strict=True):
        for (start, end), (from_, to) in zip(one["fragments"], other["fragments"], strict=True):
            assert units[2 * from_ : 2 * to].decode("utf-16-le") == text[start:end]


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"{", 400, "not JSON"),
        (b"", 422, "the body"),
        (b'{"text": "\xff"}', 400, "not JSON (byte 10 is not UTF-8)"),
        (b"\x1f\x8b\x08\x00", 400, "the body is compressed"),
        pytest.param(b"[" * 5000, 400, "nested too deeply", id="deep nesting"),
        (b'{"text": "a", "threshold": %s}' % (b"9" * 5000), 400, "4300 digits"),
        (b"[]", 422, "the body: expected an object"),
        (b"{}", 422, "expected either text or texts"),
        (b'{"text": "a", "texts": ["b"]}', 422, "expected either text or texts"),
        (b'{"text": 3}', 422, "text: "),
        (b'{"text": null}', 422, "text: "),
        (b'{"texts": []}', 422, "texts: "),
        (b'{"texts": ["a", 3]}', 422, "texts.1: expected a text, or an object with an id and a text"),
        (b'{"texts": ["a", "b", "c", "d", "e", "f"]}', 413, "6 texts, expected at most 5"),
        (b'{"text": "%s"}' % (b"a" * 2001), 413, "2,001 characters, expected at most 2,000"),
        (b'{"text": "%s"}' % (b"a" * 20_000), 413, "more than 20,000 bytes"),
        (b'{"text": " \\n\\t"}', 422, "an empty document"),
        (b'{"text": ""}', 422, "an empty document"),
        (b'{"text": "a \\ud800 b"}', 422, "text: character 2 is a lone surrogate, U+D800"),
        (b'{"text": "a", "threshold": "high"}', 422, "threshold"),
        (b'{"text": "a", "threshold": 1.5}', 422, "threshold"),
        (b'{"text": "a", "threshold": NaN}', 422, "threshold"),
        (b'{"text": "a", "types": ["Ghost"]}', 422, "expected those that the model finds: Drug, Sign"),
        (b'{"text": "a", "types": []}', 422, "types"),
        (b'{"text": "a", "offsets": "bytes"}', 422, "offsets"),
        (b'{"text": "a", "treshold": 0.5}', 422, "treshold"),
        (b'{"texts": [{"id": "", "text": "a"}]}', 422, "texts.0.id"),
        (b'{"texts": [{"text": "a"}]}', 422, "texts.0.id: missing"),
        (b'{"texts": [{"id": 3, "text": "a"}]}', 422, "texts.0.id: Input should be a valid string"),
        (b'{"texts": [{"id": "a", "text": "a", "kind": 1}]}', 422, "texts.0.kind: unknown key"),
        ('{"texts": [{"id": "caf\xe9", "text": "a"}]}'.encode(), 422, "texts.0.id: character 3 is U+00E9, expected pr"),
    ],
)
def test_wrong_bodies_are_problems_that_say_what_is_wrong(
    client: httpx.Client, body: bytes, status: int, said: str
) -> None:
    done = client.post("/v1/recognize", content=body, headers={"Content-Type": "application/json"})
    assert (done.status_code, done.headers["content-type"]) == (status, "application/problem+json")
    problem = done.json()
    assert problem["status"] == status
    assert said in problem["detail"]
    assert "\n" not in problem["detail"]
    assert recognize(client, text="No pain.").status_code == 200  # it lives on


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/page/draw", {"text": "a", "ann": "T1\tSign 0 1\t\ud800"}, "ann: character 12 is a lone surrogate"),
        ("/page/draw", {"text": "a", "id": "\ud800", "ann": ""}, "id: character 0 is a lone surrogate"),
        ("/page/draw", {"text": "\ud800"}, "text: character 0 is a lone surrogate"),
        ("/page/grid", {"text": "\ud800", "at": 0}, "text: character 0 is a lone surrogate"),
        ("/page/save", {"format": "csv", "documents": [{"id": "a", "text": "\ud800"}]}, "lone surrogate"),
        ("/page/save", {"format": "csv", "documents": [{"id": "a\ud800", "text": "a"}]}, "expected printable text"),
    ],
)
def test_half_a_character_is_refused_wherever_it_is(
    client: httpx.Client, path: str, body: dict[str, Any], said: str
) -> None:
    done = client.post(path, content=json.dumps(body), headers={"Content-Type": "application/json"})
    assert done.status_code == 422
    assert said in done.json()["detail"]


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({}, "no Content-Type header, expected Content-Type: application/json"),
        ({"Content-Type": "text/plain"}, "Content-Type: text/plain, expected Content-Type: application/json"),
        (
            {"Content-Type": "application/json", "Content-Encoding": "gzip"},
            "Content-Encoding: gzip, expected a body that is not compressed",
        ),
    ],
)
@pytest.mark.parametrize("path", ["/v1/recognize", "/page/draw", "/page/grid", "/page/save"])
def test_a_body_that_is_not_sent_as_json_is_refused_by_the_header(
    client: httpx.Client, path: str, headers: dict[str, str], said: str
) -> None:
    done = client.post(path, content=b'{"text": "No pain."}', headers=headers)
    assert (done.status_code, done.json()["detail"]) == (415, said)


@pytest.mark.parametrize("path", ["/v1/recognize", "/page/draw", "/brat", "/predict"])
def test_a_compressed_body_is_refused_on_every_path(client: httpx.Client, path: str) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    done = client.post(path, content=gzip.compress(b'{"text": "No pain."}'), headers=headers)
    assert (done.status_code, done.json()["detail"]) == (
        415,
        "Content-Encoding: gzip, expected a body that is not compressed",
    )


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "Application/JSON", "application/vnd.ours+json"])
def test_json_may_be_called_by_all_its_names(client: httpx.Client, kind: str) -> None:
    done = client.post("/v1/recognize", content=b'{"text": "No pain."}', headers={"Content-Type": kind})
    assert done.status_code == 200


@given(st.binary(max_size=200))
def test_no_body_brings_it_down(client: httpx.Client, body: bytes) -> None:
    done = client.post("/v1/recognize", content=body, headers={"Content-Type": "application/json"})
    assert done.status_code in (400, 422)
    assert done.headers["content-type"] == "application/problem+json"


def test_a_body_of_unknown_length_is_bounded_too(client: httpx.Client) -> None:
    json_header = {"Content-Type": "application/json"}
    done = client.post("/v1/recognize", content=(b"x" * 1000 for _ in range(100)), headers=json_header)
    assert done.status_code == 413


def test_other_paths_and_methods_are_problems(client: httpx.Client) -> None:
    assert client.get("/nowhere").status_code == 404
    assert client.get("/page/../secret").status_code == 404
    assert client.get("/page/report.html").json()["detail"].startswith("/page/report.html, expected one of")
    assert client.get("/nowhere").json()["detail"] == "GET /nowhere, expected a path of /openapi.json"
    done = client.put("/v1/recognize")
    assert (done.status_code, done.headers["allow"]) == (405, "POST")
    assert done.json()["detail"] == "PUT /v1/recognize, expected POST"


@pytest.mark.parametrize(
    "path", ["/", "/healthz", "/readyz", "/metrics", "/v1/models", "/openapi.json", "/page/page.js"]
)
def test_what_can_be_got_has_a_head(client: httpx.Client, path: str) -> None:
    done = client.head(path)
    assert done.status_code == 200
    assert done.content == b""
    assert done.headers["content-type"] == client.get(path).headers["content-type"]
    assert int(done.headers["content-length"]) > 10


def test_operators_see_what_they_need(client: httpx.Client) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready"}
    (model,) = client.get("/v1/models").json()["models"]
    assert (model["name"], [one["name"] for one in model["types"]]) == ("tiny", ["Drug", "Sign"])
    recognize(client, text=SECRET)
    metrics = client.get("/metrics").text
    for name in ("requests_total", "request_seconds_bucket", "batch_sentences_sum", "queue_requests", "errors"):
        assert f"gridner_{name}" in metrics
    assert "Kowalczyk" not in metrics
    assert 'path="/v1/recognize",status="200"' in metrics


def test_nothing_is_fetched_from_elsewhere_and_nothing_is_kept(client: httpx.Client) -> None:
    done = recognize(client, text="No pain.")
    assert done.headers["cache-control"] == "no-store"
    assert "default-src 'none'" in done.headers["content-security-policy"]
    assert "access-control-allow-origin" not in done.headers
    assert "unsafe" not in client.get("/").headers["content-security-policy"]
    tag = client.get("/page/page.js").headers["etag"]
    assert client.get("/page/page.js", headers={"If-None-Match": tag}).status_code == 304


def test_the_token_is_asked_for(service: Service) -> None:
    with running(replace(service, token="hush ☂")) as address, httpx.Client(base_url=address) as client:
        for headers in (
            {},
            {"Authorization": "Bearer wrong"},
            {"Authorization": "hush"},
            {"Authorization": "Basic hush"},
        ):
            done = client.post("/v1/recognize", json={"text": "a"}, headers=headers)
            assert done.status_code == 401
            assert done.headers["www-authenticate"] == "Bearer"
        assert client.get("/metrics").status_code == 401
        assert client.get("/healthz").status_code == client.get("/").status_code == 200
        right = {b"Authorization": "Bearer hush ☂".encode()}
        assert client.post("/v1/recognize", json={"text": "a"}, headers=right).status_code == 200


def test_another_host_name_is_refused(service: Service) -> None:
    with running(replace(service, hosts=frozenset({"127.0.0.1", "[::1]"}))) as address:
        assert httpx.get(f"{address}/v1/models").status_code == 200
        assert httpx.get(f"{address}/v1/models", headers={"Host": "[::1]:8000"}).status_code == 200
        done = httpx.get(f"{address}/v1/models", headers={"Host": "rebound.example:80"})
        assert done.status_code == 421
        assert "rebound.example" in done.json()["detail"]
        assert b"no Host header, expected 127.0.0.1 or [::1]" in _raw(address, b"GET /v1/models HTTP/1.0\r\n\r\n")


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_is_told_whatever_the_host_the_method_and_the_version(service: Service, path: str) -> None:
    with running(replace(service, hosts=frozenset({"127.0.0.1"}), token="hush")) as address:
        for method in ("GET", "HEAD"):
            asked = httpx.request(method, f"{address}{path}", headers={"Host": "10.1.2.3:8000"})
            assert asked.status_code == 200
            assert _raw(address, f"{method} {path} HTTP/1.0\r\n\r\n".encode()).startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize(
    ("sent", "status", "said"),
    [
        (b"nonsense\r\n\r\n", 400, b"illegal request line"),
        (b"GET / HTTP/1.1\r\n\r\n", 400, b"Missing mandatory Host: header"),
        (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 100_000, 431, b"not HTTP/1.1"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 501, b"chunked"),
    ],
)
def test_what_is_not_http_is_a_problem_too(client: httpx.Client, sent: bytes, status: int, said: bytes) -> None:
    answer = _raw(str(client.base_url).rstrip("/"), sent)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert b"content-type: application/problem+json" in head
    assert json.loads(body)["status"] == status
    assert said in body


def _raw(address: str, sent: bytes) -> bytes:
    """What a connection gives until it ends."""
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(sent)
        found = b""
        while chunk := connection.recv(65536):
            found += chunk
        return found


def test_pages_elsewhere_may_ask_only_if_they_are_named(service: Service) -> None:
    asks = {"Origin": "https://mine.example", "Access-Control-Request-Method": "POST"}
    with running(replace(service, origins=("https://mine.example",), token="hush")) as address:
        done = httpx.options(f"{address}/v1/recognize", headers=asks)
        assert done.headers["access-control-allow-origin"] == "https://mine.example"
        other = httpx.options(f"{address}/v1/recognize", headers={**asks, "Origin": "https://other.example"})
        assert "access-control-allow-origin" not in other.headers


def test_too_much_is_told_to_come_later_and_a_client_that_goes_costs_no_more() -> None:
    reader = slow(cells=1)
    service = Service(recognizer=reader, limits=Limits(queue=1))
    with running(service) as address, ThreadPoolExecutor() as pool:
        host, port = address.removeprefix("http://").split(":")
        body = json.dumps({"text": "A pain. " * 50}).encode()
        with socket.create_connection((host, int(port))) as leaving:
            leaving.sendall(b"POST /v1/recognize HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n")
            leaving.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            reader.began.acquire()  # it is being read
            done = httpx.post(f"{address}/v1/recognize", json={"text": "No pain."})
            assert done.status_code == 503
            assert int(done.headers["retry-after"]) >= 1
            assert "1 request is waiting" in done.json()["detail"]
        while "gridner_cancelled_total 1.0" not in httpx.get(f"{address}/metrics").text:
            pass
        reader.gate.release()
        later = pool.submit(_until_taken, f"{address}/v1/recognize")
        reader.began.acquire()
        reader.gate.release()
        assert later.result().status_code == 200
    assert len(reader.batches) == 2


def _until_taken(url: str) -> httpx.Response:
    while (done := httpx.post(url, json={"text": "No pain."})).status_code == 503:
        pass
    return done


def test_what_takes_too_long_is_given_up() -> None:
    reader = slow()
    with running(Service(recognizer=reader, limits=Limits(seconds=0.2))) as address:
        done = httpx.post(f"{address}/v1/recognize", json={"text": "No pain."})
        assert done.status_code == 503
        assert "no answer within 0.2 seconds" in done.json()["detail"]
        reader.gate.release()


def test_a_slow_client_is_not_waited_for(service: Service) -> None:
    with running(replace(service, limits=Limits(seconds=0.2))) as address:
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as slowly:
            slowly.sendall(b"POST /v1/recognize HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n")
            slowly.sendall(b"Content-Length: 100\r\n\r\n{")
            assert slowly.recv(1000).startswith(b"HTTP/1.1 408")
        assert httpx.get(f"{address}/healthz").status_code == 200


def test_what_users_send_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    reader = slow()
    for _ in range(4):
        reader.gate.release()
    caplog.set_level(logging.DEBUG, logger="gridner")
    with running(Service(recognizer=reader, access_log=True)) as address:
        done = httpx.post(f"{address}/v1/recognize", json={"text": f"{SECRET} poison"})
        httpx.post(f"{address}/v1/recognize", json={"text": SECRET, "threshold": SECRET})
        httpx.get(f"{address}/{SECRET}")
    assert done.status_code == 500
    assert done.json()["detail"].startswith("internal error")
    assert "RuntimeError at serving.py" in caplog.text
    assert "POST /v1/recognize 422" in caplog.text
    assert "Kowalczyk" not in caplog.text
    assert "poison" not in caplog.text


def test_64_clients_get_what_the_library_gives(client: httpx.Client, recognizer: Recognizer) -> None:
    texts = [" ".join(TEXTS[(n * k) % 6] for k in range(1, 1 + n % 7)) or TEXTS[0] for n in range(64)]

    def ask(text: str) -> Any:
        with httpx.Client(base_url=client.base_url, timeout=60) as own:
            return [recognize(own, text=text, threshold=0.3).json()["documents"][0] for _ in range(2)]

    with ThreadPoolExecutor(64) as pool:
        answers = list(pool.map(ask, texts))
    alone = replace(recognizer, decoding=replace(recognizer.decoding, threshold=0.3))
    for text, both in zip(texts, answers, strict=True):
        expected = to_json(next(alone.pipe([Document("text", text)])))
        for found in both:
            for ours, theirs in zip(found["entities"], expected["entities"], strict=True):
                assert (ours["type"], ours["fragments"]) == (theirs["type"], theirs["fragments"])
                assert ours["score"] == pytest.approx(theirs["score"], abs=1e-4)


def test_the_application_needs_no_server_of_its_own(service: Service) -> None:
    app = create_app(service)
    assert {"/v1/recognize", "/v1/models", "/healthz", "/readyz", "/metrics", "/brat"} == set(app.openapi()["paths"])
    asked = app.openapi()["components"]["schemas"]["RecognizeRequest"]["properties"]
    assert asked["text"]["maxLength"] == 2000
    assert asked["types"]["anyOf"][0]["items"]["enum"] == ["Drug", "Sign"]


def test_openapi_says_where_the_token_is_wanted() -> None:
    plain = create_app(Service(recognizer=quick())).openapi()
    assert "security" not in plain
    assert "securitySchemes" not in plain["components"]
    with running(Service(recognizer=quick(), token="hush")) as address:
        right = {"Authorization": "Bearer hush"}
        described = httpx.get(f"{address}/openapi.json", headers=right).json()
        (scheme,) = described["components"]["securitySchemes"]
        assert described["components"]["securitySchemes"][scheme] == {"type": "http", "scheme": "bearer"}
        for path, methods in described["paths"].items():
            for method, operation in methods.items():
                wanted = bool(operation.get("security", described["security"]))
                done = httpx.request(method, f"{address}{path}", json={"text": "a"} if method == "post" else None)
                assert (done.status_code == 401) == wanted
