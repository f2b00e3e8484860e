"""Corpora from and to the `datasets` library of Hugging Face, in the `kb` schema of BigBIO.

A dataset with splits is a dict of them, and so are its documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, overload

from gridner.documents import Document
from gridner.errors import FormatError, InvalidError, Notes, need
from gridner.formats.bigbio import from_kb, to_kb

if TYPE_CHECKING:
    import datasets  # type: ignore[import-untyped]

COLUMNS = ("id", "document_id", "passages", "entities", "events", "coreferences", "relations")
NEEDED = ("document_id", "passages", "entities")  # those that a document is made of


@overload
def from_dataset(  # first, as the class of what has splits is a dict
    dataset: Mapping[str, Any], *, notes: Notes | None = None
) -> dict[str, Iterator[Document]]: ...
@overload
def from_dataset(dataset: Iterable[Any], *, notes: Notes | None = None) -> Iterator[Document]: ...
def from_dataset(
    dataset: Mapping[str, Any] | Iterable[Any], *, notes: Notes | None = None
) -> dict[str, Iterator[Document]] | Iterator[Document]:
    """Yield the documents of a dataset, streamed or not; if it has splits, of each split.

    `notes` counts what documents have no place for: relations, events, coreferences, other columns.
    """
    notes = Notes() if notes is None else notes
    if isinstance(dataset, Mapping):
        return {str(name): _documents(split, str(name), notes) for name, split in dataset.items()}
    return _documents(dataset, str(getattr(dataset, "split", None) or "dataset"), notes)


def _documents(dataset: Iterable[Any], where: str, notes: Notes) -> Iterator[Document]:
    known = getattr(dataset, "column_names", None)  # not known of some that are streamed
    if known is not None:
        _check_columns(known, where)
        for name in known:
            if name not in COLUMNS:
                notes.add("column that is not of BigBIO's kb schema, left out", f"{where}: {name}")
    plain = dataset.with_format(None) if hasattr(dataset, "with_format") else dataset  # lists, no arrays
    return _each(plain, where, known is not None, notes)


def _each(dataset: Iterable[Any], where: str, checked: bool, notes: Notes) -> Iterator[Document]:
    seen: set[str] = set()
    for number, item in enumerate(dataset):
        item_where = f"{where}[{number}]"
        if not checked:
            _check_columns(item, item_where)
        try:
            document = from_kb(item, item_where, notes)
        except InvalidError as error:
            raise FormatError(f"{item_where}: {error}") from None
        if document.id in seen:
            raise FormatError(f"{item_where}: document {document.id} appears twice; ids must be unique")
        seen.add(document.id)
        yield document


def _check_columns(columns: Iterable[str], where: str) -> None:
    names = list(columns)
    if missing := [name for name in NEEDED if name not in names]:
        raise FormatError(
            f"{where}: columns {', '.join(names) or 'none'}, without {', '.join(missing)}, "
            f"expected those of BigBIO's kb schema: {', '.join(COLUMNS)}"
        )


@overload
def to_dataset(  # first, as a mapping is an iterable of its names
    documents: Mapping[str, Iterable[Document]], *, notes: Notes | None = None
) -> datasets.DatasetDict: ...
@overload
def to_dataset(documents: Iterable[Document], *, notes: Notes | None = None) -> datasets.Dataset: ...
def to_dataset(
    documents: Mapping[str, Iterable[Document]] | Iterable[Document], *, notes: Notes | None = None
) -> datasets.DatasetDict | datasets.Dataset:
    """Return documents as a dataset in memory. A mapping of splits becomes a dataset with splits.

    `notes` counts what the schema does not carry: scores, sentences, most of `meta`.
    """
    notes = Notes() if notes is None else notes
    library = need("datasets", "datasets")
    if isinstance(documents, Mapping):
        return library.DatasetDict({name: to_dataset(split, notes=notes) for name, split in documents.items()})
    items = [to_kb(document, notes) for document in documents]
    columns = {name: [item[name] for item in items] for name in COLUMNS}
    return library.Dataset.from_dict(columns, features=features())


def features() -> datasets.Features:
    """Return the columns of the schema with their types, also those of empty lists."""
    library = need("datasets", "datasets")
    text, pairs = library.Value("string"), [[library.Value("int32")]]
    located_text = {"text": [text], "offsets": pairs}
    concepts = [{"db_name": text, "db_id": text}]
    return library.Features(
        {
            "id": text,
            "document_id": text,
            "passages": [{"id": text, "type": text, **located_text}],
            "entities": [{"id": text, "type": text, **located_text, "normalized": concepts}],
            "events": [
                {"id": text, "type": text, "trigger": located_text, "arguments": [{"role": text, "ref_id": text}]}
            ],
            "coreferences": [{"id": text, "entity_ids": [text]}],
            "relations": [{"id": text, "type": text, "arg1_id": text, "arg2_id": text, "normalized": concepts}],
        }
    )
