"""Standard streams as they come: closed, not UTF-8, a socket, a terminal."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from gridner import Document, Entity, Fragment, write

SHELL = 'exec "$@" '


def gridner(*arguments: object, redirect: str = "", **how: object) -> subprocess.CompletedProcess[bytes]:
    """The command, with streams that a shell redirects or closes."""
    command = ["sh", "-c", SHELL + redirect, "sh", sys.executable, "-m", "gridner", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=False, timeout=300, **how)  # type: ignore[call-overload, no-any-return]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    write([Document("a", "pain", (Entity("ADR", (Fragment(0, 4),)),))], tmp_path / "a.jsonl")
    return tmp_path / "a.jsonl"


def test_a_result_for_a_closed_output_is_an_error(corpus: Path) -> None:
    done = gridner("stats", corpus, redirect=">&-")
    assert (done.returncode, done.stderr) == (2, b"gridner: the result cannot be written (Bad file descriptor)\n")


def test_a_closed_output_does_no_harm_where_nothing_is_printed(corpus: Path, tmp_path: Path) -> None:
    done = gridner("report", corpus, corpus, "--output", tmp_path / "report.html", redirect="<&- >&-")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "report.html").exists()


def test_messages_for_a_closed_error_output_do_not_go_elsewhere(tmp_path: Path) -> None:
    done = gridner("stats", tmp_path / "missing", redirect="2>&-")
    assert (done.returncode, done.stdout) == (2, b"")


def test_a_closed_input_is_empty(exported: Path) -> None:
    for arguments in ([], ["-"], ["-", "--format", "text"]):
        done = gridner("predict", *arguments, "--model", exported, redirect="<&-")
        assert done.returncode == 2
        assert b"Traceback" not in done.stderr
        assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("encoding", ["utf-8:strict", "ascii:strict", "latin-1"])
def test_standard_input_is_utf_8_whatever_the_locale(exported: Path, encoding: str) -> None:
    env = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    bad = gridner("predict", "-", "--format", "text", "--model", exported, input=b"pain \xff", env=env)
    assert (bad.returncode, bad.stderr) == (2, b"gridner: /dev/stdin: byte 5 is 0xff, expected UTF-8 text\n")
    good = gridner("predict", "-", "--format", "text", "--model", exported, input="κ pain".encode(), env=env)
    assert json.loads(good.stdout)["text"] == "κ pain"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_json_lines_lose_no_character(exported: Path, encoding: str) -> None:
    text = "κ pain — 疼痛 \x85\x9b31m é"
    env = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    done = gridner("predict", text, "--model", exported, "--json", env=env)
    assert json.loads(done.stdout.decode(encoding))["text"] == text
    assert "\x9b" not in done.stdout.decode("utf-8", "replace")


def test_standard_input_may_be_a_socket(exported: Path) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(b'{"id": "a", "text": "No pain."}\n')
        ours.shutdown(socket.SHUT_WR)
        done = gridner("predict", "-", "--model", exported, stdin=theirs)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["id"] == "a"


def test_no_escape_of_the_input_reaches_the_terminal(tmp_path: Path) -> None:
    bad = "\x1b[31mred\x9b0m\x07"
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "d.txt").write_text(f"pain {bad}", encoding="utf-8")
    (tmp_path / "in" / "d.ann").write_text(f"T1\tADR 0 4\tpain\n#1\tNote T9\t{bad}\nR{bad}\n", encoding="utf-8")
    (tmp_path / f"x{bad}.jsonl").write_text("bad")
    shown = [
        gridner("show", tmp_path / "in", "--lenient"),
        gridner("convert", tmp_path / "in", tmp_path / "out", "--lenient"),
        gridner("show", tmp_path / "in", "--lenient", "--json"),
        gridner("show", tmp_path / "in"),
        gridner("show", tmp_path / f"x{bad}.jsonl"),
    ]
    assert [done.returncode for done in shown] == [0, 0, 0, 2, 2]
    for done in shown:
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", (done.stdout + done.stderr).decode("utf-8"))


def test_types_with_brackets_are_printed_as_they_are(tmp_path: Path) -> None:
    names = ("[/x]", "[bold]")
    write([Document("a", "pain", tuple(Entity(name, (Fragment(0, 4),)) for name in names))], tmp_path / "a.jsonl")
    done = gridner("stats", tmp_path / "a.jsonl")
    assert done.returncode == 0, done.stderr
    assert all(f"  {name} ".encode() in done.stdout for name in names)
