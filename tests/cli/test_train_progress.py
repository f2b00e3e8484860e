import pytest

from gridner.cli.train_progress import TrainingProgress
from gridner.training.snapshot import State
from support.small import tiny_config


def test_a_run_that_is_over_leaves_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    live = TrainingProgress(resume=False, quiet=False)
    for name in ("first", "second"):
        line = live.watch(name, tiny_config().train, 1)
        assert line is not None
        line.step(State({}, step=1, seconds=2.0), 10, 0.5)
        assert [task.description for task in live.bar.tasks] == [f"{name} epoch 1/{tiny_config().train.epochs}"]
