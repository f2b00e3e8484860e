"""The repeated options of the commands that train: which --dev, --test and --weight belong to which --train."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gridner.corpus.held_out import DEV_SHARE
from gridner.errors import UsageError

if TYPE_CHECKING:
    from gridner.cli.reading_options import ReadingOptions
    from gridner.corpus.splits import Corpus, Part
    from gridner.errors import Notes

PART_NAMES = "train|training|dev|devel|development|valid|validation|test|testing|eval"
PART_NAME = re.compile(rf"(?:{PART_NAMES})", re.IGNORECASE)  # says nothing about the corpus
PART_AFFIX = re.compile(rf"^(?:{PART_NAMES})[-_.]|[-_.](?:{PART_NAMES})$", re.IGNORECASE)
NAME_AND_PATH = re.compile(r"(?P<name>\w[\w.-]*)=(?P<path>.+)")
NO_DEV = "none"

DevOption = Annotated[
    list[str] | None,
    typer.Option(
        "--dev",
        metavar="[NAME=]PATH|SHARE",
        help="Corpus to choose the best epoch on, or the share of the training documents to hold out for that "
        f"(default: {DEV_SHARE}), or none. With several --train, one for each, in the same order.",
    ),
]
TestOption = Annotated[
    list[str] | None,
    typer.Option("--test", metavar="[NAME=]PATH", help="Corpus to score once, after training; repeatable as --dev."),
]
WeightOption = Annotated[
    list[float] | None,
    typer.Option("--weight", help="How often an epoch uses the sentences of a corpus; one for each --train."),
]
SeedsOption = Annotated[str | None, typer.Option("--seeds", help="Train once with each seed: 1,2,3.")]


@dataclass(frozen=True, slots=True)
class NamedPath:
    """A value of --train, --dev or --test: PATH, or NAME=PATH."""

    path: str
    name: str | None = None

    @property
    def corpus_name(self) -> str:
        """The given name, or the last part of the path that is not just train, dev or test."""
        if self.name is not None:
            return self.name
        for folder in reversed(Path(self.path).absolute().parts):
            name = folder.partition(".")[0] if folder == Path(self.path).name else folder
            if not PART_NAME.fullmatch(name):
                return re.sub(r"[^\w.-]+", "-", PART_AFFIX.sub("", name)).strip("-.") or "corpus"
        return "corpus"


@dataclass(frozen=True, slots=True)
class CorpusPaths:
    """The paths of the parts of each corpus, by the name of the corpus."""

    train: dict[str, str]
    dev: dict[str, str]  # empty with `dev_share`, or without dev
    test: dict[str, str]
    weights: dict[str, float]
    dev_share: float | None = None

    @property
    def several(self) -> bool:
        """Whether there is more than one corpus."""
        return len(self.train) > 1

    def part_name(self, kind: str, corpus: str) -> str:
        """Return train, dev or test, with the name of the corpus if there are several."""
        return f"{kind}-{corpus}" if self.several else kind

    def read(self, reading: ReadingOptions, *, notes: Notes) -> list[Corpus]:
        """Read the corpora. The ids of the options select training documents. A held-out share is still in train."""
        from gridner.corpus.splits import Corpus, part_of

        every_document = replace(reading, ids=None, except_ids=None)

        def part(kind: str, corpus: str, path: str) -> Part:
            options = reading if kind == "train" else every_document
            documents = options.documents(Path(path), notes, activity="read")
            return part_of(documents, notes=notes, name=self.part_name(kind, corpus))

        corpora = []
        for name, path in self.train.items():
            train = part("train", name, path)
            test = part("test", name, self.test[name]) if name in self.test else None
            dev = part("dev", name, self.dev[name]) if name in self.dev else None
            corpora.append(Corpus(name if self.several else "", train, dev, test, self.weights[name]))
        return corpora


def corpus_paths(
    train: Sequence[str], dev: Sequence[str], test: Sequence[str], weights: Sequence[float], *, default_share: float
) -> CorpusPaths:
    """Check the values of the repeated options and assign them to the corpora, before anything is read."""
    train_paths = [_named_path(value) for value in train]
    path_names = [path.corpus_name for path in train_paths]
    names = _unique_names("--train", train_paths)
    if weights and len(weights) != len(names):
        raise UsageError(f"--weight {len(weights)} times for {len(names)} --train, expected one for each")
    share = default_share if not dev else share_of(dev[0]) if len(dev) == 1 else None
    dev_paths = [] if share is not None or list(dev) == [NO_DEV] else [_named_path(value) for value in dev]
    for path in dev_paths if len(dev) > 1 else ():
        if path.path == NO_DEV or share_of(path.path) is not None:
            raise UsageError(
                f"--dev {path.path} beside others, expected one --dev with a share for all, or a corpus each"
            )
    dev_by_corpus = _assign("--dev", dev_paths, names, path_names)
    if dev_by_corpus and len(dev_by_corpus) < len(names):
        missing = ", ".join(name for name in names if name not in dev_by_corpus)
        raise UsageError(f"--dev: none for {missing}, expected one for each --train, in the same order")
    return CorpusPaths(
        train=dict(zip(names, (path.path for path in train_paths), strict=True)),
        dev=dev_by_corpus,
        test=_assign("--test", [_named_path(value) for value in test], names, path_names),
        weights=dict(zip(names, weights or [1.0] * len(names), strict=True)),
        dev_share=share,
    )


def paths_by_name(option: str, values: Sequence[str]) -> dict[str, Path]:
    """Return the paths of a repeated option by the name of their corpus, given as NAME=PATH or made from the path."""
    paths = [_named_path(value) for value in values]
    return dict(zip(_unique_names(option, paths), (Path(path.path) for path in paths), strict=True))


def share_of(dev: str) -> float | None:
    """Return the share of the documents to hold out; None for a path or "none"."""
    if dev == NO_DEV or Path(dev).exists():
        return None
    try:
        share = float(dev)
    except ValueError:
        return None
    if not 0 < share < 1:
        raise UsageError(f"--dev {dev}, expected a corpus or a share of the documents such as 0.1")
    return share


def _named_path(value: str) -> NamedPath:
    match = NAME_AND_PATH.fullmatch(value)
    return NamedPath(value) if match is None or Path(value).exists() else NamedPath(match["path"], match["name"])


def _unique_names(option: str, paths: Sequence[NamedPath]) -> list[str]:
    """Return the given names, and names made from paths, with a number if the name is taken."""
    names: list[str] = []
    given_names = [path.name for path in paths if path.name is not None]
    for path in paths:
        if path.name is not None and given_names.count(path.name) > 1:
            raise UsageError(f"{option} {path.name}=…: two of this name, expected different ones")
        name, number = path.corpus_name, 1
        while path.name is None and (name in names or name in given_names):
            number += 1
            name = f"{path.corpus_name}-{number}"
        names.append(name)
    return names


def _assign(option: str, paths: Sequence[NamedPath], names: Sequence[str], path_names: Sequence[str]) -> dict[str, str]:
    """Assign each path to a corpus: by its name, or else by its place."""
    assigned: dict[str, str] = {}
    for place, path in enumerate(paths):
        if path.name is not None:
            name = path.name
            if name not in names:
                raise UsageError(f"{option} {name}={path.path}: no --train of that name, expected {', '.join(names)}")
        elif len(paths) != len(names):
            raise UsageError(
                f"{option} {len(paths)} times for {len(names)} --train, expected one for each, in the same order, "
                f"or {option} NAME=PATH with a name of {', '.join(names)}"
            )
        else:
            name = names[place]
            if path.corpus_name != path_names[place] and path.corpus_name in path_names:
                raise UsageError(
                    f"{option} {path.path} in the place of {name}, expected the order of --train, or {option} NAME=PATH"
                )
        if name in assigned:
            raise UsageError(f"{option}: {assigned[name]} and {path.path} for {name}, expected one for each --train")
        assigned[name] = path.path
    return assigned
