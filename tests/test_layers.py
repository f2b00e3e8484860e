"""Imports point down only, and nothing that predicts needs torch."""

import ast
import subprocess
import sys
from pathlib import Path

import gridner

ROOT = Path(gridner.__file__).parent
LAYERS = [
    {"errors", "duration", "locking"},
    {"documents", "split", "sentences", "windows", "table"},
    {
        "formats",
        "items",
        "evaluate",
        "significance",
        "draw",
        "flat",
        "lexicon",
        "parts",
        "report",
        "html",
        "report_html",
    },
    {"tags", "decode"},
    {
        "calibration",
        "config",
        "batches",
        "augment",
        "checkpoint",
        "recognizer",
        "onnx_engine",
        "oracle",
        "statistics",
        "grid",
        "about",
    },
    {"model", "loss", "card", "tuning"},
    {"trained", "training", "pretraining", "export", "quantize"},
    {"loading"},
    {"bulk", "kept"},
    {"ray"},
    {"experiment", "web", "spacy", "spacy_docs", "datasets"},
    {"cli", "__main__"},
]
# Within a layer, what may import what.
BESIDE = {
    ("locking", "errors"),
    ("sentences", "documents"),
    ("sentences", "split"),
    ("split", "documents"),
    ("windows", "sentences"),
    ("table", "documents"),
    ("evaluate", "items"),
    ("lexicon", "formats"),
    ("parts", "formats"),
    ("significance", "evaluate"),
    ("report", "evaluate"),
    ("html", "draw"),
    ("report_html", "draw"),
    ("report_html", "evaluate"),
    ("report_html", "html"),
    ("report_html", "items"),
    ("report_html", "report"),
    ("report_html", "significance"),
    ("decode", "tags"),
    ("statistics", "oracle"),
    ("checkpoint", "config"),
    ("checkpoint", "batches"),
    ("checkpoint", "calibration"),
    ("recognizer", "calibration"),
    ("recognizer", "config"),
    ("recognizer", "batches"),
    ("onnx_engine", "batches"),
    ("grid", "recognizer"),
    ("about", "checkpoint"),
    ("training", "trained"),
    ("pretraining", "training"),
    ("export", "quantize"),
    ("export", "trained"),
    ("__main__", "cli"),
    ("spacy", "spacy_docs"),
    ("table", "formats"),  # when a table is written to a file, and not before
    ("documents", "html"),  # when a notebook shows a document, and not before
}
EXTRAS = {"spacy", "datasets", "pandas", "pyarrow"}


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """The rooms of gridner that a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "gridner":
            names = node.module.split(".")[1:2] or [alias.name for alias in node.names]
            found.update(names)
        elif isinstance(node, ast.Import):
            found.update(alias.name.split(".")[1] for alias in node.names if alias.name.startswith("gridner."))
    return found


def test_every_module_has_a_layer() -> None:
    rooms = {room_of(path) for path in ROOT.rglob("*.py")} - {"__init__"}
    assert rooms <= set().union(*LAYERS)


def test_modules_import_from_where_a_name_is_made() -> None:
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and path.name != "__init__.py":
                assert node.level == 0, path
                assert node.module != "gridner", path


def test_imports_point_down() -> None:
    level = {room: number for number, rooms in enumerate(LAYERS) for room in rooms}
    wrong = []
    for path in ROOT.rglob("*.py"):
        room = room_of(path)
        if room == "__init__":
            continue
        for other in imports(path) & level.keys():
            if other != room and level[other] >= level[room] and (room, other) not in BESIDE:
                wrong.append(f"{path.relative_to(ROOT)} imports {other}")
    assert not wrong


def test_modules_stay_readable() -> None:
    long = {path.name: lines for path in ROOT.rglob("*.py") if (lines := len(path.read_text().splitlines())) > 300}
    assert not long


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_gridner_loads_nothing_heavy() -> None:
    heavy = {"torch", "transformers", "numpy", "typer", "rich", "pydantic", "defusedxml", *EXTRAS}
    assert not loaded_by("import gridner") & heavy


def test_the_command_line_starts_without_heavy_imports() -> None:
    assert not loaded_by("import gridner.cli") & {"torch", "transformers", "numpy", *EXTRAS}


def test_tuning_needs_no_torch() -> None:
    assert not loaded_by("import gridner.inference.tuning, gridner.inference.model_card") & {"torch", "transformers"}
