from collections.abc import Iterator
from typing import Any

import pytest

from gridner.inference.recognizer import Recognizer


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser, where there is one."""
    from support.browser import which
    from support.page import chromium

    if which() is None:
        pytest.skip("there is no Chromium to look at the page with")
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def address(recognizer: Recognizer) -> Iterator[str]:
    """A service that takes short texts."""
    from gridner.service.app import Service
    from gridner.service.limits import Limits
    from support.serving import running

    with running(Service(recognizer=recognizer, limits=Limits(characters=500))) as at:
        yield at


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    """The page of that service."""
    from support.page import opened

    with opened(browser, address) as one:
        yield one
