"""Corpus formats: `read`, `write` and the table `FORMATS`.

A new format is a file with `read(source)` and `write(documents, path, notes)`, and a line in the table.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from gridner.documents import Document
from gridner.errors import FormatError, Notes, OutputError, UsageError, plural
from gridner.files import SKIPPED, Source, check_output, read_lines, reading, write_whole
from gridner.formats import (
    bigbio,
    bioc,
    biocjson,
    brat,
    cas,
    conll,
    inline,
    jsonl,
    labelstudio,
    parquet,
    pubannotation,
    share,
    w2ner,
)
from gridner.formats._support.folders import names_under


@dataclass(frozen=True, slots=True)
class Format:
    """A format: how to read and write it, and whether it writes a folder or a file."""

    about: str
    read: Callable[[Source], Iterator[Document]]
    write: Callable[[Iterable[Document], Path, Notes], int]
    folder: bool


FORMATS = {
    "brat": Format("NAME.txt with NAME.ann, as brat has it", brat.read, brat.write, folder=True),
    "jsonl": Format("gridner's own, a document a line", jsonl.read, jsonl.write, folder=False),
    "w2ner": Format("JSON of W2NER and TOE, words and indices", w2ner.read, w2ner.write, folder=False),
    "inline": Format("tokens and inclusive indices (Dai et al. 2020)", inline.read, inline.write, folder=False),
    "share": Format("ShARe/CLEF pipe files or Knowtator XML, with texts", share.read, share.write, folder=True),
    "bioc": Format("BioC XML, a collection", bioc.read, bioc.write, folder=False),
    "biocjson": Format("BioC JSON, a collection", biocjson.read, biocjson.write, folder=False),
    "pubannotation": Format("PubAnnotation JSON", pubannotation.read, pubannotation.write, folder=True),
    "bigbio": Format("JSON of BigBIO's kb schema", bigbio.read, bigbio.write, folder=False),
    "conll": Format("words with BIO tags, continuous entities only", conll.read, conll.write, folder=False),
    "labelstudio": Format("JSON of Label Studio", labelstudio.read, labelstudio.write, folder=False),
    "cas": Format("UIMA CAS XMI, as INCEpTION has it", cas.read, cas.write, folder=True),
    "parquet": Format("a table, an entity a row; only written", parquet.read, parquet.write, folder=False),
}


def read(
    path: str | Path,
    format: str = "auto",
    *,
    texts: str | Path | Mapping[str, str] | None = None,
    ids: Collection[str] | None = None,
    except_ids: Collection[str] = (),
    types: Collection[str] | None = None,
    lenient: bool = False,
    repair: bool = False,
    notes: Notes | None = None,
) -> Iterator[Document]:
    """Stream the documents of a corpus.

    `ids` and `except_ids` select documents, `types` entities. `texts` is the folder of the texts where the annotations
    are in another (brat, jsonl, share), or the texts by id, for predictions that come without (jsonl). `lenient` skips
    bad records. `repair` keeps annotations whose offsets cover something else than the text that they repeat, with
    boundaries at the ends of words. `notes` counts both.
    """
    path = Path(path)
    notes = Notes() if notes is None else notes
    source = Source(
        path,
        texts=Path(texts) if isinstance(texts, str | Path) else None,
        known_texts=texts if isinstance(texts, Mapping) else {},
        ids=frozenset(ids) if ids is not None else None,
        except_ids=frozenset(except_ids),
        lenient=lenient,
        repair=repair,
        notes=notes,
    )
    with reading(path):
        if not path.exists():
            raise FormatError(f"{path}: not found")
        name = _known(guess(path) if format == "auto" else format)
        if source.texts is not None and name not in ("brat", "jsonl", "share"):
            raise UsageError(
                f"texts {texts}: {name} has its own texts; only brat, jsonl and share take them from a folder"
            )
    chosen = FORMATS[name]
    return _select(chosen.read(source), source, frozenset(types) if types is not None else None)


def _select(documents: Iterator[Document], source: Source, types: frozenset[str] | None) -> Iterator[Document]:
    any_documents = False
    met_types: set[str] = set()
    with reading(source.path):
        for document in documents:
            any_documents = True
            if types is None:
                yield document
                continue
            met_types.update(entity.type for entity in document.entities)
            yield replace(document, entities=tuple(entity for entity in document.entities if entity.type in types))
    _check_ids(source)
    if not any_documents:
        skipped = source.notes.places(SKIPPED)
        why = f" ({plural(source.notes[SKIPPED], 'bad record')} skipped, first {skipped[0]})" if skipped else ""
        raise FormatError(f"{source.path}: no documents{why}")
    for name in sorted((types or frozenset()) - met_types):
        source.notes.add("type asked for, but not found", name)


def _check_ids(source: Source) -> None:
    """Raise an error for ids that were not found: a wrong list would move documents between splits."""
    missing = sorted(((source.ids or frozenset()) | source.except_ids) - source.met)
    if source.lenient:
        for name in missing:
            source.notes.add("id asked for, but not found", name)
    elif missing:
        raise FormatError(
            f"{source.path}: {len(missing)} of the ids not found: {', '.join(missing[:5])}" + ", …" * (len(missing) > 5)
        )


def write(
    documents: Iterable[Document],
    path: str | Path,
    format: str = "auto",
    *,
    force: bool = False,
    notes: Notes | None = None,
) -> int:
    """Write a corpus: everything or nothing. `notes` counts what the format cannot carry.

    Return the number of entities written.
    """
    path = Path(path)
    notes = Notes() if notes is None else notes
    chosen = FORMATS[_known(_to_write(path) if format == "auto" else format)]
    once = _each_once(documents)
    written = 0

    def make(part: Path) -> None:
        nonlocal written
        written = chosen.write(once, part, notes)

    for name in write_whole(path, make, folder=chosen.folder, force=force):
        notes.add("file that was there before and stays", f"{path}/{name}")
    return written


def check_write(path: str | Path, format: str = "auto", *, force: bool = False) -> None:
    """Raise what `write` would raise before its first document, for those who have long work to do until then."""
    path = Path(path)
    name = _known(_to_write(path) if format == "auto" else format)
    if name == "parquet":
        parquet.schema()  # an error if pyarrow is missing
    check_output(path, folder=FORMATS[name].folder, force=force)


def _each_once(documents: Iterable[Document]) -> Iterator[Document]:
    seen: set[str] = set()
    for document in documents:
        if document.id in seen:
            raise OutputError(f"document {document.id} appears twice; ids must be unique")
        seen.add(document.id)
        yield document


def read_ids(path: str | Path) -> frozenset[str]:
    """Read document ids, one per line, without .txt and .ann at their ends."""
    with reading(Path(path)):
        lines = [line.text.strip() for line in read_lines(Path(path))]
    ids = frozenset(re.sub(r"\.(txt|ann)$", "", line, flags=re.IGNORECASE) for line in lines if line)
    if not ids:
        raise FormatError(f"{path}: no ids, expected one per line")
    return ids


def guess(path: Path) -> str:
    """Return the format of a path by its name; that of a folder by its files, or else by those in its subfolders."""
    if path.is_file():
        return _by_name(path)
    names = [file.name for file in path.iterdir()] if path.is_dir() else []
    if not names:
        raise FormatError(f"{path}: no documents, the folder is empty")
    source = Source(path, lenient=True)
    below = [name for name in names_under(path, source) if "/" in name]
    for candidates in (names, below):
        for endings, format in (
            ((".ann",), "brat"),
            ((".jsonl",), "jsonl"),
            ((".json",), "w2ner"),
            ((".inline",), "inline"),
            ((".xmi",), "cas"),
            ((".conll", ".bio"), "conll"),
            (share.PIPE_SUFFIXES + share.XML_SUFFIXES, "share"),
            ((".txt",), "brat"),
        ):
            if any(name.lower().endswith(endings) for name in candidates):
                return format
    for skipped in source.notes.places(SKIPPED)[:1]:  # the documents may be there
        raise FormatError(skipped)
    raise FormatError(f"{path}: cannot tell its format; name one of {', '.join(FORMATS)}")


def _by_name(path: Path) -> str:
    if path.name.lower().endswith(share.PIPE_SUFFIXES + share.XML_SUFFIXES):
        return "share"
    suffix = path.suffix.lower()
    if suffix == ".xmi":
        return "cas"
    if suffix == ".json" and labelstudio.looks_like(path):
        return "labelstudio"
    return "brat" if suffix in (".ann", ".txt") else _to_write(path)


def _to_write(path: Path) -> str:
    known = {".json": "w2ner", ".bio": "conll", "": "brat"}
    named = {f".{name}": name for name in ("jsonl", "inline", "conll", "parquet")}
    if path.suffix.lower() in known | named:
        return (known | named)[path.suffix.lower()]
    raise UsageError(f"{path}: cannot tell its format; name one of {', '.join(FORMATS)}")


def _known(format: str) -> str:
    if format not in FORMATS:
        close = difflib.get_close_matches(format, FORMATS, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise UsageError(f"format {format!r}, expected one of {', '.join(FORMATS)}{hint}")
    return format
