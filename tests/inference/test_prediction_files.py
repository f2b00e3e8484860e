"""Predict into a file from Python in one call."""

from pathlib import Path

import pytest

import gridner
from gridner import Document
from gridner.inference.parallel import PredictionTask
from gridner.inference.prediction_files import predict_to_file

TEXT = "Rod and cone photoreceptors die by apoptosis."


def test_one_call_writes_what_the_recognizer_finds(tmp_path: Path) -> None:
    output = tmp_path / "found.jsonl"
    entities = predict_to_file(PredictionTask(threads=1), [Document("a", TEXT)], output)
    (written,) = gridner.read(output)
    assert written.entities == gridner.load(threads=1)(TEXT).entities
    assert entities == len(written.entities) > 0
    assert [path.name for path in tmp_path.iterdir()] == ["found.jsonl"]


def test_an_interrupted_call_resumes_and_leaves_no_partial_predictions(tmp_path: Path) -> None:
    output = tmp_path / "found.jsonl"
    task = PredictionTask(threads=1)
    documents = [Document(str(number), TEXT) for number in range(30)]

    def interrupted() -> object:
        yield from documents[:20]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        predict_to_file(task, interrupted(), output)  # type: ignore[arg-type]
    assert not output.exists()
    predict_to_file(task, documents, output, resume=True)
    assert [document.id for document in gridner.read(output)] == [document.id for document in documents]
    assert [path.name for path in tmp_path.iterdir()] == ["found.jsonl"]
