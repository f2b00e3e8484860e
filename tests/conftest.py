import fcntl
import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from gridner.inference.recognizer import Recognizer

os.environ.setdefault("OMP_NUM_THREADS", "1")  # networks this small are no faster with two threads
os.environ.setdefault("HF_HUB_OFFLINE", "1")  # read once, when the hub's library is imported
settings.register_profile("gridner", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("gridner")


@pytest.fixture(autouse=True)
def no_finalizers_in_deep_recursion(request: pytest.FixtureRequest) -> Iterator[None]:
    """Collect the garbage of other tests first: a finalizer that runs at the recursion limit raises an error there."""
    if "deep nesting" not in request.node.name.replace("_", " "):
        yield
        return
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An exported model that finds many entities, none of them sensible, and always the same.

    Tracing it takes ten seconds, so several workers share one. Tests must not write into the folder.
    """
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder = shared / "exported-model"
    with open(shared / "exported-model.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            from gridner.export.onnx import export
            from support.untrained import untrained

            export(untrained("toe"), shared / "exporting")
            (shared / "exporting").rename(folder)
    return folder


@pytest.fixture(scope="session")
def recognizer() -> "Recognizer":
    """A recognizer that runs an untrained network on torch."""
    from support.untrained import untrained

    return untrained("toe").recognizer()


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
def address(recognizer: "Recognizer") -> Iterator[str]:
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
