"""Find the files of a corpus in a folder and its subfolders. What cannot be read is an error or is counted."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable
from pathlib import Path

from gridner.errors import FormatError
from gridner.files import Source

READ_ALREADY = "link to a folder that is read already, left out"


def files_under(root: Path, suffixes: tuple[str, ...], source: Source | None = None) -> dict[str, Path]:
    """Return the files of a folder and its subfolders (or the one file) by name without suffix, sorted.

    Suffixes match in upper and lower case. Links are followed. Hidden files and folders are left out. A folder that
    cannot be read and a link that leads nowhere are errors; if `source` is lenient, they are skipped and counted.
    """
    source = source or Source(root)
    return files_by_name(root, names_under(root, source), suffixes, source)


def names_under(root: Path, source: Source) -> list[str]:
    """Return the files in a folder and its subfolders by their path from there, sorted; or the name of the one file.

    Each folder is read once, however many links lead to it.
    """
    if not root.exists():
        raise FormatError(f"{root}: not found")
    if root.is_file():
        return [root.name]
    names: list[str] = []
    seen: set[tuple[int, int]] = set()
    folders, links = deque([""]), deque[str]()
    while folders or links:
        folder = folders.popleft() if folders else links.popleft()
        path = root / folder
        inside: list[str] = []
        with source.record(str(path)):
            about = path.stat()
            if (about.st_dev, about.st_ino) in seen:
                source.notes.add(READ_ALREADY, str(path))
                continue
            seen.add((about.st_dev, about.st_ino))
            inside = sorted(name for name in os.listdir(path) if not name.startswith("."))  # noqa: PTH208
        for name in inside:
            name_from_root = f"{folder}/{name}" if folder else name
            if not (root / name_from_root).is_dir():
                names.append(name_from_root)
            elif (root / name_from_root).is_symlink():
                links.append(name_from_root)
            else:
                folders.append(name_from_root)
    return sorted(names)


def files_by_name(root: Path, names: Iterable[str], suffixes: tuple[str, ...], source: Source) -> dict[str, Path]:
    """Return the files that end in one of the suffixes, by name without it. Two files of one name are an error."""
    paths: dict[str, Path] = {}
    for name in names:
        suffix = next((end for end in suffixes if name.lower().endswith(end)), None)
        if suffix is None:
            continue
        path = root if root.is_file() else root / name
        with source.record(str(path)):
            if not path.is_file():
                kind = "a link that leads nowhere" if path.is_symlink() else "a pipe, a socket or a device"
                raise FormatError(f"{path}: is {kind}, expected a file")
            key = name[: len(name) - len(suffix)]
            if key in paths:
                raise FormatError(f"{path}: document {key} also has {paths[key]}; remove one of the two")
            paths[key] = path
    return paths


def in_any_case(path: Path) -> Path:
    """Return the file of that name whose suffix is in lower or upper case; the path itself if there is none."""
    stem, suffix = path.name.removesuffix(path.suffix), path.suffix
    for spelled in (suffix, suffix.lower(), suffix.upper(), suffix[:1] + suffix[1:].capitalize()):
        if (candidate := path.with_name(stem + spelled)).is_file():
            return candidate
    return path


def data_files(source: Source, suffixes: tuple[str, ...]) -> list[Path]:
    """Return the one file, whatever its name, or the files of a folder that end in one of the suffixes."""
    root = source.path
    if not root.is_dir():  # a file, or a pipe
        return [root]
    paths = list(files_under(root, suffixes, source).values())
    if not paths:
        raise FormatError(f"{root}: no documents, expected files that end in {' or '.join(suffixes)}")
    return paths


def numbered_files(source: Source, suffixes: tuple[str, ...]) -> list[tuple[Path, str]]:
    """Return the same, with what stands before a record's number in its id: nothing for one file, else its name."""
    root = source.path
    return [
        (path, "" if path == root else f"{path.relative_to(root).as_posix().rsplit('.', 1)[0]}:")
        for path in data_files(source, suffixes)
    ]
