"""Documents to and from datasets of Hugging Face. Nothing is fetched: all of them are made here."""

import sys
from pathlib import Path

import pytest
from hypothesis import given, settings

from gridner.documents import Document, Entity, Fragment, join_fragments
from gridner.errors import FormatError, Notes, UsageError
from gridner.integrations.datasets import COLUMNS, features, from_dataset, to_dataset
from support.docs_pages import run_section
from support.small import documents
from support.strategies import corpora

hf = pytest.importorskip("datasets")


def compared(document: Document) -> tuple[object, ...]:
    """What a dataset carries; fragments that touch are joined, and nothing else is changed."""
    entities = [(one.type, join_fragments(document.text, one.fragments)) for one in document.entities]
    return document.id, document.text, entities


@given(corpora(plain=True))
@settings(max_examples=20)
def test_documents_survive_a_dataset(corpus: list[Document]) -> None:
    dataset = to_dataset(corpus)
    assert tuple(dataset.column_names) == COLUMNS
    assert list(map(compared, from_dataset(dataset))) == list(map(compared, corpus))


@given(corpora())
@settings(max_examples=20)
def test_what_a_dataset_does_not_carry_is_counted(corpus: list[Document]) -> None:
    notes = Notes()
    found = list(from_dataset(to_dataset(corpus, notes=notes)))
    assert list(map(compared, found)) == list(map(compared, corpus))
    scores = sum(entity.score is not None for document in corpus for entity in document.entities)
    assert notes["score, not carried by bigbio"] == scores


def test_columns_have_types_whatever_is_in_them() -> None:
    nothing = to_dataset([])
    plain = to_dataset([Document("1", "pain")])
    full = to_dataset(documents())
    assert nothing.features == plain.features == full.features == features()
    assert len(nothing) == 0
    assert list(from_dataset(nothing)) == []
    assert hf.concatenate_datasets([nothing, plain, full]).num_rows == 7


def test_an_entity_in_pieces_is_as_bigbio_has_it() -> None:
    document = Document("1", "pain in arm and leg", (Entity("Sign", (Fragment(0, 7), Fragment(16, 19)), id="T1"),))
    (item,) = to_dataset([document])
    assert item["document_id"] == "1"
    assert item["passages"][0]["text"] == ["pain in arm and leg"]
    assert item["passages"][0]["offsets"] == [[0, 19]]
    (entity,) = item["entities"]
    assert (entity["type"], entity["text"], entity["offsets"]) == ("Sign", ["pain in", "leg"], [[0, 7], [16, 19]])
    assert entity["normalized"] == []


def test_splits_are_a_dict() -> None:
    parts = {"train": documents()[:4], "test": documents()[4:]}
    splits = to_dataset(parts)
    assert isinstance(splits, hf.DatasetDict)
    assert {name: list(found) for name, found in from_dataset(splits).items()} == parts


def test_streams_files_and_other_forms_are_read(tmp_path: Path) -> None:
    dataset = to_dataset(documents())
    assert list(from_dataset(dataset.to_iterable_dataset())) == documents()
    unknown = hf.IterableDataset.from_generator(lambda: iter(dataset))  # one whose columns are not known
    assert unknown.column_names is None
    assert list(from_dataset(unknown)) == documents()
    assert list(from_dataset(dataset.with_format("numpy"))) == documents()
    dataset.save_to_disk(str(tmp_path / "saved"))
    assert list(from_dataset(hf.load_from_disk(str(tmp_path / "saved")))) == documents()
    assert list(from_dataset([to_dataset(documents())[0]])) == documents()[:1]


def test_other_columns_are_counted() -> None:
    notes = Notes()
    dataset = to_dataset(documents()).add_column("year", [2020] * 6)
    assert list(from_dataset(dataset, notes=notes)) == documents()
    assert notes.places("column that is not of BigBIO's kb schema, left out") == ["dataset: year"]
    item = {**to_dataset(documents())[0], "coreferences": [{"id": "c", "entity_ids": ["a", "b"]}]}
    list(from_dataset([item], notes=notes))
    assert notes["one of the coreferences, left out"] == 1


def test_a_dataset_of_another_schema_is_one_clear_error() -> None:
    words = hf.Dataset.from_dict({"tokens": [["pain"]], "ner_tags": [[0]]})
    with pytest.raises(FormatError, match=r"^dataset: columns tokens, ner_tags, without document_id, passages, ent"):
        from_dataset(words)
    with pytest.raises(
        FormatError, match=r"^train: columns tokens, ner_tags, without .* expected those of BigBIO's kb"
    ):
        from_dataset(hf.DatasetDict({"train": words}))
    stream = hf.IterableDataset.from_generator(lambda: iter(words))
    with pytest.raises(FormatError, match=r"^train\[0\]: columns tokens, ner_tags, without"):
        list(from_dataset(stream))


def test_bad_records_say_where_they_are() -> None:
    good = list(to_dataset(documents()[:2]))
    with pytest.raises(FormatError, match=r"^dataset\[2\]: document note-0 appears twice"):
        list(from_dataset([*good, good[0]]))
    with pytest.raises(FormatError, match=r"^dataset\[1\]: .*past the end"):
        list(from_dataset([good[0], _with_offsets(good[1], [[0, 500]])]))
    with pytest.raises(FormatError, match=r"^dataset\[0\]: .*expected"):
        list(from_dataset([{**good[0], "document_id": "a\nb"}]))


def _with_offsets(item: dict[str, object], offsets: list[list[int]]) -> dict[str, object]:
    entity = {"id": "x", "type": "Sign", "text": ["pain"], "offsets": offsets, "normalized": []}
    return {**item, "entities": [entity]}


def test_a_missing_library_is_said_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UsageError, match=r"datasets is missing; install it with: pip install 'gridner\[datasets\]'"):
        to_dataset(documents())


def test_the_examples_of_the_docs_run(tmp_path: Path) -> None:
    first, second = run_section("datasets", tmp_path)
    assert "'offsets': [[0, 11]]" in first
    assert second.splitlines() == ["train ['train']", "test ['test']"]
