"""The command line as typed, without starting a new Python."""

import logging
import os
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from gridner.cli import main

ENVIRONMENT = {"COLUMNS": "120", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}


def gridner(*arguments: object, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command in this process, and return its exit code and what it wrote.

    Imports and compiled code are shared with the other tests, so this takes milliseconds where a new process takes
    seconds. Streams are replaced below Python, as a shell does. Tests of imports, signals and closed streams need a
    process of their own: `tests/cli/test_cli_streams.py`.
    """
    command = ["gridner", *map(str, arguments)]
    with ExitStack() as stack:
        streams = [stack.enter_context(tempfile.TemporaryFile("w+b")) for _ in range(3)]
        streams[0].write((stdin or "").encode())
        streams[0].seek(0)
        with _streams(*(stream.fileno() for stream in streams)), _process_state(), patch.object(sys, "argv", command):
            code = _exit_code()
        written = []
        for stream in streams[1:]:
            stream.seek(0)
            written.append(stream.read().decode())
    return subprocess.CompletedProcess(command, code, *written)


def _exit_code() -> int:
    try:
        main()
    except SystemExit as stopped:
        return stopped.code if isinstance(stopped.code, int) else int(stopped.code is not None)
    return 0


@contextmanager
def _streams(*files: int) -> Iterator[None]:
    """Put files in the place of standard input, output and error, for Python and below it."""
    before = sys.stdin, sys.stdout, sys.stderr
    for stream in before[1:]:
        stream.flush()
    kept = [os.dup(number) for number in range(3)]
    for number, file in enumerate(files):
        os.dup2(file, number)
    replaced = [
        open(number, mode, encoding="utf-8", closefd=False, newline="")  # noqa: SIM115
        for number, mode in enumerate(("r", "w", "w"))
    ]
    sys.stdin, sys.stdout, sys.stderr = replaced
    try:
        yield
    finally:
        for stream in replaced:
            stream.close()
        sys.stdin, sys.stdout, sys.stderr = before
        for number, file in enumerate(kept):
            os.dup2(file, number)
            os.close(file)


@contextmanager
def _process_state() -> Iterator[None]:
    """Undo what a command changes for the whole process."""
    signals = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    disabled = logging.root.manager.disable
    try:
        with patch.dict(os.environ, ENVIRONMENT), warnings.catch_warnings():
            yield
    finally:
        logging.disable(disabled)
        for number, handler in signals.items():
            signal.signal(number, handler)
