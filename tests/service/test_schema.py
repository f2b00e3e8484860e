"""What OpenAPI says of the service is what it does, whatever schemathesis thinks of."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gridner.inference.recognizer import Recognizer
from gridner.service.app import Service, create_app
from gridner.service.limits import Limits

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")


@pytest.fixture(scope="module")
def described(recognizer: Recognizer) -> Any:
    app = create_app(Service(recognizer=recognizer, limits=Limits(characters=5000)))
    refusals = {"expected-statuses": [400, 413, 422]}  # 413 also for too many texts
    config = schemathesis.Config.from_dict({"checks": {"negative_data_rejection": refusals}})
    return schemathesis.openapi.from_asgi("/openapi.json", app, config=config)


@pytest.mark.parametrize(
    ("path", "method", "mode"),
    [
        ("/v1/recognize", "POST", "positive"),
        ("/v1/recognize", "POST", "negative"),
        ("/brat", "POST", "positive"),
        ("/v1/models", "GET", "positive"),
        ("/healthz", "GET", "positive"),
        ("/readyz", "GET", "positive"),
        ("/metrics", "GET", "positive"),
    ],
)
def test_answers_are_as_described(described: Any, path: str, method: str, mode: str) -> None:
    operation = described[path][method]

    @settings(max_examples=40, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def all_cases(data: st.DataObject) -> None:
        case = data.draw(operation.as_strategy(generation_mode=schemathesis.GenerationMode(mode)))
        case.call_and_validate()

    all_cases()
