from pathlib import Path

import pytest

from gridner import Document, Entity, Fragment, Notes, OutputError, read
from gridner.corpus.conversion import Conversion, convert

TEXT = "Pain in left arm and shoulder."
ARM = Entity("Sign", (Fragment(0, 16),))
SHOULDER = Entity("Sign", (Fragment(0, 7), Fragment(21, 29)))


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({}, (ARM, SHOULDER)),
        ({"flat": True}, (ARM,)),
        ({"max_gap": 2}, (ARM,)),
        ({"max_gap": 3}, (ARM, SHOULDER)),
    ],
)
def test_a_conversion_counts_what_it_reads_and_writes(
    tmp_path: Path, options: dict[str, int], kept: tuple[Entity, ...]
) -> None:
    notes = Notes()
    counts = convert([Document("note", TEXT, (ARM, SHOULDER))], tmp_path / "out.jsonl", **options, notes=notes)  # type: ignore[arg-type]
    assert counts == Conversion(documents=1, entities=2, entities_written=len(kept))
    assert next(iter(read(tmp_path / "out.jsonl"))).entities == kept
    assert sum(count for _, count, _ in notes) == 2 - len(kept)


def test_an_existing_file_is_overwritten_only_if_asked(tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    convert([Document("a", TEXT, (ARM,))], output)
    with pytest.raises(OutputError, match="exists"):
        convert([Document("b", TEXT)], output)
    assert [document.id for document in read(output)] == ["a"]
    convert([Document("b", TEXT)], output, force=True)
    assert [document.id for document in read(output)] == ["b"]
