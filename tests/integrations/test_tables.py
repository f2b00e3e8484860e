"""Entities as rows."""

import csv
import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given

from gridner.documents import Document, Entity, Fragment, extent
from gridner.errors import FormatError, Notes, OutputError, UsageError
from gridner.formats import read, write
from gridner.formats.parquet import ROWS, spreadsheet_text
from gridner.integrations.tables import COLUMNS, rows, to_arrow, to_pandas, write_parquet
from support.docs_pages import run_section
from support.small import documents
from support.strategies import corpora

DOCUMENT = Document(
    "note-1",
    "pain in left arm and shoulder",
    (
        Entity("Sign", (Fragment(0, 7), Fragment(21, 29)), 0.75, "T1"),
        Entity("Sign", (Fragment(0, 4), Fragment(5, 7))),
    ),
)


def test_a_row_says_what_an_entity_is() -> None:
    first, second = rows([DOCUMENT])
    assert first == {
        "document": "note-1",
        "type": "Sign",
        "start": 0,
        "end": 29,
        "fragments": [[0, 7], [21, 29]],
        "text": "pain in … shoulder",
        "discontinuous": True,
        "score": 0.75,
        "id": "T1",
    }
    assert tuple(second) == COLUMNS
    assert not second["discontinuous"]  # white space alone is no gap
    assert second["score"] is None
    assert second["id"] is None


@given(corpora())
def test_rows_restore_the_entities(corpus: list[Document]) -> None:
    by_id = {document.id: document for document in corpus}
    found = list(rows(corpus))
    assert [(row["document"], row["type"], row["fragments"], row["score"], row["id"]) for row in found] == [
        (document.id, one.type, [[part.start, part.end] for part in one.fragments], one.score, one.id)
        for document in corpus
        for one in document.entities
    ]
    for row in found:
        text = by_id[row["document"]].text
        assert row["text"] == " … ".join(text[start:end] for start, end in row["fragments"])
        assert (row["start"], row["end"]) == (row["fragments"][0][0], row["fragments"][-1][1])
        entity = Entity(row["type"], tuple(Fragment(*pair) for pair in row["fragments"]))
        assert row["discontinuous"] == (len(extent(text, entity)) > 1)


@given(corpora())
def test_pandas_and_arrow_have_the_rows(corpus: list[Document]) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    expected = list(rows(corpus))
    assert to_arrow(corpus).to_pylist() == expected
    frame = to_pandas(corpus)
    assert frame.astype(object).where(frame.notna(), None).to_dict("records") == expected


def test_columns_have_types_whatever_is_in_them() -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    empty, full = to_pandas([]), to_pandas([DOCUMENT])
    assert list(empty.columns) == list(COLUMNS)
    assert dict(empty.dtypes) == dict(full.dtypes)
    assert full["discontinuous"].tolist() == [True, False]
    assert to_arrow([]).schema == to_arrow([DOCUMENT]).schema
    whole = Document("whole", "pain", (Entity("Sign", (Fragment(0, 4),), score=1),))
    assert to_arrow([whole]).to_pylist()[0]["score"] == 1.0


def test_parquet_is_written_in_parts_and_whole(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    many = ROWS // 2 + 1

    def stream() -> Iterator[Document]:
        for number in range(2 * many):
            yield Document(f"note-{number}", DOCUMENT.text, DOCUMENT.entities)

    path = tmp_path / "new" / "found.parquet"
    assert write_parquet(stream(), path) == 4 * many
    file = parquet.ParquetFile(path)
    assert file.metadata.num_row_groups == 3
    assert max(file.metadata.row_group(number).num_rows for number in range(3)) == ROWS
    assert file.read().to_pylist() == list(rows(stream()))
    assert [one.name for one in path.parent.iterdir()] == ["found.parquet"]

    before = path.read_bytes()
    with pytest.raises(OutputError, match="exists already"):
        write_parquet([DOCUMENT], path)

    def failing() -> Iterator[Document]:
        yield DOCUMENT
        raise FormatError("the source is bad")

    with pytest.raises(FormatError, match="the source is bad"):
        write_parquet(failing(), path, force=True)
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == ["found.parquet"]
    assert write_parquet([], path, force=True) == 0
    assert parquet.read_table(path).num_rows == 0


def test_what_a_table_does_not_carry_is_counted(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    notes = Notes()
    with_more = Document("more", "pain", (), ((Fragment(0, 4),),), {"source": "clinic"})
    assert write_parquet([DOCUMENT, with_more], tmp_path / "found.parquet", notes=notes) == 2
    assert notes.places("document without entities, not in the table") == ["more"]
    assert notes["document's meta, not carried by parquet"] == 1
    assert notes["document's own sentences and words, not carried by parquet"] == 1


def test_a_missing_library_is_said_in_a_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("pandas", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match=r"pandas is missing; install it with: pip install 'gridner\[table\]'"):
        to_pandas([DOCUMENT])
    with pytest.raises(UsageError, match=r"pyarrow is missing; install it with: pip install 'gridner\[table\]'"):
        to_arrow([DOCUMENT])
    with pytest.raises(UsageError, match="pyarrow is missing"):
        write_parquet([DOCUMENT], tmp_path / "new" / "found.parquet")
    assert not list(tmp_path.iterdir())
    assert len(list(rows([DOCUMENT]))) == 2


def test_the_page_saves_the_same_rows_as_csv() -> None:
    pytest.importorskip("fastapi")
    from gridner.service.drawing import _csv

    assert _csv([DOCUMENT]).splitlines() == [
        "document,type,fragments,text,discontinuous,score",
        "note-1,Sign,0 7;21 29,pain in … shoulder,yes,0.7500",
        "note-1,Sign,0 4;5 7,pain … in,no,",
    ]


@pytest.mark.parametrize("text", ["=1+1", "+5 mg", "-ve result", "@home", "\tx", "\rx"])
def test_no_cell_of_a_csv_file_is_a_formula(text: str) -> None:
    pytest.importorskip("fastapi")
    from gridner.service.drawing import _csv

    entity = Entity("=A1", (Fragment(0, len(text)),), 0.5)
    (_, row) = csv.reader(io.StringIO(_csv([Document("@note", text, (entity,))]), newline=""))
    assert row == ["'@note", "'=A1", f"0 {len(text)}", f"'{text}", "no", "0.5000"]
    assert spreadsheet_text("pain = bad") == "pain = bad"


def test_the_examples_of_the_docs_run(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    (said,) = run_section("pandas, Arrow and Parquet", tmp_path)
    assert "Pain in … shoulder" in said
    assert (tmp_path / "found.parquet").exists()


def test_the_command_line_writes_parquet(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    write(documents(), tmp_path / "corpus.jsonl")
    target = tmp_path / "found.parquet"
    command = [sys.executable, "-m", "gridner", "convert", str(tmp_path / "corpus.jsonl"), str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "1 × document without entities, not in the table" in done.stderr
    assert parquet.read_table(target).to_pylist() == list(rows(documents()))
    with pytest.raises(FormatError, match="gridner only writes Parquet"):
        list(read(target))
