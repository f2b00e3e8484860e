"""Every command and every snippet of the docs, run in the order of its page as a reader runs it.

The tutorial and docs/ecosystem.md have tests of their own. What takes other machines, hours or corpora that are not
ours is not run: there the options of the command are checked, and that the files of gridner it names are there.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, chdir
from pathlib import Path

import pytest
import typer

from gridner.cli import app
from support.command import gridner
from support.docs_folder import ROOT, furnish
from support.serving import served

PAGES = {"README.md": ROOT / "README.md"} | {
    path.relative_to(ROOT / "docs").as_posix(): path for path in sorted((ROOT / "docs").rglob("*.md"))
}
RESULTS = "results"  # hours, and a corpus that is not ours
ELSEWHERE = ("tutorial.md", "ecosystem.md")  # tests/docs/test_tutorial.py; tests/integrations
BLOCK = re.compile(r"^( *)```(sh|python)\b([^\n]*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
SCRIPTS = sorted({one for page in PAGES.values() for one in re.findall(r"benchmarks/\w+\.py", page.read_text())})
NOT_HERE = {
    r"pip install|python3 -m venv": "it installs",
    r"cp deploy/|systemctl |podman ": "it is for the machine of a service",
    r"accelerate launch|torchrun": "four devices",
    r"--address auto": "a cluster",
    r"gridner experiment": "hours",
    r"gridner pretrain": "an hour",
    r"from_pretrained": "a model of the hub",
    r"python benchmarks/": "corpora that are not ours, and time",
}


def steps(page: Path) -> Iterator[tuple[str, str]]:
    """("sh", a command) and ("python", a snippet), in their order."""
    for indent, language, name, body in BLOCK.findall(page.read_text(encoding="utf-8")):
        if name.strip() in ("first-run", "tests"):  # what a newcomer runs, outside of the tests
            continue
        text = re.sub(rf"^{indent}", "", body, flags=re.MULTILINE)
        if language == "python":
            yield "python", text
            continue
        joined = re.sub(r"\\\n\s*", "", text)
        for command in re.findall(r"^for [\s\S]*?^done$|^.+$", joined, re.MULTILINE):
            yield "sh", command


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    room = tmp_path_factory.mktemp("docs")
    furnish(room)
    (room / "bin").mkdir()
    (room / "bin" / "gridner").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gridner "$@"\n')
    (room / "bin" / "gridner").chmod(0o755)
    return room


@pytest.mark.parametrize("name", [name for name in PAGES if name not in ELSEWHERE])
def test_commands_and_snippets_run(name: str, furnished: Path, tmp_path: Path) -> None:
    room, addresses = tmp_path / "room", ["localhost:8000"]
    with ExitStack() as stack:
        for language, text in steps(PAGES[name]):
            if language == "sh":
                check_command(text)
                if name.startswith(RESULTS) or any(re.search(pattern, text) for pattern in NOT_HERE):
                    continue
            if not room.exists():
                shutil.copytree(furnished, room)
            if text.startswith("gridner serve"):
                text_here = re.sub("--port [0-9]+", "", text).replace(" model ", f" {room}/model ")
                _, address = stack.enter_context(served(*shlex.split(text_here, comments=True)[2:]))
                addresses.append(address.removeprefix("http://"))
            else:
                run(language, text.replace("localhost:8000", addresses[:2][-1]), room)


def run(language: str, text: str, room: Path) -> None:
    """A command as it is, but that trainings are small, outputs that are there make way, and nothing is published."""
    env = {
        **os.environ,
        "PATH": f"{room / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "HF_HUB_OFFLINE": "1",
        "PYTHONUTF8": "1",
    }
    if language == "sh":
        text = re.sub(r"gridner train \w+ ([^#]*)", r"gridner train tiny --set train.epochs=1 \1", text)
        text = re.sub("gridner learn ", "gridner learn --set train.epochs=1 ", text)
        text = re.sub(r"(gridner distill [^-]*(?:-\d[^-]*)*)\b(?:craft|tiny) ", r"\1tiny --set train.epochs=1 ", text)
        for output in ("report.html", *re.findall(r"(?:--output|convert +\S+) +(\S+)", text)):
            path = room / output
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        needs_shell = re.search(r"[|<>;&$]", text.split(" #")[0])
        if text.startswith("gridner ") and not needs_shell and "--engine ray" not in text:  # Ray warns in its process
            return run_here(shlex.split(text, comments=True)[1:], room)
    text = re.sub(r".*push_to_hub.*", "", text)
    command = ["bash", "-euo", "pipefail", "-c", text] if language == "sh" else [sys.executable, "-c", text]
    done = subprocess.run(
        command, cwd=room, env=env, capture_output=True, text=True, encoding="utf-8", check=False, timeout=300
    )
    assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
    return None


def run_here(arguments: list[str], room: Path) -> None:
    """A command that needs no shell, without starting a new Python."""
    with chdir(room):
        paths = {one: sorted(map(str, Path().glob(one))) if "*" in one else [one] for one in arguments}
        done = gridner(*(path for one in arguments for path in paths[one]))
    assert done.returncode == 0, f"{shlex.join(arguments)}\n{done.stdout}\n{done.stderr}"


def check_command(text: str) -> None:
    """Options that exist, extras that exist, files of the repository that exist."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for names in re.findall(r"(?:gridner|\.)\[([a-z,]+)\]", text):
        assert set(names.split(",")) <= set(extras), text
    for path in re.findall(r"\b(?:deploy|benchmarks)/\S+|constraints\.txt", text):
        assert (ROOT / path).is_file(), text
    for part in re.findall(r"\bgridner ((?:info|[a-z]+ )[^|;#>\n]*)", text):
        arguments = shlex.split(part.replace("…", "x"), comments=True)
        group = typer.main.get_command(app)
        context = group.make_context("gridner", list(arguments))
        name, command, rest = group.resolve_command(context, arguments)  # type: ignore[attr-defined]
        if not part.endswith("…"):  # "and so on, as above"
            command.make_context(name, rest, parent=context)


def test_each_exception_is_still_needed() -> None:
    commands = [text for page in PAGES.values() for _, text in steps(page)]
    for pattern in NOT_HERE:
        assert any(re.search(pattern, text) for text in commands), pattern


@pytest.mark.parametrize("script", SCRIPTS)
def test_benchmarks_have_the_options_that_the_docs_give_them(script: str) -> None:
    lines = [text for page in PAGES.values() for language, text in steps(page) if script in text and language == "sh"]
    done = subprocess.run(
        [sys.executable, script, "--help"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    for option in {option for line in lines for option in re.findall(r" (--[a-z0-9-]+)", line.split(script)[1])}:
        assert option in done.stdout, f"{script} {option}"
