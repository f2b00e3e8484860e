from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from safetensors.torch import save_file
from typer.testing import CliRunner

import gridner.training.run
from gridner.cli import app
from gridner.corpus.splits import find_parts, part_of
from gridner.documents import Document, Entity, Fragment
from gridner.errors import FormatError, GridnerError, Notes, OutputError, UsageError
from gridner.experiment.registry import EXPERIMENTS, check_call, run_experiment
from gridner.experiment.run_record import OtherSystems
from gridner.experiment.search import _chosen_by
from gridner.experiment.study import Study
from gridner.experiment.systems import System
from gridner.experiment.variants import changed
from gridner.formats import write
from gridner.scoring.evaluation import evaluate
from gridner.training.interruption import Stopped
from gridner.training.run_folder import lock_folder
from gridner.training.task import TrainingTask
from support.small import documents, tiny_config


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
    run_experiment("ablation", study(tmp_path / "b", others=OtherSystems(given), rows=rows))
    assert not (tmp_path / "b" / "runs").exists()
    labels = ["as the settings have it", "without TREM", "k = 1, one mention a head–tail cell", "mine"]
    assert [row[0] for row in table(tmp_path / "b", "ablation")] == labels
    (tmp_path / "predictions").mkdir()
    for part in ("dev", "test"):
        shutil.copy(folder / f"{part}.jsonl", tmp_path / "predictions")
    some = study(tmp_path / "c", others=OtherSystems({"best": tmp_path / "predictions"}), rows=["best", "k-1"])
    with pytest.raises(UsageError, match=r"best: .*predictions has no model, expected one to decode again"):
        run_experiment("ablation", some)


def test_a_run_that_fails_does_not_take_the_others_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train = gridner.training.run.train_once

    def failing(task: object, *, seed: int, **options: object) -> object:
        if seed == 1:
            raise RuntimeError("out of\nmemory")
        return train(task, seed=seed, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(gridner.training.run, "train_once", failing)
    some = study(tmp_path, seeds=(1, 2))
    text = run_experiment("comparison", some)
    assert some.runs.failures == {
        "toe/seed-1": "RuntimeError: out of memory",
        "w2ner/seed-1": "RuntimeError: out of memory",
    }
    assert "Failed: toe/seed-1" in text
    assert [row[:2] for row in table(tmp_path, "comparison")] == [["TOE", 1], ["W2NER", 1]]


def test_where_every_run_fails_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object, **__: object) -> object:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(gridner.training.run, "train_once", failing)
    (tmp_path / "comparison.md").write_text("as it was")
    for name in ("comparison", "search", "overlap"):
        some = study(tmp_path)
        assert run_experiment(name, some) == ""
        assert some.runs.failures
    assert (tmp_path / "comparison.md").read_text() == "as it was"
    assert not (tmp_path / "overlap.md").exists()
    some = study(tmp_path / "other")
    assert run_experiment("comparison", some) == ""
    assert "Failed" not in run_experiment("statistics", some)  # needs no training
    assert json.loads((tmp_path / "other" / "statistics.json").read_text())["failed"] == {}


def test_what_fails_in_one_experiment_is_no_matter_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train = gridner.training.run.train_once

    def failing(task: TrainingTask, **options: object) -> object:
        if "rounds-1" in str(task.output):
            raise RuntimeError("out of memory")
        return train(task, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(gridner.training.run, "train_once", failing)
    (tmp_path / "ablation.md").write_text("as it was")
    some = study(tmp_path, rows=["TOE", "rounds-1"])
    assert "Failed" not in run_experiment("comparison", some)
    assert (tmp_path / "comparison.md").is_file()
    assert run_experiment("ablation", some) == ""
    assert (tmp_path / "ablation.md").read_text() == "as it was"
    assert "Failed" not in run_experiment("overlap", some)


def test_a_run_of_another_process_is_left_to_it(tmp_path: Path) -> None:
    some = study(tmp_path)
    with lock_folder(tmp_path / "runs" / "toe" / "seed-1"):
        run_experiment("comparison", some)
    assert list(some.runs.failures) == ["toe/seed-1"]
    assert "another process trains there" in some.runs.failures["toe/seed-1"]
    assert [row[:2] for row in table(tmp_path, "comparison")] == [["TOE", 0], ["W2NER", 1]]
    again = study(tmp_path)
    run_experiment("comparison", again)
    assert not again.runs.failures


def test_decoding_that_fails_does_not_take_the_others_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object, **__: object) -> object:
        raise RuntimeError("out of memory")

    run_experiment("comparison", study(tmp_path, rows=["TOE"]))
    monkeypatch.setattr("gridner.experiment.cached_predictions.predict_part", failing)
    some = study(tmp_path, rows=["best", "k-1"])
    run_experiment("ablation", some)
    assert some.runs.failures == {"k-1/seed-1": "RuntimeError: out of memory"}
    assert [row[1] for row in table(tmp_path, "ablation")] == [1, 0]


def test_progress_is_that_of_all_experiments(tmp_path: Path) -> None:
    seen: list[tuple[str, int]] = []

    def watch(name: str, _: object, later: int) -> None:
        seen.append((name, later))

    run_experiment("comparison", study(tmp_path, rows=["W2NER"]))
    some = study(tmp_path, rows=["TOE", "W2NER", "best", "rounds-1", "k-1"], watch=watch)
    names = ["comparison", "ablation"]
    check_call(names, some)
    for name in names:
        run_experiment(name, some)
    assert seen == [
        ("[1/3] toe/seed-1", 1),  # W2NER is finished
        ("[2/3] w2ner/seed-1", 1),
        ("[2/3] toe/seed-1", 1),  # the ablation needs it, too
        ("[3/3] rounds-1/seed-1", 0),
    ]


def test_what_was_said_of_a_run_is_said_again(tmp_path: Path) -> None:
    said = []
    for _ in range(2):
        some = study(tmp_path, rows=["best", "k-1", "rounds-1"])
        run_experiment("ablation", some)
        said.append({what: count for what, count, _ in some.notes})
    assert said[0] == said[1]
    assert any("calibrate" in what for what in said[1])


def test_predictions_that_are_gone_are_made_again(tmp_path: Path) -> None:
    run_experiment("comparison", study(tmp_path, rows=["TOE"]))
    before = table(tmp_path, "comparison")
    (tmp_path / "runs" / "toe" / "seed-1" / "test.jsonl").unlink()
    run_experiment("comparison", study(tmp_path, rows=["TOE"]))
    assert table(tmp_path, "comparison") == before


@pytest.mark.parametrize("found", ["run", "file", "folder"])
def test_what_is_in_the_way_is_found_before_the_first_training_of_any(tmp_path: Path, found: str) -> None:
    if found == "run":
        (tmp_path / "runs" / "rounds-1" / "seed-1").mkdir(parents=True)
        (tmp_path / "runs" / "rounds-1" / "seed-1" / "mine").write_text("mine")
    elif found == "file":
        (tmp_path / "ablation.md").write_text("mine")
    else:
        (tmp_path / "ablation.png").mkdir()
    with pytest.raises(OutputError, match=r"rounds-1|ablation"):
        check_call(["comparison", "ablation"], study(tmp_path, rows=["TOE", "rounds-1"]))


def test_an_encoder_that_is_not_there_is_one_error(tmp_path: Path) -> None:
    some = study(tmp_path, seeds=(1, 2))
    some.config = changed(some.config, {"model.encoder": "/nowhere"})
    with pytest.raises(UsageError, match="encoder /nowhere"):
        check_call(["comparison"], some)


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
    assert not other.runs.failures
    assert (tmp_path / "comparison.md").read_bytes() == made


def test_documents_that_make_no_sense_are_one_error(tmp_path: Path) -> None:
    some = study(tmp_path)
    strange = [Document("new", "Fever.", (Entity("Other", (Fragment(0, 5),)),))]
    some.parts = {**some.parts, "dev": part_of(strange, notes=Notes(), name="dev")}
    with pytest.raises(UsageError, match="dev: type Other in document new"):
        run_experiment("comparison", some)
    assert not some.runs.failures
    assert not list(tmp_path.iterdir())


def test_what_trainings_say_of_the_documents_is_said_once(tmp_path: Path) -> None:
    some = study(tmp_path, seeds=(1, 2), rows=["TOE"])
    text = run_experiment("comparison", some)
    assert some.notes["dev: document that is also in train"] == 3
    assert "- Note: 3 × dev: document that is also in train." in text


def test_what_cannot_be_read_is_found_before_anything_is_trained(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text("{")
    some = study(tmp_path / "out", others=OtherSystems({"mine": tmp_path / "bad.jsonl"}))
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

    monkeypatch.setattr(gridner.training.run, "train_once", stopping)
    some = study(tmp_path)
    with pytest.raises(Stopped):
        run_experiment("comparison", some)
    assert not some.runs.failures


def test_a_search_scores_each_set_on_dev_and_on_test(tmp_path: Path) -> None:
    run_experiment("search", study(tmp_path, rows=["batch"]))
    found = json.loads((tmp_path / "search.json").read_text())["tables"][0]
    assert [row[0].removesuffix(" ← chosen") for row in found["rows"]] == ["toe", "batch-12", "batch-16"]
    assert {"dev F1", "test F1"} <= set(found["columns"])
    assert sum("← chosen" in row[0] for row in found["rows"]) == 1


def test_a_search_keeps_what_is_better_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dev = {"toe": 0.5, "batch-12": 0.6, "batch-16": 0.4, "batch-12+warm-0": 0.1, "batch-12+warm-0.4": 0.6}
    planned: list[int] = []

    def train(some: Study, wanted: dict[str, object]) -> dict[str, list[Path]]:
        planned.append(len(wanted))
        some.runs.has_result |= dict.fromkeys(wanted, True)
        return {name: [] for name in wanted}

    monkeypatch.setattr(Study, "train", train)
    monkeypatch.setattr("gridner.experiment.search._chosen_by", lambda system, _: dev[system.name])
    some = study(tmp_path, rows=["batch", "warm"])
    check_call(["search"], some)
    assert len(some.runs.planned) + some.runs.unnamed == len(dev)  # warm-0.1 is what the settings have
    run_experiment("search", some)
    assert planned == [3, 2]
    found = json.loads((tmp_path / "search.json").read_text())
    assert found["best"] == {"train.batch_size": 12}
    assert [row[0] for row in found["tables"][0]["rows"]] == [
        "toe", "batch-12 ← chosen", "batch-16", "batch-12+warm-0", "batch-12+warm-0.4",
    ]  # fmt: skip


def test_a_search_chooses_as_the_epoch_is_chosen(tmp_path: Path) -> None:
    """Where dev has no discontinuous entity a wrong one counts as an error, not as an F1 of 0 beside."""
    text = "Pain and fever."
    flat = (Entity("Sign", (Fragment(0, 4),)), Entity("Sign", (Fragment(9, 14),)))
    gap = Entity("Sign", (Fragment(0, 4), Fragment(9, 14)))
    evaluation = evaluate([Document("d", text, flat)], [Document("d", text, (*flat, gap))])
    system = System("a", {"dev": [evaluation]})
    assert _chosen_by(system, changed(tiny_config(), {"train.best_by": "mean"})) == pytest.approx(0.8)


def test_speed_is_measured_beside_the_encoder(tmp_path: Path) -> None:
    said: list[str] = []
    run_experiment("efficiency", study(tmp_path, say=said.append))
    rows = table(tmp_path, "efficiency")
    assert [line.partition(",")[0] for line in said] == ["a turn to warm up", *(f"turn {n} of 3" for n in (1, 2, 3))]
    assert all(line.endswith(" left") for line in said[1:])
    assert [row[0] for row in rows] == ["encoder alone", "W2NER", "TOE"]
    assert rows[0][2] == 1
    assert all(isinstance(row[1], dict) and row[1]["mean"] > 0 and row[1]["runs"] == 3 for row in rows)


def test_a_model_that_is_given_predicts_once(tmp_path: Path) -> None:
    trained = study(tmp_path / "a")
    folder = trained.train({"toe": trained.config})["toe"][0]
    for part in ("dev", "test"):
        (folder / f"{part}.jsonl").unlink()
    for _ in range(2):
        run_experiment("discontinuous", study(tmp_path / "b", others=OtherSystems({"mine": folder}), rows=["mine"]))
    assert (tmp_path / "b" / "given" / "mine" / "test.jsonl").is_file()
    assert not (tmp_path / "b" / "runs").exists()
    assert [row[0] for row in table(tmp_path / "b", "discontinuous")] == ["mine"]


def test_a_model_predicts_what_its_training_did_not(tmp_path: Path) -> None:
    trained = study(tmp_path / "a")
    del trained.parts["test"]  # type: ignore[attr-defined]
    folder = trained.train({"toe": trained.config})["toe"][0]
    assert not (folder / "test.jsonl").exists()
    run_experiment("comparison", study(tmp_path / "b", others=OtherSystems({"mine": folder}), rows=["mine"]))
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
    assert "| entities | 22 | 11 |" in text  # of all, and of train
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
        (["1"], "experiment '1', expected some of statistics"),
        (["--seeds", "1", "2"], "no experiment"),
        (["comparison", "--system", "..=/tmp"], "a printable name that has no /"),
        (["comparison", "--system", "a=/tmp", "--system", "a =/tmp"], "--system a twice"),
        (["comparison", "--system", "a"], "--system 'a', expected NAME=PATH"),
        (["comparison", "--system", "../a=/tmp"], "a printable name that has no /"),
        (["comparison", "--system", "a\nb=/tmp"], "a printable name that has no /"),
        (["comparison", "--system", "a=/nowhere"], "/nowhere not found"),
        (["comparison", "--rows", "x"], "--rows x, expected some of TOE, W2NER"),
        (["ablation", "--rows", "x"], "--rows x, expected some of best, without-trem"),
        (["statistics", "--rows", "x"], "--rows x, but statistics has no rows"),
        (["statistics", "--system", "a=/tmp"], "--system a: statistics compares no systems"),
        (["comparison", "ablation", "--rows", "TOE"], "--rows TOE: no row of ablation, expected some of best"),
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


def test_the_output_is_not_among_the_documents(data: Path) -> None:
    (data / "train").mkdir()
    (data / "train.jsonl").rename(data / "train" / "train.jsonl")
    with pytest.raises(UsageError, match="inside the train documents"):
        run("statistics", "--data", data, "--output", data / "train" / "study", "--config", "tiny")


def test_a_wrong_call_says_nothing_but_what_is_wrong(data: Path, tmp_path: Path) -> None:
    inside = Document("cut", "Preadipocytes.", (Entity("Sign", (Fragment(3, 13),)),))
    write([*documents(), inside], data / "train.jsonl", force=True)
    call = ["--data", data, "--output", tmp_path / "study", "--config", "tiny"]
    right, wrong = (
        CliRunner().invoke(app, ["experiment", *some, *map(str, call)])
        for some in (["statistics"], ["comparison", "--rows", "x"])
    )
    assert "begins or ends inside a word" in right.stderr
    assert isinstance(wrong.exception, UsageError)
    assert wrong.output == ""  # no notes on documents beside it


def test_what_is_finished_is_shown_whatever_ends_the_rest(data: Path, tmp_path: Path) -> None:
    def stopping(*_: object, **__: object) -> object:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gridner.training.run, "train_once", stopping)
        call = [
            "experiment",
            "statistics",
            "comparison",
            "--data",
            data,
            "--output",
            tmp_path / "s",
            "--config",
            "tiny",
        ]
        done = CliRunner().invoke(app, list(map(str, call)))
    assert done.exit_code == 130
    assert "# Statistics (Table 1)" in done.stdout
    assert "interrupted, finished runs are kept; resume with" in done.stderr


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
