"""Print precision and recall of a model by score threshold, and draw the curve.

    python benchmarks/curve.py craft/dev docs/precision-recall.png [--model MODEL]

Without --model, it measures the default model. Predictions of types that the corpus does not annotate do not count.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from gridner import Document, Entity, load, read
from gridner.documents import extent
from gridner.inference.installed_models import find_model
from measure import machine, table

LOWEST = 0.02
SHOWN = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
COLOURS = {"all entities": "#0b6e99", "discontinuous only": "#c4541a"}
Key = tuple[object, ...]


class Curve:
    """Predicted entities by descending score, whether each is correct, and the number of gold entities."""

    def __init__(self) -> None:
        self.found: list[tuple[float, bool]] = []
        self.gold = 0

    def add(self, gold: set[Key], answer: dict[Key, float]) -> None:
        """Add the entities of a document."""
        self.gold += len(gold)
        self.found += [(score, key in gold) for key, score in answer.items()]

    def at(self, threshold: float) -> tuple[float, float, float]:
        """Return precision, recall and F1 of the entities above a score."""
        kept = [right for score, right in self.found if score > threshold]
        right = sum(kept)
        return right / max(1, len(kept)), right / max(1, self.gold), 2 * right / max(1, len(kept) + self.gold)

    def points(self) -> list[tuple[float, float]]:
        """Return precision and recall of the best entity, the two best, and so on."""
        found, right = [], 0
        for number, (_, ok) in enumerate(sorted(self.found, reverse=True), start=1):
            right += ok
            found.append((right / number, right / max(1, self.gold)))
        return found


def label(threshold: float, default: float) -> str:
    """Format a threshold, and mark the model's default."""
    return f"{threshold:.2f}" if threshold != default else f"{threshold:.3f} (default)"


def keys(document: Document, entities: Sequence[Entity], *, gaps: bool) -> dict[Key, float]:
    """Return the keys by which entities are compared, with their scores; all, or only discontinuous ones."""
    found = {(entity.type, *extent(document.text, entity)): entity.score or 0.0 for entity in entities}
    return {key: score for key, score in found.items() if len(key) > 2 or not gaps}


def draw(curves: dict[str, Curve], default: float, path: Path) -> None:
    figure = Figure(figsize=(6, 4.2), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for name, curve in curves.items():
        points = curve.points()
        colour = COLOURS[name]
        axes.plot([100 * r for _, r in points], [100 * p for p, _ in points], color=colour, label=name)
        for threshold, marker in ((default, "o"), (0.2, "<"), (0.8, ">")):
            precision, recall, _ = curve.at(threshold)
            axes.plot(100 * recall, 100 * precision, marker, color=colour, markersize=6)
            axes.annotate(
                label(threshold, default),
                (100 * recall, 100 * precision),
                xytext=(6, 5),
                textcoords="offset points",
                fontsize=8,
            )
    axes.set(xlabel="recall, %", ylabel="precision, %", xlim=(0, 100), ylim=(0, 101))
    axes.grid(alpha=0.3)
    axes.legend(loc="lower left", frameon=False)
    figure.savefig(path, format="png", metadata={"Software": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--model", type=Path, default=find_model())
    parser.add_argument("--format", default="auto")
    options = parser.parse_args()
    default = load(options.model).decoding.threshold
    recognizer = load(options.model, threshold=LOWEST)
    curves = {name: Curve() for name in COLOURS}
    documents = list(read(options.corpus, options.format))
    types = {entity.type for document in documents for entity in document.entities}
    for gold, answer in zip(documents, recognizer.pipe(documents), strict=True):
        counted = [entity for entity in answer.entities if entity.type in types]
        for name, curve in curves.items():
            gaps = name != "all entities"
            curve.add(set(keys(gold, gold.entities, gaps=gaps)), keys(gold, counted, gaps=gaps))
    draw(curves, default, options.picture)
    rows = []
    for threshold in sorted({*SHOWN, default}):
        values = [value for curve in curves.values() for value in curve.at(threshold)]
        rows.append([label(threshold, default), *(f"{100 * value:.1f}" for value in values)])
    print(machine() + "\n")
    print(table(["score above", "P", "R", "F1", "discontinuous: P", "R", "F1"], rows))


if __name__ == "__main__":
    main()
