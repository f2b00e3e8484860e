"""The service as brat and Label Studio call it."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from gridner import Entity, read
from gridner.inference.recognizer import Recognizer
from gridner.service.app import Service
from gridner.service.limits import Limits
from support.serving import quick, running
from support.small import TEXTS

CONFIG = """<View><Header value="Signs"/><Labels name="sign" toName="note"><Label value="Sign" background="red"/>
<Label value="Other"/></Labels><Labels name="drug" toName="note"><Label value="Medicine" alias="Drug"/></Labels>
<Text name="note" value="$body"/></View>"""
BRAT = {"Content-type": "text/plain; charset=utf-8", "Accept": "application/json"}
SECRET = "Zbigniew Kowalczyk"


@pytest.fixture(scope="module")
def client(recognizer: Recognizer) -> Iterator[httpx.Client]:
    service = Service(
        recognizer=recognizer,
        name="tiny",
        about={"tiny": {"fingerprint": "0123456789abcdef"}},
        limits=Limits(texts=5, characters=2000, seconds=30),
    )
    with running(service) as address, httpx.Client(base_url=address) as client:
        yield client


@pytest.fixture(scope="module")
def signs() -> Iterator[httpx.Client]:
    """A service that finds every "pain"."""
    service = Service(recognizer=quick(), limits=Limits(texts=5, characters=2000), token="hush")
    with running(service) as address, httpx.Client(base_url=address, auth=("", "hush")) as client:
        yield client


def tag(client: httpx.Client, text: str | bytes, **parameters: Any) -> httpx.Response:
    body = text.encode() if isinstance(text, str) else text
    return client.post("/brat", content=body, headers=BRAT, params=parameters)


def predict(client: httpx.Client, *texts: str, config: str = CONFIG) -> httpx.Response:
    tasks = [
        {"id": number, "project": 1, "data": {"body": text}, "predictions": []} for number, text in enumerate(texts)
    ]
    params = {"login": None, "password": None, "context": None}
    body = {"tasks": tasks, "project": "1.1700000000", "label_config": config, "params": params}
    return client.post("/predict", json=body)


def same(one: Entity, other: Entity) -> bool:
    return (one.type, one.fragments) == (other.type, other.fragments)


# brat


def test_brat_gets_every_entity_with_its_fragments(client: httpx.Client, recognizer: Recognizer) -> None:
    expected = recognizer(TEXTS[0])
    found = tag(client, TEXTS[0]).json()
    assert any(len(entity.fragments) > 1 for entity in expected.entities)
    assert [(one["type"], [tuple(pair) for pair in one["offsets"]]) for one in found.values()] == [
        (entity.type, [(at.start, at.end) for at in entity.fragments]) for entity in expected.entities
    ]
    for one in found.values():
        assert one["texts"] == [TEXTS[0][start:end] for start, end in one["offsets"]]


def test_no_text_of_a_response_to_brat_has_a_line_end(client: httpx.Client) -> None:
    text = TEXTS[0].replace(" ", "\n")
    found = tag(client, text, threshold=0.1).json()
    assert found
    for one in found.values():
        assert [text[start:end] for start, end in one["offsets"]] == one["texts"]
        assert not any("\n" in said for said in one["texts"])


def test_the_url_in_tools_conf_chooses_types_and_threshold(client: httpx.Client) -> None:
    every = tag(client, TEXTS[1], threshold=0).json().values()
    assert {one["type"] for one in every} == {"Drug", "Sign"}
    assert {one["type"] for one in tag(client, TEXTS[1], threshold=0, types="Drug").json().values()} == {"Drug"}
    assert len(tag(client, TEXTS[1], threshold=0.9).json()) < len(every)


def test_an_empty_document_of_brat_has_no_entities(client: httpx.Client) -> None:
    assert tag(client, "\n").json() == {}


@pytest.mark.parametrize(
    ("text", "parameters", "status", "said"),
    [
        (b"pain \xff", {}, 400, "byte 5 is not UTF-8"),
        (b"a" * 2001, {}, 413, "2,001 characters, expected at most 2,000"),
        (b"pain", {"types": "Ghost"}, 422, "expected those that the model finds: Drug, Sign"),
        (b"pain", {"threshold": 2}, 422, "threshold"),
    ],
)
def test_what_is_wrong_is_said_to_brat_in_a_line(
    client: httpx.Client, text: bytes, parameters: dict[str, Any], status: int, said: str
) -> None:
    done = tag(client, text, **parameters)
    assert done.status_code == status
    assert said in done.json()["detail"]


def test_brat_sends_the_token_in_the_url(signs: httpx.Client) -> None:
    def status(path: str) -> int:
        return httpx.post(signs.base_url.join(path), content=b"pain").status_code

    assert [status(path) for path in ("/brat", "/brat?token=hash", "/brat?token=hush")] == [401, 401, 200]
    assert status("/v1/recognize?token=hush") == 401  # there a header can be sent


# Label Studio


def test_suggestions_have_the_names_of_the_labelling_configuration(client: httpx.Client) -> None:
    (prediction,) = predict(client, TEXTS[1]).json()["results"]
    regions = [one for one in prediction["result"] if one["type"] == "labels"]
    names = {(*one["value"]["labels"], one["from_name"], one["to_name"]) for one in regions}
    assert names == {("Sign", "sign", "note"), ("Drug", "drug", "note")}
    assert prediction["model_version"] == "tiny-01234567"
    assert prediction["score"] == min(one["score"] for one in regions)


def test_suggestions_read_as_an_export_are_what_was_found(
    client: httpx.Client, recognizer: Recognizer, tmp_path: Path
) -> None:
    texts = [*TEXTS[:3], "pain 😢 in\r\nleft arm and shoulder"]
    results = predict(client, *texts).json()["results"]
    export = tmp_path / "export.json"
    tasks = [
        {"id": number, "data": {"text": text}, "predictions": [one]}
        for number, (text, one) in enumerate(zip(texts, results, strict=True))
    ]
    export.write_text(json.dumps(tasks), encoding="utf-8")
    expected = list(recognizer.pipe(texts))
    assert any(len(entity.fragments) > 1 for document in expected for entity in document.entities)
    for document, found in zip(expected, read(export, "labelstudio"), strict=True):
        assert len(found.entities) == len(document.entities)
        assert all(any(same(one, other) for other in found.entities) for one in document.entities)


def test_only_types_with_a_label_are_suggested(client: httpx.Client) -> None:
    config = '<View><Labels name="a" toName="b"><Label value="Drug"/></Labels><Text name="b" value="$body"/></View>'
    (prediction,) = predict(client, TEXTS[1], config=config).json()["results"]
    assert {one["value"]["labels"][0] for one in prediction["result"] if one["type"] == "labels"} == {"Drug"}


def test_a_task_with_two_texts_gets_suggestions_for_both(signs: httpx.Client) -> None:
    config = """<View><Labels name="l" toName="a,b"><Label value="Sign"/></Labels>
    <Text name="a" value="$parts.first"/><Text name="b" value="$parts.second"/></View>"""
    task = {"id": 1, "data": {"parts": {"first": "No pain.", "second": "pain"}}}
    done = signs.post("/predict", json={"tasks": [task], "label_config": config})
    (prediction,) = done.json()["results"]
    places = [(one["id"], one["to_name"], one["value"]["start"]) for one in prediction["result"]]
    assert places == [("T1", "a", 3), ("T2", "b", 0)]


def test_every_task_gets_a_prediction_also_an_empty_one(signs: httpx.Client) -> None:
    results = predict(signs, "pain", " ", "nothing").json()["results"]
    assert [len(one["result"]) for one in results] == [1, 0, 0]


@pytest.mark.parametrize(
    ("config", "status"),
    [(CONFIG, 200), ("<View></View>", 200), (CONFIG.replace('"Sign"', '"X"').replace('"Drug"', '"Y"'), 422)],
)
def test_setup_refuses_a_configuration_without_a_label_of_the_model(
    client: httpx.Client, config: str, status: int
) -> None:
    body = {"project": "1.17", "schema": config, "hostname": "http://localhost", "access_token": "x"}
    done = client.post("/setup", json={**body, "extra_params": None})
    assert done.status_code == status
    if status == 200:
        assert done.json() == {"model_version": "tiny-01234567"}
    else:
        assert "X, Other, Medicine; expected some of Drug, Sign" in done.json()["detail"]


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("<View>", "labelling configuration: not well-formed"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "DTDForbidden, expected XML without a DTD"),
        ("<View></View>", "labelling configuration without <Labels"),
        (CONFIG.replace("<Text", "<HyperText"), "labelling configuration without <Text"),
        (CONFIG.replace("$body", "$other"), "task 0: no text in data at $other"),
    ],
)
def test_what_is_wrong_is_said_to_label_studio_in_a_line(signs: httpx.Client, config: str, said: str) -> None:
    done = predict(signs, "pain", config=config)
    assert done.status_code == 422
    assert said in done.json()["detail"]


def test_limits_are_those_of_recognition(signs: httpx.Client) -> None:
    assert "6 tasks, expected at most 5 in a request" in predict(signs, *["pain"] * 6).json()["detail"]
    assert "task 0: 2,001 characters" in predict(signs, "a" * 2001).json()["detail"]
    done = signs.post("/predict", content=b"{}", headers={"Content-Type": "text/plain"})
    assert done.status_code == 415


def test_health_and_versions(client: httpx.Client) -> None:
    assert client.get("/health").json()["status"] == "UP"
    assert client.get("/versions").json() == {"versions": ["tiny-01234567"]}


def test_training_is_refused_and_other_events_are_ignored(
    client: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    done = client.post("/webhook", json={"action": "START_TRAINING", "project": {"id": 1}})
    assert done.status_code == 501
    assert "gridner learn --from EXPORT" in done.json()["detail"]
    assert "gridner learn --from EXPORT" in caplog.text
    assert client.post("/train", json={"annotations": []}).status_code == 501
    assert client.post("/webhook", json={"action": "ANNOTATION_CREATED"}).json() == {"status": "ignored"}


def test_the_token_is_the_password_of_basic_authentication(signs: httpx.Client) -> None:
    url = signs.base_url.join("/health")
    tokens = [("anyone", "hush"), ("hush", ""), ("", "hash")]
    assert [httpx.get(url, auth=token).status_code for token in tokens] == [200, 401, 401]
    assert httpx.get(url, headers={"Authorization": "Basic ?"}).status_code == 401


def test_events_without_a_token_are_refused_without_a_line_for_each(
    signs: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    event = httpx.post(signs.base_url.join("/webhook"), json={"action": "ANNOTATION_CREATED"})
    assert event.status_code == 401  # Label Studio sends its events without authentication
    assert caplog.text == ""


# Both


def test_tools_are_counted_and_a_refusal_is_logged_without_the_text(
    signs: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="gridner")
    assert tag(signs, f"{SECRET} has pain").status_code == 200
    assert tag(signs, SECRET, types="Ghost").status_code == 422
    assert predict(signs, SECRET, config=CONFIG.replace("Sign", "X").replace("Drug", "Y")).status_code == 422
    brat, studio = (record.getMessage() for record in caplog.records if record.name == "gridner.service")
    assert brat.startswith("POST /brat 422: type 'Ghost'")
    assert studio.startswith("POST /predict 422: labels of the labelling configuration: X")
    assert SECRET not in caplog.text
    assert 'gridner_requests_total{path="/brat",status="422"} 1.0' in signs.get("/metrics").text
