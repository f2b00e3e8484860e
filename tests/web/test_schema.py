"""What OpenAPI says of the service is what it does, whatever schemathesis thinks of."""

from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from gridner.recognizer import Recognizer
from gridner.web.app import Service, create_app
from gridner.web.limits import Limits

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")


@pytest.fixture(scope="module")
def described(recognizer: Recognizer) -> Any:
    app = create_app(Service(recognizer=recognizer, limits=Limits(characters=500, body_bytes=5000)))
    return schemathesis.openapi.from_asgi("/openapi.json", app)


schema = schemathesis.pytest.from_fixture("described")


@schema.parametrize()  # type: ignore[untyped-decorator]
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_answers_are_as_described(case: Any) -> None:
    case.call_and_validate()
