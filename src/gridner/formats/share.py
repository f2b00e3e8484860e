"""ShARe/CLEF 2013 and 2014: pipe files or Knowtator XML beside (or in another folder than) the texts.

    2013: name||Disease_Disorder||CUI||start||end||start||end…
    2014: name|start-end,start-end|CUI|…

Written is the 2014 form, NAME.pipe.txt beside NAME.txt. It has no type: all is Disease_Disorder. The CUI and further
columns are kept in `meta["share"]`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from gridner.documents import Document, Entity
from gridner.errors import FormatError, Notes, OutputError
from gridner.formats import knowtator
from gridner.formats.files import (
    Line,
    Source,
    check_not_empty,
    file_for,
    files_under,
    read_lines,
    read_text,
    write_text,
)
from gridner.formats.losses import note_losses
from gridner.formats.offsets import fragments_from

TYPE = "Disease_Disorder"
XML_SUFFIXES = (".txt.knowtator.xml", ".knowtator.xml", ".xml")
PIPE_SUFFIXES = (".pipe.txt", ".pipe")
FORM_2013 = re.compile(r"([^|]+)\|\|([^|]+)\|\|([^|]*)((?:\|\|\d{1,18}\|\|\d{1,18})+)")
FORM_2014 = re.compile(r"([^|]+)\|(\d{1,18}-\d{1,18}(?:,\d{1,18}-\d{1,18})*)(?:\|(.*))?")


class _Run(NamedTuple):
    """Lines of a pipe file that follow each other and are about one document; or a whole XML file."""

    path: Path
    start: Line | None = None
    last: int = 0


def read(source: Source) -> Iterator[Document]:
    """A document for each text, by name. `source.texts` is the folder of the texts if it is another one."""
    annotations, texts = _find(source)
    runs = _index(annotations)
    for name, found in runs.items():
        if name not in texts and source.wants(name):
            place = f"{found[0].path}:{found[0].start.number}" if found[0].start else str(found[0].path)
            with source.record(place):
                raise FormatError(
                    f"{place}: document {name} has no text, expected {name}.txt (--texts names its folder)"
                )
    for name, path in texts.items():
        if source.wants(name):
            with source.record(str(path)):
                text = read_text(path)
                check_not_empty(text, str(path))
                if name not in runs:
                    source.notes.add("text without annotations, read as without entities", str(path))
                entities = tuple(entity for run in runs.get(name, ()) for entity in _read_run(run, text, source))
                yield Document(name, text, entities)


def _find(source: Source) -> tuple[list[Path], dict[str, Path]]:
    """The annotation files, and the texts by name."""
    root = source.path
    if source.texts is not None:
        texts = files_under(source.texts, (".txt", ".text"))
        if root.is_file():
            return [root], texts
        return list(files_under(root, ("",)).values()), texts
    folder = root.parent if root.is_file() else root
    every = files_under(folder, ("",))
    marks = XML_SUFFIXES + PIPE_SUFFIXES
    annotations = [root] if root.is_file() else [path for name, path in every.items() if name.endswith(marks)]
    texts = {
        name.removesuffix(".txt"): path
        for name, path in every.items()
        if name.endswith(".txt") and not name.endswith(marks) and path != root
    }
    return annotations, texts


def _index(annotations: Iterable[Path]) -> dict[str, list[_Run]]:
    """Where each document's annotations are: names and line numbers, not the annotations themselves."""
    found: dict[str, list[_Run]] = defaultdict(list)
    for path in annotations:
        if path.name.endswith(XML_SUFFIXES):
            suffix = next(suffix for suffix in XML_SUFFIXES if path.name.endswith(suffix))
            found[path.name.removesuffix(suffix)].append(_Run(path))
            continue
        for line in read_lines(path):
            if line.text.strip():
                name = line.text.split("|")[0].strip().removesuffix(".txt")
                runs = found[name]
                if runs and runs[-1].path == path and runs[-1].last == line.number - 1:
                    runs[-1] = runs[-1]._replace(last=line.number)
                else:
                    runs.append(_Run(path, line._replace(text=""), line.number))
    return found


def _read_run(run: _Run, text: str, source: Source) -> Iterator[Entity]:
    if run.start is None:
        yield from knowtator.read_entities(run.path, text, source)
        return
    for number, line, _ in read_lines(run.path, run.start):
        where = f"{run.path}:{number}"
        with source.record(where):
            yield _read_line(line, text, where, source.notes)
        if number == run.last:
            return


def _read_line(line: str, text: str, where: str, notes: Notes) -> Entity:
    if match := FORM_2014.fullmatch(line):
        name, spans = TYPE, [span.split("-") for span in match[2].split(",")]
        cui, _, columns = (match[3] or "").partition("|")
    elif match := FORM_2013.fullmatch(line):
        name, cui, columns = match[2], match[3], ""
        numbers = match[4].strip("|").split("||")
        spans = [list(span) for span in zip(numbers[::2], numbers[1::2], strict=True)]
    else:
        raise FormatError(
            f"{where}: {line[:60]!r}, expected name||type||CUI||start||end or name|start-end,start-end|CUI"
        )
    fragments = fragments_from({(int(start), int(end)) for start, end in spans}, text, where, notes)
    meta = {key: value for key, value in (("cui", cui), ("columns", columns)) if value}
    return Entity(name, fragments, meta={"share": meta} if meta else {})


def write(documents: Iterable[Document], path: Path, notes: Notes) -> None:
    """A folder with NAME.txt and NAME.pipe.txt for each document."""
    for document in documents:
        if "|" in document.id or f"{document.id}.txt".endswith(PIPE_SUFFIXES):
            raise OutputError(f"document id {document.id!r} cannot be a name in a pipe file")
        note_losses(document, notes, "share", own_meta="share")
        lines = []
        for entity in document.entities:
            if entity.type != TYPE:
                notes.add(f"entity type, written as {TYPE}", f"{document.id}: {entity.type}")
            spans = ",".join(map(str, entity.fragments))
            share = entity.meta.get("share", {})
            columns = [share.get("cui", "CUI-less"), *([share["columns"]] if "columns" in share else [])]
            lines.append(f"{document.id}.txt|{spans}|{'|'.join(columns)}\n")
        write_text(file_for(path, document.id, ".txt"), document.text)
        write_text(file_for(path, document.id, ".pipe.txt"), "".join(lines))
