"""Tables of an experiment: as Markdown for people, as plain data for machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gridner.scoring.significance import Spread

ONE_RUN = "†"


@dataclass(frozen=True, slots=True)
class Marked:
    """A number that people are shown in another way than other numbers."""

    value: float
    text: str


Cell = Spread | Marked | float | int | str | None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells. Spreads and floats are shown with two digits, None as a dash."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()

    def markdown(self) -> str:
        """The table under its title. What rests on one run is marked."""
        lines = [[_shown(name) for name in self.columns], ["---"] + ["---:"] * (len(self.columns) - 1)]
        lines += [[_shown(cell) for cell in row] for row in self.rows]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        notes = list(self.notes)
        cells = [cell for row in self.rows for cell in row]
        if any(isinstance(cell, Spread) and cell.runs > 1 for cell in cells):
            notes.insert(0, "Mean ± standard deviation over the runs.")
        if any(isinstance(cell, Spread) and cell.runs == 1 for cell in cells):
            notes.insert(0, f"{ONE_RUN} One run, one seed.")
        bullets = "".join(f"\n- {note}" for note in notes)
        return f"## {self.title}\n\n{table}\n{bullets}\n" if bullets else f"## {self.title}\n\n{table}\n"

    def plain(self) -> dict[str, Any]:
        """The same for JSON."""
        return {
            "title": self.title,
            "columns": list(self.columns),
            "rows": [[_plain(cell) for cell in row] for row in self.rows],
            "notes": list(self.notes),
        }


def _shown(cell: Cell) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, Spread):
        return f"{cell.mean:.2f}{ONE_RUN}" if cell.runs == 1 else f"{cell.mean:.2f} ± {cell.deviation:.2f}"
    if isinstance(cell, Marked):
        return cell.text
    if isinstance(cell, float):
        return f"{cell:.2f}"
    return f"{cell:,}" if isinstance(cell, int) else cell.replace("|", "\\|")


def _plain(cell: Cell) -> Any:
    if isinstance(cell, Spread):
        return {"mean": cell.mean, "deviation": cell.deviation, "runs": cell.runs}
    return cell.value if isinstance(cell, Marked) else cell
