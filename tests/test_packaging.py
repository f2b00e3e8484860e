"""The wheel: what is in it, and that it works without the repository."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="hatchling is not installed")
ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (found,) = folder.glob("*.whl")
    return found


def test_the_wheel_has_all_that_the_package_needs_and_no_more(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        sizes = sum(one.file_size for one in archive.infolist())
    here = ROOT / "src"
    expected = {path.relative_to(here).as_posix() for path in (here / "gridner").rglob("*") if path.is_file()}
    expected = {name for name in expected if "__pycache__" not in name}
    assert {name for name in names if ".dist-info/" not in name} == expected
    for needed in (
        "py.typed",
        "view/assets/page.html",
        "view/assets/draw.js",
        "config/presets/craft.toml",
        "models/medical/words.onnx",
    ):
        assert f"gridner/{needed}" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert sizes < 60 * 2**20


def test_the_wheel_works_without_the_repository(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    code = (
        "import gridner; print(gridner.__file__);"
        "print([e.type for e in gridner.load()('Pain in left arm and shoulder.').entities])"
    )
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "installed")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    place, found = done.stdout.splitlines()
    assert place.startswith(str(tmp_path))
    assert "Condition" in found


def test_every_extra_is_said_in_the_docs() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    for extra, packages in project["optional-dependencies"].items():
        assert f"| `{extra}` |" in page, extra
        for package in packages:
            name = re.split(r"[\[>=<]", package)[0]
            assert name == "gridner" or f"`{name}" in page, package
