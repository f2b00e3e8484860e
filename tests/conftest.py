import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from gridner.inference.recognizer import Recognizer

os.environ.setdefault("OMP_NUM_THREADS", "1")  # networks this small gain nothing by two, and two wait for each other
settings.register_profile("gridner", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("gridner")


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of ONNX. It finds much, none of it sensible, and always the same."""
    from gridner.export.onnx import export
    from support.untrained import untrained

    folder = tmp_path_factory.mktemp("exported") / "model"
    export(untrained("toe"), folder)
    return folder


@pytest.fixture(scope="session")
def recognizer() -> "Recognizer":
    """One on torch, as untrained."""
    from support.untrained import untrained

    return untrained("toe").recognizer()
