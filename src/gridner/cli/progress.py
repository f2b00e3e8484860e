"""Progress on a terminal: documents read, sentences processed."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from gridner.documents import Document


def document_progress(documents: Iterable[Document], activity: str) -> Iterator[Document]:
    """Yield the documents and count them on a terminal."""
    if not sys.stderr.isatty():
        yield from documents
        return
    with _spinner("{task.completed:,.0f} documents") as bar:
        task = bar.add_task(activity, total=None)
        for document in documents:
            yield document
            bar.advance(task)


@contextmanager
def sentence_progress(activity: str) -> Iterator[Callable[[], None]]:
    """Show the number and the rate of processed sentences on a terminal. Call the yielded function per sentence."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    with _spinner("{task.completed:,.0f} sentences, {task.fields[speed]}") as bar:
        task = bar.add_task(activity, total=None, speed="")
        start, done = time.monotonic(), 0

        def count_sentence() -> None:
            nonlocal done
            done += 1
            seconds = time.monotonic() - start
            bar.update(task, completed=done, speed=f"{done / seconds:,.0f}/s" if seconds > 1 else "")

        yield count_sentence


def _spinner(text: str) -> Progress:
    columns = SpinnerColumn(), TextColumn(f"{{task.description}}: {text}", markup=False), TimeElapsedColumn()
    return Progress(*columns, console=Console(stderr=True), transient=True)
