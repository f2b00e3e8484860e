"""The command line, as typed."""

import os
import subprocess
import sys


def gridner(*arguments: object, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gridner", *map(str, arguments)]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "120"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=env, input=stdin, timeout=300)
