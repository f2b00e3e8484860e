"""Training from Python in one call."""

from pathlib import Path

import pytest

from gridner import UsageError
from gridner.inference.checkpoint import read_checkpoint
from gridner.training import train
from support.small import documents, tiny_config


def test_one_call_trains_on_documents_and_holds_dev_out(tmp_path: Path) -> None:
    result = train(tiny_config(epochs=1), documents(), output=tmp_path / "m", dev=0.4)
    assert list(result.runs) == [""]
    assert len((tmp_path / "m" / "dev.ids").read_text().split()) == 2
    assert set(result.scores) == {"dev"}
    assert result.scores["dev"]["all"]["f1"].runs == 1
    assert read_checkpoint(tmp_path / "m")[0].training["scores"].keys() == {"dev"}


def test_seeds_train_one_model_each_and_reports_are_written_beside_them(tmp_path: Path) -> None:
    result = train(tiny_config(epochs=1), documents(), dev=documents(), seeds=(1, 2), output=tmp_path / "m")
    assert list(result.runs) == ["seed-1", "seed-2"]
    written = [report.path for report in result.write_reports(no_text=True)]
    assert written == [tmp_path / "m" / "seed-1" / "report.html", tmp_path / "m" / "seed-2" / "report.html"]
    assert all(path.is_file() for path in written)


def test_folds_and_test_documents_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="each fold is the test set once"):
        train(tiny_config(), documents(), test=documents(), folds=2, output=tmp_path / "m")
    assert not (tmp_path / "m").exists()
