"""What a model is for, in words: what it finds, its language and licence, and what each of its types means.

A TOML file for `gridner train --about`, `gridner export --about` and `gridner describe` looks like this:

description = "Findings in clinical notes"
language = "en"
license = "CC-BY-4.0"

[types.Finding]
description = "a symptom or a sign"
example = "pain in … shoulder"
corpus = "notes of our hospital"
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from gridner.errors import UsageError

MAX_CHARACTERS = 300  # of a text
MAX_BYTES = 2**18  # of a file


@dataclass(frozen=True, slots=True)
class TypeAbout:
    """What a type means. A gap in the example is ' … '."""

    name: str
    description: str = ""
    example: str = ""
    corpus: str = ""  # that annotates it

    def __str__(self) -> str:
        example = f"such as “{self.example}”" if self.example else ""
        explanation = ", ".join(filter(None, (self.description, example)))
        return f"{self.name}: {explanation}" if explanation else self.name


@dataclass(frozen=True, slots=True)
class ModelAbout:
    """What a model is for. It has the types that are described, which need not be all types of the model."""

    description: str = ""
    language: str = ""  # such as "en"
    license: str = ""  # an SPDX identifier, such as "Apache-2.0"
    types: tuple[TypeAbout, ...] = ()

    def type(self, name: str) -> TypeAbout:
        """Return what is known about a type: its name at least."""
        return next((type for type in self.types if type.name == name), TypeAbout(name))

    def only(self, names: Iterable[str]) -> ModelAbout:
        """Return the same without the types that are not among these."""
        wanted = frozenset(names)
        return replace(self, types=tuple(type for type in self.types if type.name in wanted))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as a file has it; what is empty is left out."""
        types = {type.name: _without_empty(asdict(replace(type, name=""))) for type in self.types}
        return _without_empty({**asdict(self), "types": types})

    def to_toml(self) -> str:
        """Return a TOML file, with what is empty to be filled in."""
        lines = [f"{name} = {_quoted(getattr(self, name))}" for name in _texts(ModelAbout)]
        for type in self.types:
            lines += ["", f"[types.{_quoted(type.name)}]"]
            lines += [f"{name} = {_quoted(getattr(type, name))}" for name in _texts(TypeAbout) if name != "name"]
        return "\n".join([*lines, ""])


Kind = TypeVar("Kind", ModelAbout, TypeAbout)


def about_from(data: object, where: str, types: Iterable[str]) -> ModelAbout:
    """Return what plain data says about a model with these types. What is wrong raises UsageError."""
    entries = _mapping(data, where)
    known = tuple(types)
    described = _mapping(entries.get("types", {}), f"{where}: types")
    for name in described:
        if name not in known:
            raise UsageError(f"{where}: type {name!r:.60}, expected those of the model: {', '.join(known)}")
    about = _filled(ModelAbout(), entries, where)
    described_types = (
        _filled(TypeAbout(name), _mapping(described[name], f"{where}: types.{name}"), f"{where}: types.{name}")
        for name in known
        if name in described
    )
    return replace(about, types=tuple(described_types))


def read_about(path: Path, types: Iterable[str]) -> ModelAbout:
    """Return what a TOML file says about a model with these types."""
    try:
        with open(path, "rb") as file:
            data = tomllib.loads(file.read(MAX_BYTES).decode("utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: {str(error)[:120]}; write it in TOML (gridner describe MODEL shows how)") from None
    return about_from(data, str(path), types)


def _filled(about: Kind, data: Mapping[str, Any], where: str) -> Kind:
    texts: dict[str, Any] = {}
    known = [name for name in _texts(type(about)) if name != "name"]
    for name, value in data.items():
        if name == "types" and isinstance(about, ModelAbout):
            continue
        if name not in known:
            raise UsageError(f"{where}: {name!r:.40} is unknown, expected {', '.join(known)}")
        if not isinstance(value, str) or len(value) > MAX_CHARACTERS or not value.isprintable():
            raise UsageError(
                f"{where}: {name} is {value!r:.60}, expected one line of at most {MAX_CHARACTERS} characters"
            )
        texts[name] = value.strip()
    return replace(about, **texts)


def _texts(kind: type[ModelAbout] | type[TypeAbout]) -> list[str]:
    return [field.name for field in fields(kind) if field.name != "types"]


def _mapping(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise UsageError(f"{where} is {value!r:.60}, expected a table")
    return value


def _without_empty(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if value}


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # a basic string of TOML, too: printable texts have the same escapes
