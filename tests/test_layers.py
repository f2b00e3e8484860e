"""The tree is the architecture: imports follow the picture in CONTRIBUTING.md, and prediction needs no torch."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import gridner

ROOT = Path(gridner.__file__).parent
CONTRIBUTING = Path(__file__).parents[1] / "CONTRIBUTING.md"
MOST_ENTRIES, MOST_LINES, MOST_LAYERS = 24, 300, 8  # entries: modules, packages and data folders
BESIDE = {"__init__.py", "__main__.py", "py.typed", "models"}  # at the top, and in no layer

# What a package's modules may import of it: those to their right. * stands for all others, which import none another.
INSIDE = {
    "cli": "__init__ * train_scores scoring_options train_progress train_corpora inputs training_process "
    "reading_options shared_options printing progress",
    "experiment": "registry efficiency search output study run_record cached_predictions paper_tables systems "
    "variants *",
    "service": "server app page brat label_studio recognition operations runtime error_handlers middleware drawing "
    "requests batcher worker queue connections openapi *",
    "integrations": "ray_files * spacy_docs",
    "pretraining": "__init__ run loop vocabulary network rows *",
    "training": "__init__ corrections corpora many_runs run loop step results diagnostics objective unlabelled "
    "starting_model task run_folder *",
    "distillation": "collecting answer_file teachers sparse_grid",
    "export": "onnx *",
    "model": "trained_model build onnx_lstm toe language_model * dropout masks",
    "view": "report_file report html cells terminal *",
    "inference": "candidate_oracle next_texts installation prediction_files parallel tune_model tuning "
    "corpus_evaluation loading averaged_models several_models model_card model_info recognizer base_recognizer "
    "cached_engine onnx_engine installed_models checkpoint engine group_tuning model_description *",
    "corpus": "held_out suggestions conversion gazetteer * splits",
    "config": "__init__ *",
    "formats": "__init__ biocjson * _support",
    "formats/_support": "knowtator_xml repair word_lists *",
    "scoring": "serialization significance evaluation matching",
    "tagging": "oracle decoding *",
    "text": "__init__ alignment abbreviations *",
}
# Imports that point up, all of them inside a function: (module, what it imports).
EXCEPTIONS = {
    ("documents", "view.html"),  # when a notebook shows a document
    ("inference.loading", "model.trained_model"),  # when a model runs on torch
}
EXTRAS = {"spacy", "datasets", "pandas", "pyarrow"}


def name_of(path: Path) -> str:
    """A module's name below gridner: "formats.brat"; a package's own is "formats.__init__"."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


MODULES = {name_of(path): path for path in sorted(ROOT.rglob("*.py"))}


@cache
def imports() -> set[tuple[str, str]]:
    """Pairs of modules of gridner, the first of which imports the second, wherever in it."""
    found = set()
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            found |= {(module, other) for name in names if (other := module_of(name)) not in (None, module)}
    return found


def module_of(dotted: str) -> str | None:
    """The module of gridner that a dotted name is, or is in."""
    parts = dotted.split(".")
    if parts[0] != "gridner":
        return None
    for count in range(len(parts), 1, -1):
        name = ".".join(parts[1:count])
        if name in MODULES:
            return name
        if f"{name}.__init__" in MODULES:
            return f"{name}.__init__"
    return "__init__"


def picture() -> list[list[str]]:
    """The names on each line of the picture."""
    text = CONTRIBUTING.read_text(encoding="utf-8")
    block = re.search(r"(?:^    [a-z][a-z ]+?   +\S.*\n)+", text, re.MULTILINE)
    assert block
    return [re.split(r"   +", line.strip())[0].split() for line in block[0].splitlines()]


def test_the_picture_shows_every_package_and_is_small() -> None:
    lines = picture()
    names = [name for line in lines for name in line]
    top = {path.name.removesuffix(".py") for path in entries() if path.name not in BESIDE}
    assert sorted(names) == sorted(top)
    assert len(lines) <= MOST_LAYERS


def entries() -> list[Path]:
    return [path for path in ROOT.iterdir() if path.name != "__pycache__"]


def test_the_top_of_the_tree_fits_on_a_screen() -> None:
    assert len([path for path in entries() if path.name != "py.typed"]) <= MOST_ENTRIES


def test_imports_between_packages_follow_the_picture() -> None:
    place = {name: number for number, name in enumerate(name for line in picture() for name in line)}
    up = set()
    for module, other in imports():
        here, there = module.split(".")[0], other.split(".")[0]
        if here in place and there in place and place[there] < place[here]:
            up.add((module, other))
    assert up == EXCEPTIONS


def test_exceptions_are_imported_when_needed_and_not_before() -> None:
    for module, other in EXCEPTIONS:
        for node in ast.parse(MODULES[module].read_text(encoding="utf-8")).body:
            assert not isinstance(node, ast.ImportFrom) or module_of(f"{node.module}.x") != other, module


@pytest.mark.parametrize("package", INSIDE)
def test_imports_inside_a_package_follow_its_order(package: str) -> None:
    order = INSIDE[package].split()
    dotted = package.replace("/", ".") + "."
    own = {name.removeprefix(dotted).split(".")[0] for name in MODULES if name.startswith(dotted)}
    assert set(order) - {"*"} <= own, "named, but not there"
    assert "*" in order or own - {"__init__"} <= set(order), "there, but not named"
    place = {name: order.index(name if name in order else "*") for name in own if name in order or "*" in order}
    wrong = []
    for module, other in imports():
        if module.startswith(dotted) and other.startswith(dotted):
            here, there = (name.removeprefix(dotted).split(".")[0] for name in (module, other))
            if there == "__init__" or (here != there and place[there] <= place[here]):
                wrong.append(f"{module} imports {other}")
    assert not wrong


def test_every_package_declares_its_order() -> None:
    packages = {path.parent.relative_to(ROOT).as_posix() for path in ROOT.glob("**/*/__init__.py")} - {"."}
    assert packages == set(INSIDE)


def test_modules_import_from_where_a_name_is_made() -> None:
    for path in MODULES.values():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and path.name != "__init__.py":
                assert node.level == 0, path
                assert node.module != "gridner" or all(alias.name in MODULES for alias in node.names), path


def test_each_file_of_formats_is_a_format() -> None:
    assert {path.stem for path in (ROOT / "formats").glob("*.py")} - {"__init__"} == set(gridner.FORMATS)


def test_modules_stay_readable() -> None:
    counts = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in MODULES.items()}
    assert {name: count for name, count in counts.items() if count > MOST_LINES} == {}


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_gridner_loads_nothing_heavy() -> None:
    heavy = {"torch", "transformers", "numpy", "typer", "rich", "pydantic", "defusedxml", *EXTRAS}
    assert not loaded_by("import gridner, gridner.text") & heavy


def test_the_command_line_starts_without_heavy_imports() -> None:
    assert not loaded_by("import gridner.cli") & {"torch", "transformers", "numpy", *EXTRAS}


def test_training_and_distillation_start_no_onnx_runtime() -> None:
    loaded = loaded_by("import gridner.training, gridner.distillation.collecting")
    assert "onnxruntime" not in loaded  # it starts a thread


def test_prediction_and_tuning_need_no_torch() -> None:
    modules = [name for name in MODULES if name.startswith("inference.") and name != "inference.__init__"]
    statement = f"import {', '.join(f'gridner.{name}' for name in modules)}"
    assert not loaded_by(statement) & {"torch", "transformers"}
