"""The picture of a training marks the epoch whose weights were chosen, and shows every marker whole."""

from pathlib import Path

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")


def test_the_chosen_epoch_is_marked_and_no_marker_is_clipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.figure import Figure

    from gridner.training.curves import draw_curves

    figures: list[Figure] = []
    save = Figure.savefig

    def keep(figure: Figure, *args: object, **options: object) -> None:
        figures.append(figure)
        save(figure, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Figure, "savefig", keep)
    history = [{"epoch": epoch, "loss": 1.0, "all F1": epoch - 1.0, "discontinuous F1": 0.0} for epoch in (1, 2)]
    draw_curves(history, tmp_path / "curves.png", title="t", chosen_epoch=2)
    ((left, right),) = (figure.axes for figure in figures)
    marked = [line for line in left.get_lines() if line.get_label() == "chosen epoch"]
    assert [np.asarray(line.get_xdata()).tolist() for line in marked] == [[2, 2]]
    assert [line.get_clip_on() for line in right.get_lines()] == [False, False]
    assert (tmp_path / "curves.png").stat().st_size > 1000
