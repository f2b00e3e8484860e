from pathlib import Path

import pytest

from gridner import GridnerError, __version__
from gridner.inference import installation
from gridner.inference.installation import describe_installation


def test_versions_and_the_model_are_described(exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "PACKAGES", ("gridner", "no-such-package"))
    facts = describe_installation(exported)
    assert facts["versions"] == {"gridner": __version__, "no-such-package": None}
    assert facts["model"]["folder"] == str(exported)
    assert facts["model"]["engine"].startswith("ONNX Runtime")


def test_only_a_broken_default_model_becomes_part_of_the_description(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> Path:
        raise GridnerError("the model is damaged")

    monkeypatch.setattr(installation, "find_model", broken)
    assert describe_installation()["model"] == {"error": "the model is damaged"}
    with pytest.raises(GridnerError, match="damaged"):
        describe_installation(tmp_path)
