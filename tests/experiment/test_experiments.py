from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from safetensors.torch import save_file
from typer.testing import CliRunner

import gridner.training.run
from gridner.cli import app
from gridner.cli.experiment import find_parts
from gridner.documents import Document, Entity, Fragment
from gridner.errors import FormatError, GridnerError, Notes, OutputError, UsageError
from gridner.experiment.experiments import EXPERIMENTS, check_call, run_experiment
from gridner.experiment.study import Study
from gridner.formats import write
from gridner.parts import part_of
from gridner.training.stopping import Stopped
from small import documents, tiny_config


def study(output: Path, **options: object) -> Study:
    notes = documents()
    parts = {
        name: part_of(some, notes=Notes(), name=name)
        for name, some in (("train", notes), ("dev", notes[:3]), ("test", notes[3:]))
    }
    return Study(config=tiny_config(epochs=1), parts=parts, output=output, **options)  # type: ignore[arg-type]


def table(output: Path, name: str, number: int = 0) -> list[list[object]]:
    found: list[list[object]] = json.loads((output / f"{name}.json").read_text())["tables"][number]["rows"]
    return found


def test_finished_runs_are_kept_and_shared(tmp_path: Path) -> None:
    first = study(tmp_path, seeds=(1, 2))
    run_experiment("comparison", first)
    weights = tmp_path / "runs" / "toe" / "seed-1" / "model.safetensors"
    before = weights.stat().st_mtime_ns
    again = study(tmp_path, seeds=(1, 2))
    run_experiment("overlap", again)
    run_experiment("errors", again)
    assert weights.stat().st_mtime_ns == before
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["toe", "w2ner"]
    assert [row[:2] for row in table(tmp_path, "comparison")] == [["TOE", 2], ["W2NER", 2]]


def test_decoding_rows_train_nothing_of_their_own(tmp_path: Path) -> None:
    rows = ["best", "links-l-ends-l", "k-1"]
    run_experiment("ablation", study(tmp_path, rows=rows))
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["toe"]
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "decoded").rglob("*.jsonl")}
    assert len(kept) == 4
    run_experiment("ablation", study(tmp_path, rows=rows))
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert len(table(tmp_path, "ablation")) == 3


def test_systems_that_are_given_stand_for_rows_of_the_ablation(tmp_path: Path) -> None:
    trained = study(tmp_path / "a")
    folder = trained.train({"toe": trained.config})["toe"][0]
    given = {"mine": folder, "without-trem": folder, "best": folder}
    rows = ["best", "without-trem", "k-1", "mine"]
    run_experiment("ablation", study(tmp_path / "b", given=given, rows=rows))
    assert not (tmp_path / "b" / "runs").exists()
    labels = ["as the settings have it", "without TREM", "k = 1, one mention a head–tail cell", "mine"]
    assert [row[0] for row in table(tmp_path / "b", "ablation")] == labels
    (tmp_path / "predictions").mkdir()
    for part in ("dev", "test"):
        shutil.copy(folder / f"{part}.jsonl", tmp_path / "predictions")
    some = study(tmp_path / "c", given={"best": tmp_path / "predictions"}, rows=["best", "k-1"])
    with pytest.raises(UsageError, match=r"best: .*predictions has no model, expected one to decode again"):
        run_experiment("ablation", some)


def test_a_run_that_fails_does_not_take_the_others_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train = gridner.training.run.train

    def failing(task: object, *, seed: int, **options: object) -> object:
        if seed == 1:
            raise RuntimeError("out of\nmemory")
        return train(task, seed=seed, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(gridner.training.run, "train", failing)
    some = study(tmp_path, seeds=(1, 2))
    text = run_experiment("comparison", some)
    assert some.failures == {"toe/seed-1": "RuntimeError: out of memory", "w2ner/seed-1": "RuntimeError: out of memory"}
    assert "Failed: toe/seed-1" in text
    assert [row[:2] for row in table(tmp_path, "comparison")] == [["TOE", 1], ["W2NER", 1]]


def test_where_every_run_fails_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object, **__: object) -> object:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(gridner.training.run, "train", failing)
    (tmp_path / "comparison.md").write_text("as it was")
    for name in ("comparison", "search", "overlap"):
        some = study(tmp_path)
        assert run_experiment(name, some) == ""
        assert some.failures
    assert (tmp_path / "comparison.md").read_text() == "as it was"
    assert not (tmp_path / "overlap.md").exists()


@pytest.mark.parametrize("stopped", [False, True])
def test_a_folder_with_other_runs_is_refused_before_anything_is_trained(tmp_path: Path, *, stopped: bool) -> None:
    first = study(tmp_path, rows=["TOE"])
    run_experiment("comparison", first)
    made = (tmp_path / "comparison.md").read_bytes()
    folder = tmp_path / "runs" / "toe" / "seed-1"
    if stopped:
        (folder / "gridner.json").unlink()
        (folder / "snapshot").mkdir(exist_ok=True)
        save_file({}, folder / "snapshot" / "state.safetensors", {"state": json.dumps({"identity": {"seed": 7}})})
    other = study(tmp_path, rows=["W2NER", "TOE"])
    other.config = tiny_config(epochs=2)
    with pytest.raises((OutputError, FormatError), match="run with"):
        run_experiment("comparison", other)
    assert not (tmp_path / "runs" / "w2ner").exists()
    assert not other.failures
    assert (tmp_path / "comparison.md").read_bytes() == made


def test_documents_that_make_no_sense_are_one_error(tmp_path: Path) -> None:
    some = study(tmp_path)
    strange = [Document("new", "Fever.", (Entity("Other", (Fragment(0, 5),)),))]
    some.parts = {**some.parts, "dev": part_of(strange, notes=Notes(), name="dev")}
    with pytest.raises(UsageError, match="dev: type Other in document new"):
        run_experiment("comparison", some)
    assert not some.failures
    assert not list(tmp_path.iterdir())


def test_what_trainings_say_of_the_documents_is_said_once(tmp_path: Path) -> None:
    some = study(tmp_path, seeds=(1, 2), rows=["TOE"])
    text = run_experiment("comparison", some)
    assert some.notes["dev: document that is also in train"] == 3
    assert "- Note: 3 × dev: document that is also in train." in text


def test_what_cannot_be_read_is_found_before_anything_is_trained(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text("{")
    some = study(tmp_path / "out", given={"mine": tmp_path / "bad.jsonl"})
    with pytest.raises(FormatError, match=r"bad\.jsonl:1"):
        check_call(["search", "comparison"], some)
    with pytest.raises(FormatError, match=r"bad\.jsonl:1"):
        run_experiment("comparison", some)
    assert not (tmp_path / "out").exists()


def test_rows_may_serve_several_experiments(tmp_path: Path) -> None:
    some = study(tmp_path, rows=["TOE", "best"])
    check_call(["comparison", "ablation", "statistics"], some)
    for name in ("comparison", "ablation"):
        run_experiment(name, some)
        assert len(table(tmp_path, name)) == 1
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["toe"]


def test_a_wish_to_stop_is_heeded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopping(*_: object, **__: object) -> object:
        raise Stopped

    monkeypatch.setattr(gridner.training.run, "train", stopping)
    some = study(tmp_path)
    with pytest.raises(Stopped):
        run_experiment("comparison", some)
    assert not some.failures


def test_a_search_keeps_the_best_of_each_set(tmp_path: Path) -> None:
    run_experiment("search", study(tmp_path, rows=["batch", "warm"]))
    found = json.loads((tmp_path / "search.json").read_text())
    assert set(found["best"]) == {"train.batch_size", "train.warmup"}
    rows = found["tables"][0]["rows"]
    assert sum("← chosen" in row[0] for row in rows) == 1
    assert {row[0].split("+")[0].removesuffix(" ← chosen") for row in rows} <= {"batch-12", "batch-16"}


def test_speed_is_measured_beside_the_encoder(tmp_path: Path) -> None:
    run_experiment("efficiency", study(tmp_path))
    rows = table(tmp_path, "efficiency")
    assert [row[0] for row in rows] == ["encoder alone", "W2NER", "TOE"]
    assert rows[0][2] == 1
    assert all(isinstance(row[1], dict) and row[1]["mean"] > 0 and row[1]["runs"] == 3 for row in rows)


def test_a_model_that_is_given_predicts_once(tmp_path: Path) -> None:
    trained = study(tmp_path / "a")
    folder = trained.train({"toe": trained.config})["toe"][0]
    for part in ("dev", "test"):
        (folder / f"{part}.jsonl").unlink()
    for _ in range(2):
        run_experiment("discontinuous", study(tmp_path / "b", given={"mine": folder}, rows=["mine"]))
    assert (tmp_path / "b" / "given" / "mine" / "test.jsonl").is_file()
    assert not (tmp_path / "b" / "runs").exists()
    assert [row[0] for row in table(tmp_path / "b", "discontinuous")] == ["mine"]


def test_a_model_predicts_what_its_training_did_not(tmp_path: Path) -> None:
    trained = study(tmp_path / "a")
    del trained.parts["test"]  # type: ignore[attr-defined]
    folder = trained.train({"toe": trained.config})["toe"][0]
    assert not (folder / "test.jsonl").exists()
    run_experiment("comparison", study(tmp_path / "b", given={"mine": folder}, rows=["mine"]))
    assert (tmp_path / "b" / "given" / "mine" / "test.jsonl").is_file()
    assert all(cell is not None for cell in table(tmp_path / "b", "comparison")[0])


def test_an_unknown_experiment_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'nothing', expected one of statistics, search"):
        run_experiment("nothing", study(tmp_path))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    notes = documents()
    (tmp_path / "data").mkdir()
    for name, some in (("train", notes), ("dev", notes[:3]), ("test", notes[3:])):
        write(some, tmp_path / "data" / f"{name}.jsonl")
    return tmp_path / "data"


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["experiment", *map(str, arguments)])
    if isinstance(result.exception, GridnerError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_tables_come_from_a_command(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "study"
    given = ("--system", f"a={data}", "--system", f"b={data / 'test.jsonl'}", "--rows", "a,b")
    text = run("statistics", "--data", data, "--output", out, "--config", "tiny", "--paper", "cadec")
    assert "| entities | 11 |" in text
    assert "4,430" in text
    text = run("comparison", "errors", "--data", data, "--output", out, "--config", "tiny", *given, "--seeds", 1, 2, 3)
    assert "| a | 1 | 100.00† |" in text
    assert "| b | 1 | – | – | – | – | 100.00† |" in text
    assert "Seeds" not in text  # nothing is trained
    assert not (out / "runs").exists()
    for name in ("statistics", "comparison", "errors"):
        assert (out / f"{name}.md").is_file()
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert json.loads((out / f"{name}.json").read_text())["experiment"] == name


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nonsense"], "experiment 'nonsense', expected some of statistics"),
        (["1"], "no experiment"),
        (["comparison", "--system", "a"], "--system 'a', expected NAME=PATH"),
        (["comparison", "--system", "../a=/tmp"], "a printable name that has no /"),
        (["comparison", "--system", "a\nb=/tmp"], "a printable name that has no /"),
        (["comparison", "--system", "a=/nowhere"], "/nowhere not found"),
        (["comparison", "--rows", "x"], "--rows x, expected some of TOE, W2NER"),
        (["ablation", "--rows", "x"], "--rows x, expected some of best, without-trem"),
        (["statistics", "--rows", "x"], "--rows x: no rows"),
        (["statistics", "--system", "a=/tmp"], "--system a: of no use to statistics"),
        (["comparison", "ablation", "--rows", "TOE"], "--rows TOE: none of ablation, expected some of best"),
        (["comparison", "--config", "w2ner"], "architecture w2ner, expected toe"),
        (["comparison", "--seeds", "a"], "train.seeds"),
    ],
)
def test_wrong_calls_are_one_line(data: Path, tmp_path: Path, arguments: list[str], said: str) -> None:
    more = [] if "--config" in arguments else ["--config", "tiny"]
    with pytest.raises(GridnerError) as caught:
        run(*arguments, "--data", data, "--output", tmp_path / "study", *more)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_parts_are_found_by_their_names(tmp_path: Path) -> None:
    for name in ("train", "valid"):
        (tmp_path / name).mkdir()
    assert find_parts(tmp_path) == {"train": tmp_path / "train", "dev": tmp_path / "valid"}
    (tmp_path / "dev.json").write_text("[]")
    with pytest.raises(UsageError, match=r"dev.json and valid, expected one dev"):
        find_parts(tmp_path)
    with pytest.raises(UsageError, match="no train, expected a folder or a file"):
        find_parts(tmp_path / "train")
    with pytest.raises(UsageError, match="not found, expected a folder"):
        find_parts(tmp_path / "nowhere")


def test_all_experiments_are_in_the_help() -> None:
    text = CliRunner().invoke(app, ["experiment", "--help"], env={"COLUMNS": "300"}).stdout
    assert all(name in text for name in EXPERIMENTS)
