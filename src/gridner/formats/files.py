"""Files as the formats read and write them: bounded, UTF-8, one clear line on an error, never half-written."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from gridner.errors import FormatError, InvalidError, Notes, OutputError

MAX_BYTES = 32 * 2**20  # of a line, or of a file that is read as a whole
SKIPPED = "bad record skipped"


@dataclass(frozen=True)
class Source:
    """Where and how to read."""

    path: Path
    texts: Path | None = None
    ids: frozenset[str] | None = None
    except_ids: frozenset[str] = frozenset()
    lenient: bool = False
    notes: Notes = field(default_factory=Notes)
    met: set[str] = field(default_factory=set)  # the ids that `wants` was asked about

    def wants(self, document_id: str) -> bool:
        """Whether a document of that id is to be read."""
        self.met.add(document_id)
        return (self.ids is None or document_id in self.ids) and document_id not in self.except_ids

    @contextmanager
    def record(self, where: str) -> Iterator[None]:
        """A part of a file that is skipped if bad and lenient. `where` is its place, for messages that lack one."""
        try:
            yield
        except (FormatError, InvalidError) as error:
            message = str(error) if isinstance(error, FormatError) else f"{where}: {error}"
            if not self.lenient:
                raise FormatError(message) from None
            self.notes.add(SKIPPED, message)


def read_text(path: Path) -> str:
    """The whole file, untouched: line ends and a byte-order mark stay."""
    with open(path, "rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise FormatError(f"{path}: larger than {MAX_BYTES:,} bytes, expected a document of at most that")
    return _decode(data, str(path))


class Line(NamedTuple):
    """A line without its end, its number (from 1), and the byte where it starts."""

    number: int
    text: str
    byte: int


def read_lines(path: Path, start: Line | None = None) -> Iterator[Line]:
    """The lines of a file, from `start` on; only a line feed ends a line. A byte-order mark is left off."""
    with open(path, "rb") as file:
        byte, number = (start.byte, start.number - 1) if start else (0, 0)
        file.seek(byte)
        while line := file.readline(MAX_BYTES + 1):
            number += 1
            if len(line) > MAX_BYTES:
                raise FormatError(f"{path}:{number}: a line longer than {MAX_BYTES:,} bytes, expected at most that")
            text = _decode(line, f"{path}:{number}").removesuffix("\n").removesuffix("\r")
            yield Line(number, text.removeprefix("\ufeff") if byte == 0 else text, byte)
            byte += len(line)


def _decode(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{where}: byte {error.start} is 0x{data[error.start]:02x}, expected UTF-8 text") from None


def files_under(root: Path, suffixes: tuple[str, ...]) -> dict[str, Path]:
    """Name without suffix → file, for a folder and those in it, sorted; or for one file. Hidden ones are left out."""
    if not root.exists():
        raise FormatError(f"{root}: not found")
    if root.is_file():
        paths = [(root.name, root)]
    else:
        paths = sorted((path.relative_to(root).as_posix(), path) for path in root.rglob("*") if path.is_file())
    found: dict[str, Path] = {}
    for name, path in paths:
        suffix = next((end for end in suffixes if name.endswith(end)), None)
        if suffix is None or any(part.startswith(".") for part in PurePosixPath(name).parts):
            continue
        key = name.removesuffix(suffix)
        if key in found:
            raise FormatError(f"{path}: document {key} also has {found[key]}, expected one file for a document")
        found[key] = path
    return found


def data_files(root: Path, suffixes: tuple[str, ...]) -> list[Path]:
    """The one file, whatever its name, or the files of a folder that end in one of the suffixes."""
    if root.is_file():
        return [root]
    found = list(files_under(root, suffixes).values())
    if not found:
        raise FormatError(f"{root}: no documents, expected files that end in {' or '.join(suffixes)}")
    return found


def numbered_files(root: Path, suffixes: tuple[str, ...]) -> list[tuple[Path, str]]:
    """The same, with what stands before a record's number in its id: nothing for one file, else the file's name."""
    return [
        (path, "" if path == root else f"{path.relative_to(root).as_posix().rsplit('.', 1)[0]}:")
        for path in data_files(root, suffixes)
    ]


def is_empty(text: str) -> bool:
    """Whether there is nothing to read: no character but white space and a byte-order mark."""
    return not text.strip().strip("\ufeff")


def check_not_empty(text: str, where: str) -> None:
    """A document without text is an error."""
    if is_empty(text):
        raise FormatError(f"{where}: an empty document, expected text")


def file_for(folder: Path, document_id: str, suffix: str) -> Path:
    """The file of a document in a folder, its parents made; an id that would leave the folder is an error."""
    parts = document_id.split("/")
    if any(part in ("", ".", "..") or "\\" in part or part.startswith(".") for part in parts):
        raise OutputError(f"document id {document_id!r} cannot be a file name")
    path = folder.joinpath(*parts[:-1], parts[-1] + suffix)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def write_text(path: Path, text: str) -> None:
    """Text as it is, line ends included."""
    with open(path, "x", encoding="utf-8", newline="") as file:
        file.write(text)


def check_output(path: Path, *, folder: bool, force: bool) -> None:
    """Refuse what must not be overwritten, before any work is done."""
    if folder and path.exists() and not path.is_dir():
        raise OutputError(f"{path}: is a file, expected a folder or a new name")
    if not folder and path.is_dir():
        raise OutputError(f"{path}: is a folder, expected a file or a new name")
    if force or not path.exists():
        return
    if not folder or any(path.iterdir()):
        raise OutputError(f"{path}: exists already; --force replaces it")


def write_whole(path: Path, make: Callable[[Path], None], *, folder: bool, force: bool) -> list[str]:
    """Let `make` write beside `path`, then move the result there: all of it or nothing.

    A folder that exists keeps its other files; their names are returned.
    """
    check_output(path, folder=folder, force=force)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if folder:
            part.mkdir()
        make(part)
        if not folder or not path.exists():
            part.replace(path)
            return []
        made = sorted(file.relative_to(part).as_posix() for file in part.rglob("*") if file.is_file())
        for name in made:
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (part / name).replace(path / name)
        return sorted({file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file()} - set(made))
    except OSError as error:
        raise OutputError(f"{error.filename or path}: cannot be written ({error.strerror or error})") from None
    finally:
        if part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        else:
            part.unlink(missing_ok=True)
