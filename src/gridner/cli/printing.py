"""Print notes, JSON and tables."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from gridner.errors import Notes, printable

MAX_PLACES = 5  # per note
CONTROL_CHARACTERS = re.compile(r"[\x7f-\x9f]")  # JSON leaves them as they are, and terminals obey them
SLICE_LABELS = {
    "all": "all (micro)",
    "in_discontinuous_sentences": "sentences with gaps",
    "discontinuous": "discontinuous only",
    "continuous": "continuous only",
}


def print_notes(notes: Notes, corpus: str = "") -> None:
    """Print to standard error what was skipped, cut, changed or capped; `corpus` tells several corpora apart."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    for what, count, places in notes:
        console.print(f"note: {corpus}{': ' if corpus else ''}{count:,} × {printable(what)}", markup=False)
        shown = places[:MAX_PLACES]
        for place in shown:
            console.print(f"      {printable(place)}", markup=False)
        if shown and count > len(shown):
            console.print(f"      … and {count - len(shown):,} more", markup=False)


def notes_json(notes: Notes) -> list[dict[str, Any]]:
    """Return the notes as plain data, with at most the first 1,000 places of each kind."""
    return [{"what": what, "count": count, "places": places} for what, count, places in notes]


def print_json(data: Any) -> None:
    """Print plain data as indented JSON."""
    print(_to_json(data, indent=2))


def print_json_line(data: Any, *, flush: bool = False) -> None:
    """Print plain data as one line of JSON."""
    print(_to_json(data), flush=flush)


def _to_json(data: Any, *, indent: int | None = None) -> str:
    """Return JSON for standard output: ASCII unless the output is UTF-8, and without control characters."""
    ascii_only = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    text = json.dumps(data, ensure_ascii=ascii_only, indent=indent)
    return CONTROL_CHARACTERS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def new_table(first: str, *columns: str) -> Table:
    """Return a table with labels in the first column and right-aligned numbers in the others."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(first, no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def print_table(table: Table, caption: str = "") -> None:
    """Print a table as wide as it needs to be. A narrower terminal wraps it; nothing is cut."""
    console = Console(highlight=False, markup=False)  # types may have brackets
    natural_width = Measurement.get(console, console.options.update(max_width=10_000), table).maximum
    Console(highlight=False, markup=False, width=max(console.width, natural_width)).print(table)
    if caption:
        console.print(caption, style="dim", markup=False, soft_wrap=True)
        console.print()


def slice_label(name: str) -> str:
    """Return how a table names a slice of an evaluation."""
    if name.startswith("type:"):
        return f"  {name.removeprefix('type:')}"
    if name.startswith("overlap:"):
        return f"  overlap: {name.removeprefix('overlap:')}"
    return SLICE_LABELS[name]
