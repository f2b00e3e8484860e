"""The figure of an experiment: bars in groups, with the deviation over runs as whiskers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from gridner.scoring.significance import Spread

COLOURS = ("#0b6e99", "#c4541a", "#5a8f3c", "#8a5a9e", "#b08900", "#777777")
HATCHES = ("", "///", "...", "xxx")  # where the colours come again
LEGEND = 95  # letters that a line of the legend has room for
ACROSS = 6  # groups that stand beside each other at most
LETTERS = 105  # that names below an axis have room for


@dataclass(frozen=True, slots=True)
class Bars:
    """Values of some series for each group; None is left out."""

    title: str
    value: str  # what the axis shows
    groups: Sequence[str]
    series: Mapping[str, Sequence[Spread | float | None]]

    def draw(self, path: Path) -> None:
        """Write a PNG."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        widths = [max(map(len, name.split("\n"))) for name in self.groups]
        crowded = any(sum(two) / 2 > LETTERS / len(widths) for two in pairwise(widths))
        lying = len(self.groups) > ACROSS or crowded
        size = (7.0, 1.2 + len(self.groups) * (0.12 + 0.16 * len(self.series))) if lying else (7.5, 4.0)
        figure = Figure(figsize=size, dpi=120, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        height = 0.8 / max(1, len(self.series))
        for number, (name, values) in enumerate(self.series.items()):
            shift = (number - (len(self.series) - 1) / 2) * height
            present = [
                (place + shift, _mean(value), _deviation(value))
                for place, value in enumerate(values)
                if value is not None
            ]
            places, means, deviations = zip(*present, strict=True) if present else ((), (), ())
            colour = COLOURS[number % len(COLOURS)]
            hatch = HATCHES[number // len(COLOURS) % len(HATCHES)]
            style: dict[str, Any] = {"color": colour, "label": _plain(name), "ecolor": "#333333", "capsize": 2}
            style |= {"hatch": hatch, "edgecolor": "white", "linewidth": 0} if hatch else {}
            if lying:
                axes.barh(places, means, height, xerr=deviations, **style)
            else:
                axes.bar(places, means, height, yerr=deviations, **style)
        ticks, groups = range(len(self.groups)), [_plain(name) for name in self.groups]
        if lying:
            axes.set_yticks(ticks, groups, fontsize=8)
            axes.invert_yaxis()
            axes.set_xlabel(self.value)
        else:
            axes.set_xticks(ticks, groups, fontsize=8)
            axes.set_ylabel(self.value)
        axes.spines[["top", "right"]].set_visible(False)
        spreads = [value for values in self.series.values() for value in values if isinstance(value, Spread)]
        alone = any(value.runs == 1 for value in spreads)
        axes.set_title(f"{self.title}{' (bars without whiskers: one run)' if alone else ''}", fontsize=10)
        if len(self.series) > 1:
            columns = max(1, min(4, len(self.series), LEGEND // (max(map(len, self.series)) + 6)))
            figure.legend(loc="outside lower center", ncols=columns, frameon=False, fontsize=8)
        figure.savefig(path, format="png")


def _mean(value: Spread | float) -> float:
    return value.mean if isinstance(value, Spread) else value


def _deviation(value: Spread | float) -> float:
    return value.deviation if isinstance(value, Spread) and value.runs > 1 else float("nan")


def _plain(name: str) -> str:
    """A name in which a dollar is one: between two of them matplotlib sees a formula."""
    return name.replace("$", r"\$")
