"""ShARe/CLEF 2013 and 2014: pipe files or Knowtator XML beside (or in another folder than) the texts.

    2013: name||Disease_Disorder||CUI||start||end||start||end…
    2014: name|start-end,start-end|CUI|…

Written is the 2014 form, NAME.pipe.txt beside NAME.txt. It has no type: all is Disease_Disorder. The CUI and further
columns are kept in `meta["share"]`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from gridner.documents import Document, Entity
from gridner.errors import FormatError, Notes, OutputError
from gridner.files import (
    Line,
    Source,
    check_not_empty,
    file_for,
    read_lines,
    read_text,
    write_text,
)
from gridner.formats._support.folders import files_by_name, files_under, names_under
from gridner.formats._support.knowtator_xml import read_entities
from gridner.formats._support.lost_information import note_losses
from gridner.formats._support.offsets import fragments_from

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
    """Yield a document for each text, by name. `source.texts` is the folder of the texts, if it is another one."""
    annotations, texts = _find(source)
    runs = _index(annotations, texts, source)
    if source.path.is_file() and source.path.name.lower().endswith(XML_SUFFIXES):  # it is about one document
        texts = {name: path for name, path in texts.items() if name in runs}
    for name, document_runs in runs.items():
        if name not in texts and source.wants(name):
            run_where = document_runs[0].start.where if document_runs[0].start else str(document_runs[0].path)
            with source.record(run_where):
                raise FormatError(
                    f"{run_where}: no text for document {name[:60]}; add {name[:60]}.txt or pass its folder as --texts"
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


def _find(source: Source) -> tuple[dict[str, Path], dict[str, Path]]:
    """Return the annotation files and the texts, by name."""
    root = source.path
    marks = XML_SUFFIXES + PIPE_SUFFIXES
    if source.texts is not None:
        texts = files_under(source.texts, (".txt", ".text"), source)
        text_paths = {path.resolve() for path in texts.values()}
        annotations = files_under(root, ("",), source)
        if root.is_dir():
            annotations = {name: path for name, path in annotations.items() if path.resolve() not in text_paths}
        return annotations, texts
    folder = root.parent if root.is_file() else root
    names = names_under(folder, source)
    plain = [name for name in names if not name.lower().endswith(marks) and folder / name != root]
    texts = files_by_name(folder, plain, (".txt",), source)
    if root.is_file():
        return {root.name: root}, texts
    return files_by_name(root, [name for name in names if name.lower().endswith(marks)], ("",), source), texts


def _index(annotations: dict[str, Path], texts: Collection[str], source: Source) -> dict[str, list[_Run]]:
    """Return where the annotations of each document are: paths and line numbers, to keep memory small."""
    runs_by_document: dict[str, list[_Run]] = defaultdict(list)
    for file_name, path in annotations.items():
        suffix = next((suffix for suffix in XML_SUFFIXES if path.name.lower().endswith(suffix)), None)
        if suffix is not None:
            name = file_name[: -len(suffix)]
            runs_by_document[name if name in texts else name.rpartition("/")[2]].append(_Run(path))
            continue
        for line in read_lines(path):
            with source.record(line.where):
                if line.text.strip():
                    runs = runs_by_document[re.sub(r"\.txt$", "", line.text.split("|")[0], flags=re.IGNORECASE)]
                    if runs and runs[-1].path == path and runs[-1].last == line.number - 1:
                        runs[-1] = runs[-1]._replace(last=line.number)
                    else:
                        runs.append(_Run(path, line._replace(data=b""), line.number))
    return runs_by_document


def _read_run(run: _Run, text: str, source: Source) -> Iterator[Entity]:
    if run.start is None:
        yield from read_entities(run.path, text, source)
        return
    for line in read_lines(run.path, run.start):
        with source.record(line.where):
            yield _read_line(line.text, text, line.where, source.notes)
        if line.number == run.last:
            return


def _read_line(line: str, text: str, where: str, notes: Notes) -> Entity:
    if match := FORM_2014.fullmatch(line):
        name, spans = TYPE, [span.split("-") for span in match[2].split(",")]
        columns = match[3].split("|", 1) if match[3] is not None else []
    elif match := FORM_2013.fullmatch(line):
        name, columns = match[2], [match[3]]
        numbers = match[4].strip("|").split("||")
        spans = [list(span) for span in zip(numbers[::2], numbers[1::2], strict=True)]
    else:
        raise FormatError(
            f"{where}: {line[:60]!r}, expected name||type||CUI||start||end or name|start-end,start-end|CUI"
        )
    fragments = fragments_from({(int(start), int(end)) for start, end in spans}, text, where, notes)
    meta = dict(zip(("cui", "columns"), columns, strict=False))
    return Entity(name, fragments, meta={"share": meta} if meta else {})


def write(documents: Iterable[Document], path: Path, notes: Notes) -> int:
    """Write a folder with NAME.txt and NAME.pipe.txt for each document. Return the number of entities written."""
    written = 0
    for document in documents:
        if "|" in document.id or f"{document.id}.txt".endswith(PIPE_SUFFIXES):
            raise OutputError(
                f"document id {document.id!r:.200}: share takes no '|' and no .pipe at the end; rename the document"
            )
        note_losses(document, notes, "share", own_entity_meta="share")
        lines = []
        for entity in document.entities:
            if entity.type != TYPE:
                notes.add(f"entity type, written as {TYPE}", f"{document.id}: {entity.type}")
            spans = ",".join(map(str, entity.fragments))
            lines.append(f"{document.id}.txt|{spans}|{_columns(document, entity, notes)}\n")
        write_text(file_for(path, document.id, ".txt"), document.text)
        write_text(file_for(path, document.id, ".pipe.txt"), "".join(lines))
        written += len(lines)
    return written


def _columns(document: Document, entity: Entity, notes: Notes) -> str:
    """Return the CUI and the columns after it, checked, because `meta` may come from anywhere."""
    meta = entity.meta.get("share", {})
    if isinstance(meta, dict):
        cui, columns = meta.get("cui", "CUI-less"), meta.get("columns")
        if isinstance(cui, str) and isinstance(columns, str | None) and not re.search(r"\||\n", cui):
            if columns is None:
                return cui
            if "\n" not in columns:
                return f"{cui}|{columns}"
    notes.add("meta 'share' that is not columns of a pipe file, not written", f"{document.id}: {entity.type}")
    return "CUI-less"
