"""The options that select and read a corpus, declared once for all commands.

A command decorated with `@reading_options()` takes one parameter, `reading: ReadingOptions`. On the command line it
appears as one option per field.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer

from gridner.cli.progress import document_progress
from gridner.documents import Document
from gridner.errors import Notes, UsageError
from gridner.formats import FORMATS, read, read_ids
from gridner.text.alignment import with_sentences
from gridner.text.splitting import split_lines

READABLE_FORMATS = ", ".join(name for name in FORMATS if name != "parquet")  # a table of entities has no texts
WRITABLE_FORMATS = ", ".join(FORMATS)
PANEL = "Reading options"


def _option(*names: str, help: str) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=PANEL)


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """How a command reads a corpus. Each field is an option."""

    format: Annotated[
        str, _option("--format", "-f", help=f"Format: {READABLE_FORMATS}; auto recognizes it from the path.")
    ] = "auto"
    texts: Annotated[
        Path | None,
        _option("--texts", help="Folder with the texts, if the annotations are in another one (brat, jsonl, share)."),
    ] = None
    ids: Annotated[Path | None, _option("--ids", help="Read only the documents whose ids this file lists.")] = None
    except_ids: Annotated[
        Path | None, _option("--except-ids", help="Skip the documents whose ids this file lists, one per line.")
    ] = None
    types: Annotated[list[str] | None, _option("--types", help="Keep only these entity types: A,B or repeated.")] = None
    sentences: Annotated[
        Literal["auto", "lines"],
        _option(
            "--sentences",
            help="auto uses the sentences of the document or splits it by rules; lines takes each line as one.",
        ),
    ] = "auto"
    lenient: Annotated[bool, _option("--lenient", help="Skip bad records, and report how many and which.")] = False
    repair: Annotated[
        bool,
        _option("--repair", help="Keep annotations whose text and offsets disagree; move them to word boundaries."),
    ] = False

    def documents(
        self, path: Path, notes: Notes, *, activity: str | None, texts_from: Iterable[Document] = ()
    ) -> Iterator[Document]:
        """Read the documents at a path, with progress on a terminal unless `activity`, its label, is None.

        A document without text takes the text of the document in `texts_from` that has the same id.
        """
        documents = read(
            path,
            self.format,
            texts=self.texts or {document.id: document.text for document in texts_from},
            ids=read_ids(self.ids) if self.ids else None,
            except_ids=read_ids(self.except_ids) if self.except_ids else (),
            types=type_names(self.types) if self.types is not None else None,
            lenient=self.lenient,
            repair=self.repair,
            notes=notes,
        )
        documents = map(self.split, documents)
        return documents if activity is None else document_progress(documents, f"{activity} {path.name}")

    def split(self, document: Document) -> Document:
        """Return the document with one sentence per line, if that is asked for."""
        return with_sentences(document, split_lines(document.text)) if self.sentences == "lines" else document


def reading_options(*, without: Collection[str] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of `ReadingOptions`, except those in `without`, as its parameter `reading`."""
    annotations = get_type_hints(ReadingOptions, include_extras=True)
    options = [
        Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=annotations[field.name])
        for field in fields(ReadingOptions)
        if field.name not in without
    ]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(**arguments: Any) -> None:
            reading = ReadingOptions(**{option.name: arguments.pop(option.name) for option in options})
            command(reading=reading, **arguments)

        own = [
            parameter.replace(kind=Parameter.KEYWORD_ONLY)
            for parameter in signature(command, eval_str=True).parameters.values()
            if parameter.name != "reading"
        ]
        run.__signature__ = Signature([*own, *options])  # type: ignore[attr-defined]
        return run

    return decorate


def type_names(values: list[str]) -> list[str]:
    """Return the entity types in the values of --types."""
    names = [name.strip() for value in values for name in value.split(",")]
    if not all(names):
        raise UsageError(f"--types {','.join(values)!r}: an empty name; separate names by single commas")
    return names
