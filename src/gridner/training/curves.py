"""Draw the curves of a training: loss and dev scores by epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path


def draw_curves(
    history: Sequence[Mapping[str, float]], path: Path, *, title: str, chosen_epoch: int | None = None
) -> None:
    """Write the curves as a PNG. A line marks the epoch whose weights were chosen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    epochs = [row["epoch"] for row in history]
    figure = Figure(figsize=(7, 4), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    left = figure.add_subplot()
    left.plot(epochs, [row["loss"] for row in history], color="#888888", linestyle="--", label="training loss")
    left.set_yscale("log")
    left.set_xlabel("epoch")
    left.set_ylabel("loss per cell")
    left.xaxis.set_major_locator(MaxNLocator(integer=True))
    lines = list(left.get_lines())
    curves = {"all F1": ("#0b6e99", "dev F1"), "discontinuous F1": ("#c4541a", "dev F1, discontinuous only")}
    if any("all F1" in row for row in history):
        right = left.twinx()
        for key, (colour, label) in curves.items():
            lines += right.plot(
                epochs,
                [100 * row.get(key, 0.0) for row in history],
                color=colour,
                marker="o",
                markersize=3,
                label=label,
                clip_on=False,  # markers at 0 and 100 stay whole
                zorder=3,
            )
        right.set_ylabel("F1, %")
        right.set_ylim(0, 100)
    if chosen_epoch:
        lines.append(left.axvline(chosen_epoch, color="#444444", linewidth=1, linestyle=":", label="chosen epoch"))
    figure.legend(handles=lines, loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    left.set_title(title, fontsize=10)
    figure.savefig(path, format="png")
