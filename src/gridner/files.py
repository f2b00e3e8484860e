"""Safe reading and writing: bounded size, UTF-8, one-line errors, no half-written files."""

from __future__ import annotations

import codecs
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple

from gridner.errors import FormatError, InvalidError, Notes, OutputError

MAX_BYTES = 32 * 2**20  # of a line, or of a file that is read as a whole
MAX_MESSAGE = 500  # characters
SKIPPED = "bad record skipped"
STANDARD_INPUT = Path("/dev/stdin")


@dataclass(frozen=True)
class Source:
    """What to read, and how."""

    path: Path
    texts: Path | None = None
    known_texts: Mapping[str, str] = field(default_factory=dict)  # by document id, for files without texts
    ids: frozenset[str] | None = None
    except_ids: frozenset[str] = frozenset()
    lenient: bool = False
    repair: bool = False  # try to repair annotations whose text and offsets disagree
    notes: Notes = field(default_factory=Notes)
    met: set[str] = field(default_factory=set)  # ids of `ids` and `except_ids` that were found
    seen: set[str] = field(default_factory=set)  # ids that `once` has checked

    def wants(self, document_id: str) -> bool:
        """Return whether to read the document with this id."""
        if document_id in self.except_ids or (self.ids is not None and document_id in self.ids):
            self.met.add(document_id)
        return (self.ids is None or document_id in self.ids) and document_id not in self.except_ids

    def once(self, document_id: str, where: str) -> None:
        """Raise an error if an id comes a second time."""
        if document_id in self.seen:
            raise FormatError(f"{where}: document {document_id} appears twice; ids must be unique")
        self.seen.add(document_id)

    @contextmanager
    def record(self, where: str) -> Iterator[None]:
        """Read a record. If it is bad, raise a FormatError at `where`, or skip and count it if lenient."""
        try:
            yield
        except (FormatError, InvalidError, OSError) as error:
            message = _one_line(error, where)
            if not self.lenient:
                raise FormatError(message) from None
            self.notes.add(SKIPPED, message)


def _one_line(error: Exception, where: str) -> str:
    if isinstance(error, OSError):
        return f"{error.filename or where}: cannot be read ({error.strerror or error})"
    message = str(error) if isinstance(error, FormatError) else f"{where}: {error}"
    return message if len(message) <= MAX_MESSAGE else message[:MAX_MESSAGE] + "…"


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn an OSError into a FormatError."""
    try:
        yield
    except OSError as error:
        raise FormatError(_one_line(error, str(path))) from None


def open_bytes(path: Path) -> BinaryIO:
    """Open a file to read. Standard input may be a socket, which has no path."""
    return open(0, "rb", closefd=False) if path == STANDARD_INPUT else open(path, "rb")


def read_bytes(path: Path) -> bytes:
    """The whole file, if it is not too large."""
    with open_bytes(path) as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise FormatError(f"{path}: larger than {MAX_BYTES:,} bytes, expected a document of at most that")
    return data


def read_text(path: Path) -> str:
    """Return the whole text, with its line ends and byte-order mark."""
    return _decode(read_bytes(path), str(path))


class Line(NamedTuple):
    """A line without its end: its file, its number (from 1), and the byte where it starts."""

    path: Path
    number: int
    byte: int
    data: bytes

    @property
    def where(self) -> str:
        """Its place, for messages."""
        return f"{self.path}:{self.number}"

    @property
    def text(self) -> str:
        """The text of the line. A line that is too long or not UTF-8 raises only here, so it can be skipped."""
        if len(self.data) > MAX_BYTES:
            raise FormatError(f"{self.where}: a line longer than {MAX_BYTES:,} bytes, expected at most that")
        return _decode(self.data, self.where)

    @property
    def is_blank(self) -> bool:
        """Whether the line has only spaces and tabs."""
        return not self.data.strip(b" \t")


def read_lines(path: Path, start: Line | None = None) -> Iterator[Line]:
    """Yield the lines of a file from `start` on, without a byte-order mark. Only a line feed ends a line."""
    with open_bytes(path) as file:
        byte, number = (start.byte, start.number - 1) if start else (0, 0)
        if byte:
            file.seek(byte)
        while data := file.readline(MAX_BYTES + 2):
            number += 1
            size = len(data)
            rest = data
            while not rest.endswith(b"\n") and (rest := file.readline(MAX_BYTES)):  # of a line that is too long
                size += len(rest)
            data = data.removesuffix(b"\n").removesuffix(b"\r")
            yield Line(path, number, byte, data.removeprefix(codecs.BOM_UTF8) if byte == 0 else data)
            byte += size


def _decode(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{where}: byte {error.start} is 0x{data[error.start]:02x}, expected UTF-8 text") from None


def is_empty(text: str) -> bool:
    """Return whether a text has only white space and byte-order marks."""
    return not text.strip().strip("\ufeff")


def check_not_empty(text: str, where: str) -> None:
    """Raise an error if a document has no text."""
    if is_empty(text):
        raise FormatError(f"{where}: an empty document, expected text")


def file_for(folder: Path, document_id: str, suffix: str) -> Path:
    """Return the file of a document in a folder, and create its parents. An id must not lead out of the folder."""
    parts = document_id.split("/")
    if any(part in ("", ".", "..") or "\\" in part or part.startswith(".") for part in parts):
        raise OutputError(f"document id {document_id!r:.200}: expected a file name inside the folder that is written")
    path = folder.joinpath(*parts[:-1], parts[-1] + suffix)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def write_text(path: Path, text: str) -> None:
    """Write text to a new file, with its line ends as they are."""
    with open(path, "x", encoding="utf-8", newline="") as file:
        file.write(text)


def check_output(path: Path, *, folder: bool, force: bool) -> None:
    """Raise an error if the output must not be overwritten; call it before any work."""
    if os.path.islink(path) and not path.exists():  # noqa: PTH114
        target = os.path.realpath(path)
        if os.path.islink(target):  # noqa: PTH114
            raise OutputError(f"{path}: a link that leads to itself, expected a new name")
        if not force:
            raise OutputError(f"{path}: is a link to {target}, which does not exist; --force writes it there")
        return
    if folder and path.exists() and not path.is_dir():
        raise OutputError(f"{path}: is a file, expected a folder or a new name")
    if not folder and path.exists() and not path.is_file():
        found = "a folder" if path.is_dir() else "a device or a pipe"
        raise OutputError(f"{path}: is {found}, expected a file or a new name")
    if force or not path.exists():
        return
    if not folder or any(path.iterdir()):
        raise OutputError(f"{path}: exists already; --force replaces it")


def write_whole(path: Path, make: Callable[[Path], object], *, folder: bool, force: bool) -> list[str]:
    """Let `make` write beside `path`, then move the result there: all of it or nothing.

    A link stays a link: what it leads to is written. A file that is replaced passes on its mode and owner. A folder
    that exists keeps its other files; their names are returned.
    """
    linked = os.path.islink(path)  # noqa: PTH114
    target = Path(os.path.realpath(path)) if linked else path.absolute()
    part = target.parent / f".{target.name}.{os.getpid()}.part"
    made: list[Path] = []
    try:
        check_output(path, folder=folder, force=force)
        made = [parent for parent in part.parents if not parent.exists()]
        (target if linked else path).parent.mkdir(parents=True, exist_ok=True)
        if folder:
            part.mkdir()
        make(part)
        check_output(path, folder=folder, force=force)  # another process may have written there meanwhile
        left: list[str] = []
        if folder and target.exists():
            left = _move_into(part, target)
        elif folder:
            part.replace(target)
        else:
            _move(part, target)
        made = []
        return left
    except OSError as error:
        place = str(error.filename or path).replace(str(part), str(path))
        raise OutputError(f"{place}: cannot be written ({error.strerror or error})") from None
    finally:
        with suppress(OSError):
            shutil.rmtree(part) if part.is_dir() else part.unlink(missing_ok=True)
        for parent in made:
            with suppress(OSError):
                parent.rmdir()


def _move(part: Path, target: Path) -> None:
    """Move a file over another one, and keep the mode and, if allowed, the owner of that."""
    if target.exists():
        about = target.stat()
        with suppress(OSError):
            os.chown(part, about.st_uid, about.st_gid)
        part.chmod(stat.S_IMODE(about.st_mode))
    part.replace(target)


def _move_into(part: Path, folder: Path) -> list[str]:
    """Move the files of `part` into `folder`. Return the names of the other files there."""
    names = _names(part)
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if (folder / name).is_dir():
            raise OutputError(f"{folder / name}: is a folder, expected a file or a new name")
    for name in sorted(names):
        if not (folder / name).is_symlink():
            _move(part / name, folder / name)
            continue
        target = Path(os.path.realpath(folder / name))
        beside = target.parent / f".{target.name}.{os.getpid()}.part"  # a link may lead to another disk
        try:
            shutil.copyfile(part / name, beside)
            _move(beside, target)
        finally:
            beside.unlink(missing_ok=True)
    return sorted(_names(folder) - names)


def _names(folder: Path) -> set[str]:
    return {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}
