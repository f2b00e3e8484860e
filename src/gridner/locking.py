"""A lock on a folder that only one process may write to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gridner.errors import InUseError, OutputError


@contextmanager
def only_process(folder: Path, refusal: str) -> Iterator[None]:
    """Lock a folder, and create it if needed. If another process holds the lock, raise InUseError with `refusal`.

    The lock ends with the process, also if it is killed. A folder that stays empty is removed.
    """
    try:
        import fcntl
    except ImportError:  # not a Unix system: there is no such lock
        yield
        return
    while True:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            place = os.open(folder, os.O_RDONLY)
        except OSError as error:
            raise OutputError(f"{folder}: cannot be written ({error.strerror})") from None
        try:
            fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(place)
            raise InUseError(refusal) from None
        except OSError:  # a file system without locks
            pass
        if _is_at(place, folder):
            break
        os.close(place)  # another process removed the folder after we had opened it
    try:
        yield
    finally:
        with suppress(OSError):
            folder.rmdir()
        os.close(place)


def _is_at(place: int, folder: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(place), folder.stat())
    except OSError:
        return False
