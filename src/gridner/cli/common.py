"""What the commands share: options for reading, notes, progress, tables."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.measure import Measurement
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from gridner.documents import Document
from gridner.errors import Notes, UsageError, need, plural, printable
from gridner.formats import FORMATS, read, read_ids
from gridner.inference.cores import usable_cores
from gridner.text.sentences import with_sentences
from gridner.text.splitting import split_lines

SHOWN_PLACES = 5
CONTROL = re.compile(r"[\x7f-\x9f]")  # what JSON leaves as it is, and terminals obey
FORMAT_NAMES = ", ".join(FORMATS)  # to write
READ_FORMATS = ", ".join(name for name in FORMATS if name != "parquet")  # a table of entities has no texts

FormatOption = Annotated[str, typer.Option("--format", "-f", help=f"Format: {READ_FORMATS}; auto looks at the path.")]
TextsOption = Annotated[
    Path | None, typer.Option(help="Folder of the texts, where the annotations are in another (brat, jsonl, share).")
]
IdsOption = Annotated[Path | None, typer.Option("--ids", help="File with the document ids to read, one a line.")]
ExceptIdsOption = Annotated[Path | None, typer.Option("--except-ids", help="File with the document ids to leave out.")]
TypesOption = Annotated[
    list[str] | None, typer.Option("--types", help="Entity types to keep, parted by commas or given again.")
]
SentencesOption = Annotated[
    Literal["auto", "lines"],
    typer.Option(help="Sentences: the document's own, else split by rules (auto); or one a line (lines)."),
]
NoTextOption = Annotated[
    bool, typer.Option("--no-text", help="The report without any source text or document ids, to be shared.")
]
LenientOption = Annotated[bool, typer.Option("--lenient", help="Skip bad records, and say how many and which.")]
RepairOption = Annotated[
    bool,
    typer.Option(
        "--repair", help="Keep annotations whose text and offsets disagree, with boundaries at the ends of words."
    ),
]
SettingsOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Change a setting; can be given again.")
]
TrainLexiconOption = Annotated[
    Path | None,
    typer.Option("--lexicon", help="Names that are known, a type, a tab and a name a line; they go into the model."),
]
OwnNamesOption = Annotated[bool, typer.Option("--own-names", help="The names of the training corpus are known, too.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


@dataclass(frozen=True)
class Reading:
    """The reading options of a command."""

    format: str = "auto"
    texts: Path | None = None
    ids: Path | None = None
    except_ids: Path | None = None
    types: list[str] | None = None
    sentences: str = "auto"
    lenient: bool = False
    repair: bool = False

    def documents(
        self, path: Path, notes: Notes, *, what: str | None, known: Iterable[Document] = ()
    ) -> Iterator[Document]:
        """The documents at a path; `what` is done with them, shown as progress on a terminal if it is not None.

        Documents that come without their text take it from `known` ones of the same id.
        """
        documents = read(
            path,
            self.format,
            texts=self.texts or {document.id: document.text for document in known},
            ids=read_ids(self.ids) if self.ids else None,
            except_ids=read_ids(self.except_ids) if self.except_ids else (),
            types=type_names(self.types) if self.types is not None else None,
            lenient=self.lenient,
            repair=self.repair,
            notes=notes,
        )
        documents = map(self.split, documents)
        return documents if what is None else progress(documents, f"{what} {path.name}")

    def split(self, document: Document) -> Document:
        """The document with the sentences that are asked for."""
        return with_sentences(document, split_lines(document.text)) if self.sentences == "lines" else document


def bounded(option: str, count: int | None, processes: int = 1) -> int | None:
    """Return the threads or processes that are asked for, at most one per core in all; print what is cut."""
    most = max(1, usable_cores() // processes)
    if count is None or count <= most:
        return count
    typer.echo(f"{option} {count:,}: {plural(usable_cores(), 'core')} can be used, so it is {most:,}", err=True)
    return most


def type_names(values: list[str]) -> list[str]:
    """The names in what --types was given."""
    names = [name.strip() for value in values for name in value.split(",")]
    if not all(names):
        raise UsageError(f"--types {','.join(values)!r}, expected names parted by commas")
    return names


def progress(documents: Iterable[Document], what: str) -> Iterator[Document]:
    """Pass the documents on, counting them on a terminal."""
    if not sys.stderr.isatty():
        yield from documents
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}: {task.completed:,.0f} documents", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        for document in documents:
            yield document
            bar.advance(task)


@contextmanager
def sentence_progress(what: str) -> Iterator[Callable[[], None]]:
    """A line on a terminal with the sentences that are done and their speed; what is yielded counts one."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}: {task.completed:,.0f} sentences, {task.fields[speed]}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None, speed="")
        began, done = time.monotonic(), 0

        def one() -> None:
            nonlocal done
            done += 1
            seconds = time.monotonic() - began
            bar.update(task, completed=done, speed=f"{done / seconds:,.0f}/s" if seconds > 1 else "")

        yield one


def print_notes(notes: Notes, of: str = "") -> None:
    """What was skipped, cut, changed or capped, on standard error; `of` names the corpus where there are several."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    for what, count, places in notes:
        console.print(f"note: {of}{': ' if of else ''}{count:,} × {printable(what)}", markup=False)
        shown = places[:SHOWN_PLACES]
        for place in shown:
            console.print(f"      {printable(place)}", markup=False)
        if shown and count > len(shown):
            console.print(f"      … and {count - len(shown):,} more", markup=False)


def notes_json(notes: Notes) -> list[dict[str, Any]]:
    """The notes as plain data; at most the first 1,000 places of each kind."""
    return [{"what": what, "count": count, "places": places} for what, count, places in notes]


def print_json(data: Any) -> None:
    """Print plain data as JSON on several lines."""
    print(_json(data, indent=2))


def print_line(data: Any, *, flush: bool = False) -> None:
    """Print plain data as one line of JSON."""
    print(_json(data), flush=flush)


def _json(data: Any, *, indent: int | None = None) -> str:
    """Return JSON for standard output: escaped where that is not UTF-8, and without control characters."""
    plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    said = json.dumps(data, ensure_ascii=plain, indent=indent)
    return CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", said)


def new_table(first: str, *columns: str) -> Table:
    """A table whose first column has labels and whose others have numbers."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(first, no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def print_table(table: Table, caption: str = "") -> None:
    """A table as wide as it needs to be: a terminal that is narrower wraps it, nothing is cut."""
    console = Console(highlight=False, markup=False)  # types may have brackets
    natural = Measurement.get(console, console.options.update(max_width=10_000), table).maximum
    Console(highlight=False, markup=False, width=max(console.width, natural)).print(table)
    if caption:
        console.print(caption, style="dim", markup=False, soft_wrap=True)
        console.print()


def prepare_training() -> None:
    """Check that the libraries for training are installed, and let this process keep the memory that it frees."""
    for library in ("accelerate", "matplotlib", "torch", "transformers"):
        need(library, "train")
    from gridner.training.cpu import keep_freed_memory

    keep_freed_memory()
