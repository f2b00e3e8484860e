"""The folder of a training: what may be there, who may write, and whether there is room."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from gridner.errors import OutputError
from gridner.inference.checkpoint import MANIFEST, read_checkpoint
from gridner.locking import only_process
from gridner.training.snapshot import differences

SNAPSHOT, EPOCHS = "snapshot", "epochs"
SPARE = 50 * 2**20  # bytes that must stay free


def finished_run(output: Path, identity: Mapping[str, Any], *, resume: bool) -> Mapping[str, Any] | None:
    """Return the facts of the finished run in `output`, or None if a run may start or resume there.

    Raise OutputError if the folder holds anything else: nothing is overwritten.
    """
    if output.exists() and not output.is_dir():
        raise OutputError(f"{output}: is a file, expected a new folder")
    if not output.exists() or not any(output.iterdir()):
        return None
    if not resume:
        raise OutputError(f"{output}: exists and is not empty, choose a new folder, or pass --resume to continue a run")
    if not (output / MANIFEST).is_file():
        if (output / SNAPSHOT).is_dir():
            return None
        raise OutputError(f"{output}: is not empty and not a gridner training run; choose a new folder")
    checkpoint, _ = read_checkpoint(output)
    if differing := differences(checkpoint.training.get("identity", {}), identity):
        raise OutputError(f"{output}: a finished run with {differing}, expected a new folder")
    return checkpoint.training


def lock_folder(output: Path) -> AbstractContextManager[None]:
    """Lock the folder of a run while the context lasts. Raise InUseError if another process trains there."""
    return only_process(output, f"{output}: another process trains there; choose another folder")


def prepare_folder(output: Path, *, needed: int) -> None:
    """Create the folder and check before the first step that it can be written and has `needed` bytes of room.

    A run needs room for two snapshots of weights and moments, the best weights twice, and the model.
    """
    folder = output / SNAPSHOT
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for directory in (output, folder, *(output / EPOCHS).glob("*")):
            for leftover in (*directory.glob(".tmp*"), *directory.glob("*.part")):  # of a run that was killed
                leftover.unlink()
        for directory in (output, folder):
            probe = directory / f".probe-{os.getpid()}"
            probe.write_bytes(b"x")
            probe.unlink()
        reused = (path for kept in (folder, output / EPOCHS) for path in kept.rglob("*") if path.is_file())
        free = shutil.disk_usage(output).free + sum(path.stat().st_size for path in reused)
    except OSError as error:
        raise OutputError(f"{error.filename or output}: cannot be written ({error.strerror})") from None
    if free < needed:
        raise OutputError(
            f"{output}: {free / 2**20:,.0f} MB are free, expected at least {needed / 2**20:,.0f} MB for snapshots"
        )
