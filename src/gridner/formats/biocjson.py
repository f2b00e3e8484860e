"""BioC JSON, through the library `bioc`: a collection, or documents in an array or one per line. See `bioc`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from reprlib import repr as shorten
from typing import Any

from gridner.documents import Document
from gridner.errors import FormatError, Notes, need
from gridner.files import Source
from gridner.formats._support.folders import data_files
from gridner.formats._support.json_stream import stream_values
from gridner.formats.bioc import MISSHAPEN, bioc_document, wanted


def read(source: Source) -> Iterator[Document]:
    """Yield the documents of a file (or of the .json files of a folder)."""
    library = need("bioc.biocjson", "formats")
    for path in data_files(source, (".json", ".jsonl")):
        with source.record(str(path)):
            for number, item in enumerate(stream_values(path, under="documents"), start=1):
                where = f"{path}: record {number}"
                with source.record(where):
                    yield from wanted(_parse(library, item, where), where, source)


def _parse(library: Any, item: Any, where: str) -> Any:
    kind = item.get("bioctype", "BioCDocument") if isinstance(item, dict) else None
    if kind != "BioCDocument":
        raise FormatError(f"{where}: {shorten(item if kind is None else kind)}, expected a BioC document")
    try:
        return library.fromJSON(item, "BioCDocument")
    except KeyError as error:
        raise FormatError(f"{where}: no {error}, which BioC JSON requires; add it") from None
    except MISSHAPEN as error:
        raise FormatError(f"{where}: not a BioC document ({error!r:.80})") from None


def write(documents: Iterable[Document], path: Path, notes: Notes) -> int:
    """Write one file with all documents as a collection. Return the number of entities written."""
    library = need("bioc.biocjson", "formats")
    head = {"bioctype": "BioCCollection", "source": "gridner", "date": "", "key": "", "version": "1.0", "infons": {}}
    written = 0
    with open(path, "x", encoding="utf-8", newline="") as file:
        file.write(json.dumps(head)[:-1] + ', "documents": [')
        separator = "\n"
        for document in documents:
            converted = bioc_document(document, document.text, notes, "biocjson")
            file.write(separator + json.dumps(library.toJSON(converted), ensure_ascii=False))
            separator = ",\n"
            written += len(document.entities)
        file.write("\n]}\n")
    return written
