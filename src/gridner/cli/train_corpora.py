"""Which --dev and --test of `gridner train` belong to which --train, and what the corpora are called."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gridner.errors import UsageError

if TYPE_CHECKING:
    from gridner.corpus.splits import Corpus, Part

PARTS = "train|training|dev|devel|development|valid|validation|test|testing|eval"
PART = re.compile(rf"(?:{PARTS})", re.IGNORECASE)  # names that tell nothing about a corpus
BESIDE_PART = re.compile(rf"^(?:{PARTS})[-_.]|[-_.](?:{PARTS})$", re.IGNORECASE)
NAMED = re.compile(r"(?P<name>\w[\w.-]*)=(?P<path>.+)")
NONE = "none"


@dataclass(frozen=True, slots=True)
class Given:
    """An argument of --train, --dev or --test: PATH, or NAME=PATH."""

    path: str
    name: str | None = None

    @property
    def telling(self) -> str:
        """The name that is given, or else the first part of the path, from its end, that is not just train or dev."""
        if self.name is not None:
            return self.name
        for part in reversed(Path(self.path).absolute().parts):
            name = part.partition(".")[0] if part == Path(self.path).name else part
            if not PART.fullmatch(name):
                return re.sub(r"[^\w.-]+", "-", BESIDE_PART.sub("", name)).strip("-.") or "corpus"
        return "corpus"


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the parts of each corpus are, by its name."""

    train: dict[str, str]
    dev: dict[str, str]  # none where `dev_share` is given, or no dev is wanted
    test: dict[str, str]
    weights: dict[str, float]
    dev_share: float | None = None

    @property
    def several(self) -> bool:
        """Whether there is more than one corpus."""
        return len(self.train) > 1

    def part_name(self, kind: str, name: str) -> str:
        """Return train, dev or test, with the name of the corpus where there are several."""
        return f"{kind}-{name}" if self.several else kind

    def read(self, read: Callable[[Path, str], Part]) -> list[Corpus]:
        """Return the corpora; `read` is given a path and the name of the part. What is held out is still in train."""
        from gridner.corpus.splits import Corpus

        def part(kind: str, name: str, paths: dict[str, str]) -> Part | None:
            return read(Path(paths[name]), self.part_name(kind, name)) if name in paths else None

        found = []
        for name, path in self.train.items():
            train = read(Path(path), self.part_name("train", name))
            test, dev = part("test", name, self.test), part("dev", name, self.dev)
            found.append(Corpus(name if self.several else "", train, dev, test, self.weights[name]))
        return found


def sources_of(
    train: Sequence[str], dev: Sequence[str], test: Sequence[str], weights: Sequence[float], *, default_share: float
) -> Sources:
    """Check what is given for the repeated options, before anything is read."""
    given = [_given(one) for one in train]
    telling = [one.telling for one in given]
    names = _unique(given)
    if weights and len(weights) != len(names):
        raise UsageError(f"--weight {len(weights)} times for {len(names)} --train, expected one for each")
    share = default_share if not dev else share_of(dev[0]) if len(dev) == 1 else None
    paths = [] if share is not None or list(dev) == [NONE] else [_given(one) for one in dev]
    for one in paths if len(dev) > 1 else ():
        if one.path == NONE or share_of(one.path) is not None:
            raise UsageError(
                f"--dev {one.path} beside others, expected one --dev with a share for all, or a corpus each"
            )
    found = _assigned("--dev", paths, names, telling)
    if found and len(found) < len(names):
        missing = ", ".join(name for name in names if name not in found)
        raise UsageError(f"--dev: none for {missing}, expected one for each --train, in the same order")
    return Sources(
        train=dict(zip(names, (one.path for one in given), strict=True)),
        dev=found,
        test=_assigned("--test", [_given(one) for one in test], names, telling),
        weights=dict(zip(names, weights or [1.0] * len(names), strict=True)),
        dev_share=share,
    )


def share_of(dev: str) -> float | None:
    """The share of the documents, or None if it is a path or "none"."""
    if dev == NONE or Path(dev).exists():
        return None
    try:
        share = float(dev)
    except ValueError:
        return None
    if not 0 < share < 1:
        raise UsageError(f"--dev {dev}, expected a corpus or a share of the documents such as 0.1")
    return share


def _given(text: str) -> Given:
    named = NAMED.fullmatch(text)
    return Given(text) if named is None or Path(text).exists() else Given(named["path"], named["name"])


def _unique(given: Sequence[Given]) -> list[str]:
    """Names as they are given, or made from paths; a number is added to the latter where that is taken."""
    names: list[str] = []
    chosen = [one.name for one in given if one.name is not None]
    for one in given:
        if one.name is not None and chosen.count(one.name) > 1:
            raise UsageError(f"--train {one.name}=…: two of this name, expected different ones")
        name, number = one.telling, 1
        while one.name is None and (name in names or name in chosen):
            number += 1
            name = f"{one.telling}-{number}"
        names.append(name)
    return names


def _assigned(option: str, given: Sequence[Given], names: Sequence[str], telling: Sequence[str]) -> dict[str, str]:
    """Which corpus each argument belongs to: that of its name, or that in the same place."""
    found: dict[str, str] = {}
    for place, one in enumerate(given):
        if one.name is not None:
            name = one.name
            if name not in names:
                raise UsageError(f"{option} {name}={one.path}: no --train of that name, expected {', '.join(names)}")
        elif len(given) != len(names):
            raise UsageError(
                f"{option} {len(given)} times for {len(names)} --train, expected one for each, in the same order, "
                f"or {option} NAME=PATH with a name of {', '.join(names)}"
            )
        else:
            name = names[place]
            if one.telling != telling[place] and one.telling in telling:
                raise UsageError(
                    f"{option} {one.path} in the place of {name}, expected the order of --train, or {option} NAME=PATH"
                )
        if name in found:
            raise UsageError(f"{option}: {found[name]} and {one.path} for {name}, expected one for each --train")
        found[name] = one.path
    return found
