"""Plain text for pretraining: the lines of sources in bounded memory, and fingerprints of sources."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import lzma
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from gridner.errors import FormatError, Notes, UsageError
from gridner.files import reading
from gridner.formats import read

PLAIN = (".txt", ".txt.gz", ".txt.xz")
CHUNK = 2**20  # bytes per read
LONGEST = 10_000  # characters of a line; longer lines are split at white space
COMPANIONS = (".ann", ".conf", ".md", ".tsv")  # files that accompany texts and have none


@dataclass(frozen=True, slots=True)
class Source:
    """A file or folder of text, and how often an epoch reads it."""

    path: Path
    weight: float = 1.0
    format: str = "auto"


def sources_of(given: Sequence[str], format: str = "auto") -> list[Source]:
    """Return the sources that the command line gives as PATH or PATH=WEIGHT."""
    sources: dict[Path, Source] = {}
    for name in given:
        path, weight = Path(name), 1.0
        head, equals, tail = name.rpartition("=")
        if equals and not path.exists():
            path, weight = Path(head), _weight(name, tail)
        if not path.exists():
            raise FormatError(f"{path}: not found")
        if path in sources:
            raise UsageError(f"{path}: given twice; to read it twice as often, write {path}=2")
        sources[path] = Source(path, weight, format)
    return list(sources.values())


def _weight(name: str, given: str) -> float:
    try:
        weight = float(given)
    except ValueError:
        weight = 0.0
    if not 0 < weight <= 100:
        raise UsageError(
            f"{name}: no such file, and {given!r} is not a weight; expected TEXT=WEIGHT with 0 < WEIGHT ≤ 100"
        )
    return weight


def lines_of(source: Source, notes: Notes) -> Iterator[str]:
    """Yield the non-empty lines of a source, without white space at their ends.

    Documents of an annotated corpus are split into lines, too. Long lines become several.
    """
    plain = plain_files(source)
    if plain is None:
        documents = read(source.path, source.format, notes=notes)
        for document in documents:
            yield from _short_lines(document.text.splitlines(), f"{source.path}: document {document.id}", notes)
        return
    if source.path.is_dir():
        for path in _others(source.path, plain):
            notes.add("file that is not plain text, left out", str(path))
    for path in plain:
        with _decompressing(path):
            yield from _short_lines(_lines(path), str(path), notes)


def plain_files(source: Source) -> list[Path] | None:
    """Return the plain-text files of a source, sorted, or None if it is a corpus in an annotation format."""
    if source.format not in ("auto", "text"):
        return None
    with reading(source.path):
        if source.path.is_dir():
            paths = [path for path in _visible(source.path) if path.name.endswith(PLAIN)]
            if not paths and source.format == "text":
                raise FormatError(f"{source.path}: no text, expected files that end in {', '.join(PLAIN)}")
            return paths or None
    return [source.path] if source.path.name.endswith(PLAIN) or source.format == "text" else None


def fingerprint(source: Source) -> dict[str, object]:
    """Return name, weight, size and hash of a source, without any of its text."""
    digest, size = hashlib.sha256(), 0
    with reading(source.path):
        folder = source.path.is_dir()
        files = plain_files(source) or (_visible(source.path) if folder else [source.path])
        for path in files:
            if folder:
                digest.update(f"{path.relative_to(source.path).as_posix()}\0{path.stat().st_size}\0".encode())
            with open(path, "rb") as file:
                while data := file.read(CHUNK):
                    size += len(data)
                    digest.update(data)
    return {"name": source.path.name, "weight": source.weight, "bytes": size, "sha256": digest.hexdigest()}


def _visible(folder: Path) -> list[Path]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in paths if not any(part.startswith(".") for part in path.relative_to(folder).parts))


def _others(folder: Path, plain: Sequence[Path]) -> list[Path]:
    known = set(plain)
    return [path for path in _visible(folder) if path not in known and not path.name.endswith(COMPANIONS)]


class _decompressing:  # noqa: N801  # used as a context
    """Turn errors of damaged archives and unreadable files into FormatError."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, EOFError | lzma.LZMAError | zlib.error | gzip.BadGzipFile):
            raise FormatError(f"{self.path}: a damaged archive ({error}); compress the text again") from None
        if isinstance(error, OSError):
            raise FormatError(f"{self.path}: cannot be read ({error.strerror or error})") from None


def _open(path: Path) -> IO[bytes]:
    if path.suffix == ".gz":
        return cast("IO[bytes]", gzip.open(path, "rb"))
    if path.suffix == ".xz":
        return lzma.open(path, "rb")
    return open(path, "rb")


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file, very long ones in parts. Only a line feed ends a line."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    rest, start = "", 0
    with _open(path) as file:
        while True:
            data = file.read(CHUNK)
            try:
                if (zero := data.find(b"\0")) >= 0:
                    raise FormatError(f"{path}: byte {start + zero} is 0x00; expected text, this is a binary file")
                rest += decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                raise FormatError(
                    f"{path}: near byte {start + error.start}: 0x{error.object[error.start]:02x} is not UTF-8; "
                    "convert the text to UTF-8"
                ) from None
            start += len(data)
            *complete, rest = rest.split("\n")
            yield from complete
            if len(rest) > CHUNK:  # a very long line: yield its beginning, up to the end of a word
                end = max(rest.rfind(" "), 0) or len(rest)
                yield rest[:end]
                rest = rest[end:]
            if not data:
                yield rest
                return


def _short_lines(lines: Iterator[str] | Sequence[str], where: str, notes: Notes) -> Iterator[str]:
    """Yield the non-empty lines, those of more than LONGEST characters in parts."""
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if len(text) > LONGEST:
            notes.add(f"line of more than {LONGEST:,} characters, split", f"{where}:{number}")
        while len(text) > LONGEST:
            end = text.rfind(" ", 1, LONGEST + 1)
            end = end if end > 0 else LONGEST
            yield text[:end]
            text = text[end:].lstrip()
        if text:
            yield text
