"""A service of several models."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from gridner.inference.several_models import CombinedRecognizer
from gridner.service.app import Service
from support.serving import quick, running

TEXT = "No pain."
SIGN = {"name": "Sign", "description": "x", "example": "", "corpus": ""}


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    about = {
        "b": {"description": "Signs", "types": [{"name": "Sign", "description": "x", "example": "", "corpus": ""}]}
    }
    service = Service(recognizer=CombinedRecognizer({"a": quick(), "b": quick()}), about=about)
    with running(service) as address, httpx.Client(base_url=address) as client:
        yield client


def models_that_found(client: httpx.Client, **request: object) -> list[str]:
    done = client.post("/v1/recognize", json={"text": TEXT, **request})
    assert done.status_code == 200, done.text
    (entity,) = done.json()["documents"][0]["entities"]
    names: list[str] = entity["meta"]["models"]
    return names


def test_all_models_are_asked_unless_a_request_names_some(client: httpx.Client) -> None:
    assert models_that_found(client) == ["a", "b"]
    assert models_that_found(client, model="b") == ["b"]
    assert models_that_found(client, model=["b", "a"]) == ["a", "b"]


def test_a_model_that_the_service_does_not_have_is_refused(client: httpx.Client) -> None:
    for path, body in (
        ("/v1/recognize", {"model": "c"}),
        ("/v1/recognize", {"model": ["a", "c"]}),
        ("/page/draw", {"model": "c"}),
        ("/page/grid", {"model": "c", "at": 0}),
    ):
        done = client.post(path, json={"text": TEXT, **body})
        assert done.status_code == 422, done.text
        assert done.json()["detail"] == "model 'c', expected those of the service: a, b"
    assert client.post("/v1/recognize", json={"text": TEXT, "model": []}).status_code == 422


def test_all_models_are_listed_with_their_types(client: httpx.Client) -> None:
    first, second = client.get("/v1/models").json()["models"]
    assert (first["name"], second["name"], second["description"]) == ("a", "b", "Signs")
    assert [one["name"] for one in first["types"]] == ["Drug", "Sign"]
    assert second["types"] == [SIGN]


def test_the_page_draws_what_one_model_or_all_find(client: httpx.Client) -> None:
    for model, names in ((None, ["a", "b"]), ("a", ["a"])):
        drawn = client.post("/page/draw", json={"text": TEXT, "model": model}).json()
        assert [entity["meta"]["models"] for entity in drawn["document"]["entities"]] == [names]


def test_the_page_asks_the_model_that_is_chosen(client: httpx.Client, browser: Any) -> None:
    page = browser.new_page()
    page.goto(str(client.base_url))
    options = page.locator("#model option")
    options.nth(2).wait_for(state="attached")
    assert options.all_text_contents() == ["all models", "a", "b"]
    page.select_option("#model", "b")
    page.fill("#text", TEXT)
    with page.expect_response("**/page/draw") as drawn:
        page.click("#find")
    assert [entity["meta"]["models"] for entity in drawn.value.json()["document"]["entities"]] == [["b"]]
    page.close()
