"""A training as its users meet it: whole, stopped, killed, gone on with, continued with new types."""

import csv
import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from gridner.corpus.gazetteer import Lexicon
from gridner.corpus.held_out import folds_of, hold_out
from gridner.corpus.splits import part_of
from gridner.documents import Entity, Fragment
from gridner.errors import FormatError, InUseError, Notes, OutputError, UsageError
from gridner.formats import read
from gridner.inference.calibration import Calibration
from gridner.inference.checkpoint import MANIFEST, WEIGHTS, read_checkpoint
from gridner.model.trained_model import TrainedModel
from gridner.scoring.significance import spread
from gridner.training import train_once
from gridner.training.interruption import Stopped
from gridner.training.loop import _set_rates
from gridner.training.many_runs import summary, train_all
from gridner.training.run_folder import prepare_folder
from support.small import documents, part, tiny_config
from support.training import Watch, task, task_without_dropout, weights


def test_a_model_directory_has_all_that_belongs_to_it(tmp_path: Path) -> None:
    facts = train_once(replace(task(tmp_path / "m"), test=part(3)), seed=4)
    names = {path.name for path in (tmp_path / "m").iterdir()}
    assert names == {
        MANIFEST,
        WEIGHTS,
        "tokenizer.json",
        "README.md",
        "log.csv",
        "curves.png",
        "dev.jsonl",
        "test.jsonl",
    }
    card = (tmp_path / "m" / "README.md").read_text()
    for said in (
        "gridner train …",
        "seed 4",
        "| train | 6 | 7 | 11 | 6 |",
        "## Scores on dev",
        "## Scores on test",
        "torch",
    ):
        assert said in card
    assert "shoulder" not in "".join(
        (tmp_path / "m" / name).read_text() for name in ("README.md", "dev.jsonl", MANIFEST)
    )
    rows = list(csv.DictReader((tmp_path / "m" / "log.csv").read_text().splitlines()))
    assert [row["epoch"] for row in rows] == ["1", "2"]
    assert {"loss", "all F1", "discontinuous F1", "type:Sign F1", "overlap:right R"} <= rows[0].keys()
    assert (tmp_path / "m" / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert facts["scores"]["dev"]["documents"] == 6
    assert facts == json.loads((tmp_path / "m" / MANIFEST).read_text())["training"]


def test_predictions_that_were_kept_are_those_of_the_saved_model(tmp_path: Path) -> None:
    facts = train_once(task(tmp_path / "m", epochs=30, batch_size=1, rate=1e-2, tune_thresholds=True))
    assert facts["scores"]["dev"]["exact"]["all"]["tp"]
    texts = tmp_path / "texts"
    texts.mkdir()
    for document in documents():
        (texts / f"{document.id}.txt").write_text(document.text)
    kept = list(read(tmp_path / "m" / "dev.jsonl", texts=texts))
    found = list(TrainedModel.load(tmp_path / "m").recognizer().pipe(documents()))
    assert [set(document.entities) for document in kept] == [set(document.entities) for document in found]


@pytest.mark.parametrize("bonus", [0.0, 8.0])
def test_a_bonus_for_names_is_chosen_unless_there_is_to_be_none(tmp_path: Path, bonus: float) -> None:
    plain = task(tmp_path / "m", epochs=1, tune_thresholds=True)
    config = replace(plain.config, decoding=replace(plain.config.decoding, name_bonus=bonus))
    train_once(replace(plain, config=config, own_names=True))
    checkpoint = TrainedModel.load(tmp_path / "m").checkpoint
    assert checkpoint.lexicon
    assert (checkpoint.config.decoding.name_bonus > 0) == (bonus > 0)


def test_the_model_of_every_epoch_may_be_kept(tmp_path: Path) -> None:
    facts = train_once(task(tmp_path / "kept", keep_epochs=True, epochs=3))
    train_once(task(tmp_path / "plain", epochs=3))
    kept = tmp_path / "kept" / "epochs"
    assert sorted(path.name for path in kept.iterdir()) == ["1", "2", "3"]
    assert weights(kept / str(facts["best_epoch"])) == weights(tmp_path / "kept") == weights(tmp_path / "plain")
    assert len({str(weights(folder)) for folder in kept.iterdir()}) == 3
    assert TrainedModel.load(kept / "1").recognizer()("Pain in left arm.").text == "Pain in left arm."


def test_a_seed_fixes_everything(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train_once(task(tmp_path / name, coordinations=0.5), seed=seed)
    assert weights(tmp_path / "a") == weights(tmp_path / "b")
    assert weights(tmp_path / "a") != weights(tmp_path / "c")


@pytest.mark.parametrize("at", [1, 3, 4, 5, 8])  # 4 steps an epoch: within it, at its end, at the very end
def test_a_run_that_was_stopped_ends_like_one_that_was_not(tmp_path: Path, at: int) -> None:
    train_once(task(tmp_path / "whole"))
    watch = Watch(at, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(Stopped):
        train_once(task(tmp_path / "stopped"), watcher=watch)
    assert len(watch.losses) == at
    with pytest.raises(FormatError, match="has not finished"):
        TrainedModel.load(tmp_path / "stopped")
    again = Watch()
    train_once(task(tmp_path / "stopped"), resume=True, watcher=again)
    assert (watch.began, again.began) == (0, at)
    assert weights(tmp_path / "stopped") == weights(tmp_path / "whole")
    assert (tmp_path / "stopped" / "dev.jsonl").read_text() == (tmp_path / "whole" / "dev.jsonl").read_text()


KILLED = """
import os, signal, sys
from pathlib import Path
import support.imports
for at in sys.argv[2:]:
    child = os.fork()
    if child == 0:
        from support.training import Watch, task
        from gridner.training import train_once
        watch = Watch(int(at), lambda: os.kill(os.getpid(), signal.SIGKILL))
        train_once(task(Path(sys.argv[1]) / at, snapshot_minutes=1e-9), watcher=watch)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
"""


def test_a_run_that_was_killed_ends_like_one_that_was_not(tmp_path: Path) -> None:
    """Killed without a word: what counts is what the disk has. Snapshots are written after every step."""
    train_once(task(tmp_path / "whole"))
    steps = (1, 4, 6)
    command = [sys.executable, "-c", KILLED, str(tmp_path), *map(str, steps)]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run(command, check=False, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for at in steps:
        watch = Watch()
        train_once(task(tmp_path / str(at)), resume=True, watcher=watch)
        assert len(watch.losses) == 8 - at + 1  # the step in which it died is done again
        assert weights(tmp_path / str(at)) == weights(tmp_path / "whole")


def test_a_run_that_is_done_is_not_done_again(tmp_path: Path) -> None:
    first = train_once(task(tmp_path / "m"))
    watch = Watch()
    assert train_once(task(tmp_path / "m"), resume=True, watcher=watch) == first
    assert not watch.losses


def test_only_the_same_run_is_gone_on_with(tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        train_once(task(tmp_path / "m"), watcher=Watch(2, lambda: os.kill(os.getpid(), signal.SIGTERM)))
    with pytest.raises(OutputError, match="exists and is not empty"):
        train_once(task(tmp_path / "m"))
    with pytest.raises(FormatError, match=r"of a run with train.rate 0.001 \(here 0.5\), expected the same"):
        train_once(task(tmp_path / "m", rate=0.5), resume=True)
    with pytest.raises(FormatError, match=r"of a run with data.train \w+ \(here \w+\), expected the same"):
        train_once(replace(task(tmp_path / "m"), train=part(4)), resume=True)
    train_once(task(tmp_path / "m", snapshot_minutes=3.0), resume=True)
    with pytest.raises(OutputError, match=r"a finished run with seed 1 \(here 2\), expected a new folder"):
        train_once(task(tmp_path / "m"), seed=2, resume=True)


def test_other_folders_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    for resume in (False, True):
        with pytest.raises(OutputError, match="not empty"):
            train_once(task(tmp_path), resume=resume)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_folder_that_another_process_trains_in_is_refused(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from gridner.training.run_folder import lock_folder\n"
        "with lock_folder(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    call = [sys.executable, "-c", program, str(tmp_path / "model")]
    with subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(InUseError, match="model: another process trains there"):
            train_once(task(tmp_path / "model", epochs=1))
        other.kill()  # the lock goes with it
    train_once(task(tmp_path / "model", epochs=1))
    assert (tmp_path / "model" / WEIGHTS).is_file()


def test_a_training_that_cannot_begin_leaves_no_folder(tmp_path: Path) -> None:
    some = task(tmp_path / "model", epochs=1)
    with pytest.raises(UsageError, match="encoder /nowhere"):
        train_once(replace(some, config=replace(some.config, model=replace(some.config.model, encoder="/nowhere"))))
    assert not (tmp_path / "model").exists()


def test_a_place_that_cannot_be_written_is_found_before_the_first_step(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    watch = Watch()
    with pytest.raises(OutputError, match="cannot be written"):
        train_once(task(tmp_path / "file" / "model"), watcher=watch)
    assert not watch.losses


def test_a_full_disk_is_found_before_the_first_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    watch = Watch()
    with pytest.raises(OutputError, match=r"0 MB are free, expected at least \d+ MB"):
        train_once(task(tmp_path / "m"), watcher=watch)
    assert not watch.losses


def test_the_best_epoch_may_be_chosen_by_discontinuous_entities_too(tmp_path: Path) -> None:
    rows = {}
    for best_by in ("all", "mean"):
        train_once(task(tmp_path / best_by, epochs=6, best_by=best_by), seed=2)
        with open(tmp_path / best_by / "log.csv") as file:
            rows[best_by] = [(float(row["all F1"]), float(row["discontinuous F1"])) for row in csv.DictReader(file)]
    assert rows["all"] == rows["mean"]  # the training itself is the same
    best = {name: read_checkpoint(tmp_path / name)[0].training["best_epoch"] - 1 for name in rows}
    assert rows["all"][best["all"]][0] == max(every for every, _ in rows["all"])
    assert sum(rows["all"][best["mean"]]) == max(sum(row) for row in rows["all"])


def test_patience_ends_a_run_that_gets_no_better(tmp_path: Path) -> None:
    good = train_once(task(tmp_path / "good", epochs=30, batch_size=1, rate=1e-2))
    assert good["scores"]["dev"]["exact"]["all"]["f1"]
    still = task(tmp_path / "m", epochs=50, rate=1e-12, encoder_rate=1e-12, patience=2)
    facts = train_once(replace(still, init=tmp_path / "good"))
    assert (facts["epochs"], facts["best_epoch"]) == (3, 1)


def test_while_nothing_is_found_the_last_epoch_is_the_best(tmp_path: Path) -> None:
    facts = train_once(task(tmp_path / "m", epochs=4, rate=1e-12, encoder_rate=1e-12, patience=2))
    assert facts["scores"]["dev"]["exact"]["all"]["f1"] == 0
    assert (facts["epochs"], facts["best_epoch"]) == (4, 4)


def test_scores_are_calibrated_on_dev_where_it_has_enough(tmp_path: Path) -> None:
    notes = Notes()
    train_once(task(tmp_path / "few", epochs=1), notes=notes)
    assert notes["too few entities found on dev to calibrate scores"] == 1
    many = part_of(
        [replace(document, id=f"{document.id}-{copy}") for copy in range(8) for document in documents()],
        notes=Notes(),
        name="dev",
    )
    settings = {"epochs": 30, "batch_size": 1, "rate": 1e-2}
    facts = train_once(replace(task(tmp_path / "many", **settings), dev=many))
    plain = train_once(replace(task(tmp_path / "plain", **settings, calibrate=False), dev=many))
    assert facts["scores"] == plain["scores"]
    assert sum(row["count"] for row in facts["reliability"]["calibrated"]) >= 50
    model = TrainedModel.load(tmp_path / "many")
    assert model.checkpoint.calibration != Calibration()
    assert model.checkpoint.config.decoding.threshold != 0.5
    assert "## What a score means" in model.card
    assert TrainedModel.load(tmp_path / "plain").checkpoint.calibration == Calibration()


def test_frozen_embeddings_stay_and_all_else_learns(tmp_path: Path) -> None:
    train_once(task(tmp_path / "frozen", frozen_embeddings=True))
    train_once(task(tmp_path / "still", rate=1e-30, encoder_rate=1e-30))
    frozen, still = weights(tmp_path / "frozen"), weights(tmp_path / "still")
    same = {name for name in frozen if frozen[name] == still[name]}
    assert {name for name in same if "embeddings" in name} == {
        "encoder.language_model.embeddings.word_embeddings.weight"
    }
    assert "encoder.language_model.embeddings.position_embeddings.weight" not in same


def test_a_step_in_parts_is_the_step(tmp_path: Path) -> None:
    """The budget of cells bounds the memory and changes nothing but rounding."""
    losses = []
    for cells in (50, 100_000):
        watch = Watch()
        train_once(task_without_dropout(tmp_path / str(cells), epochs=3, batch_size=6, cells=cells), watcher=watch)
        losses.append(watch.losses)
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    assert losses[0][0] != losses[0][-1]


def test_rates_warm_up_and_fall_to_zero() -> None:
    one, two = torch.nn.Parameter(torch.zeros(1)), torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.AdamW([{"params": [one]}, {"params": [two]}])
    config = tiny_config(rate=1.0, encoder_rate=0.1, warmup=0.2).train
    rates = []
    for number in range(10):
        _set_rates(optimizer, config, number, 10)
        rates.append([group["lr"] for group in optimizer.param_groups])
    assert [other for _, other in rates] == pytest.approx([0.5, 1, 1, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8])
    assert [encoder for encoder, _ in rates] == pytest.approx([other / 10 for _, other in rates])


def test_without_dev_the_last_epoch_counts(tmp_path: Path) -> None:
    notes = Notes()
    facts = train_once(replace(task(tmp_path / "m", patience=1), dev=None), notes=notes)
    assert facts["best_epoch"] == 2
    assert notes.places("setting that needs dev, without effect") == ["train.calibrate", "train.patience"]
    assert facts["scores"] == {}


def test_new_types_join_what_a_model_knows(tmp_path: Path) -> None:
    train_once(task(tmp_path / "old", epochs=1))
    more = documents()
    more[4] = replace(more[4], entities=(Entity("Absence", more[5].entities[0].fragments),))
    wider = part_of(more, notes=Notes(), name="train")
    new = replace(task(tmp_path / "new", rate=1e-12, encoder_rate=1e-12), train=wider, dev=wider, init=tmp_path / "old")
    train_once(new)
    old_one, new_one = TrainedModel.load(tmp_path / "old"), TrainedModel.load(tmp_path / "new")
    assert new_one.checkpoint.types == ("Absence", "Sign")
    old, now = old_one.model.state_dict(), new_one.model.state_dict()
    labels = new_one.checkpoint.scheme.labels
    rows = [labels.index(label) for label in old_one.checkpoint.scheme.labels]
    assert now["predictor.grid_out.weight"][rows].allclose(old["predictor.grid_out.weight"], atol=1e-6)
    bilinear = now["predictor.bilinear.weight"].view(len(labels), 8, 8)[rows]
    assert bilinear.flatten(0, 1).allclose(old["predictor.bilinear.weight"], atol=1e-6)
    assert now["convolution.mlp.weight"].allclose(old["convolution.mlp.weight"], atol=1e-6)


def test_names_that_a_model_knows_stay_when_it_is_gone_on_from(tmp_path: Path) -> None:
    train_once(
        replace(task(tmp_path / "old", epochs=1), own_names=True, lexicon=Lexicon([("Sign", ["sore", "throat"])]))
    )
    train_once(replace(task(tmp_path / "new", epochs=1), init=tmp_path / "old"))
    before, after = (read_checkpoint(tmp_path / name)[0].lexicon for name in ("old", "new"))
    assert ("Sign", ["sore", "throat"]) in list(after)
    assert after == before


def test_a_model_of_other_sizes_cannot_be_gone_on_from(tmp_path: Path) -> None:
    train_once(task(tmp_path / "old", epochs=1))
    config = tiny_config()
    other = replace(config, model=replace(config.model, hidden=9))
    with pytest.raises(UsageError, match=r"has model\.hidden = 8, not 9"):
        train_once(replace(task(tmp_path / "new"), config=other, init=tmp_path / "old"))
    with pytest.raises(FormatError, match="not a gridner model"):
        train_once(replace(task(tmp_path / "new"), init=tmp_path))


def test_a_cell_that_w2ner_cannot_learn_is_counted_once(tmp_path: Path) -> None:
    some = documents()
    some[0] = replace(some[0], entities=(*some[0].entities, *(replace(one, type="Other") for one in some[0].entities)))
    counts = []
    for times in (1, 2):
        notes, plain = Notes(), task(tmp_path / str(times), epochs=1, discontinuous_times=times)
        model = replace(plain.config.model, architecture="w2ner", trem=False, tags="NNW+THW")
        whole = part_of(some, notes=Notes(), name="train")
        train_once(replace(plain, config=replace(plain.config, model=model), train=whole), notes=notes)
        counts.append(notes["cell with several tags, of which W2NER learns one"])
    assert counts[0] == counts[1] > 0


def test_the_w2ner_preset_trains(tmp_path: Path) -> None:
    config = tiny_config(epochs=25, batch_size=1, rate=1e-2)
    model = replace(config.model, architecture="w2ner", trem=False, tags="NNW+THW", width=32)
    still = replace(model, word_dropout=0.0, grid_dropout=0.0, predictor_dropout=0.0)
    facts = train_once(replace(task(tmp_path / "m"), config=replace(config, model=still)))
    assert facts["scores"]["dev"]["exact"]["all"]["f1"] == 1


def test_a_corpus_without_entities_is_refused(tmp_path: Path) -> None:
    bare = part_of([replace(document, entities=()) for document in documents()], notes=Notes(), name="train")
    with pytest.raises(UsageError, match="train: no entities in 6 documents"):
        train_once(replace(task(tmp_path / "m"), train=bare))


def test_a_dev_corpus_without_entities_is_refused(tmp_path: Path) -> None:
    bare = part_of([replace(document, entities=()) for document in documents()], notes=Notes(), name="dev")
    with pytest.raises(UsageError, match="dev: no entities in 6 documents, expected some to choose by"):
        train_once(replace(task(tmp_path / "m"), dev=bare))


def test_a_type_that_a_split_leaves_train_without_is_counted(tmp_path: Path) -> None:
    rare = documents()
    rare[2] = replace(rare[2], entities=(Entity("Drug", rare[2].entities[0].fragments),))
    whole = part_of(rare, notes=Notes(), name="train")
    rest, held = next(pair for pair in folds_of(whole, 6) if pair[1].documents[0].id == "note-2")
    notes = Notes()
    given = replace(task(tmp_path / "m", epochs=1), train=rest, dev=rest, test=held)
    with pytest.raises(UsageError, match="test: type Drug in document note-2"):
        train_once(replace(given, split=frozenset(("dev",))))
    train_once(replace(given, split=frozenset(("test",))), notes=notes)
    assert notes["test: entity of a type that train does not have, counts as missed"] == 1
    assert (tmp_path / "m" / "test.ids").read_text() == "note-2\n"
    assert not (tmp_path / "m" / "dev.ids").exists()


def test_documents_in_train_and_dev_are_named(tmp_path: Path) -> None:
    notes = Notes()
    train_once(replace(task(tmp_path / "m", epochs=1), dev=part(2)), notes=notes)
    assert notes.places("dev: document that is also in train") == ["note-0", "note-1"]


def test_what_is_held_out_has_entities_and_leaves_every_type() -> None:
    some = documents()
    for number in range(4):
        some[number] = replace(some[number], entities=())
    some[4] = replace(some[4], entities=(Entity("Drug", (Fragment(0, 7),)), Entity("Sign", (Fragment(0, 7),))))
    rest, held = hold_out(part_of(some, notes=Notes(), name="train"), 0.2)
    assert [document.id for document in held.documents] == ["note-5"]
    assert rest.types == ("Drug", "Sign")
    with pytest.raises(UsageError, match="no document with entities can be held out"):
        hold_out(part_of(some[:5], notes=Notes(), name="train"), 0.2)


def test_a_training_in_a_thread_is_possible(tmp_path: Path) -> None:
    thread = threading.Thread(target=lambda: train_once(task(tmp_path / "m", epochs=1)))
    thread.start()
    thread.join()
    assert TrainedModel.load(tmp_path / "m").checkpoint.training["epochs"] == 1


def test_a_snapshot_without_the_best_weights_is_refused_before_the_first_step(tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        train_once(task(tmp_path / "m"), watcher=Watch(5, lambda: os.kill(os.getpid(), signal.SIGTERM)))
    (tmp_path / "m" / "snapshot" / "best-1.safetensors").unlink()
    watch = Watch()
    with pytest.raises(FormatError, match=r"best-1.safetensors: missing"):
        train_once(task(tmp_path / "m"), resume=True, watcher=watch)
    assert not watch.losses


def test_a_kill_between_the_best_weights_and_the_state_that_names_them_is_harmless(tmp_path: Path) -> None:
    train_once(task(tmp_path / "whole", patience=1))
    with pytest.raises(Stopped):
        train_once(task(tmp_path / "m", patience=1), watcher=Watch(5, lambda: os.kill(os.getpid(), signal.SIGTERM)))
    snapshot = tmp_path / "m" / "snapshot"
    assert [path.name for path in snapshot.glob("best*")] == ["best-1.safetensors"]
    (snapshot / "best-2.safetensors").write_bytes(b"of an epoch that no state names")
    for left in (tmp_path / "m" / ".tmpAbCd", tmp_path / "m" / "model.safetensors.part"):
        left.write_bytes(b"half")
    train_once(task(tmp_path / "m", patience=1), resume=True)
    assert weights(tmp_path / "m") == weights(tmp_path / "whole")
    assert not list((tmp_path / "m").glob(".tmp*"))
    assert not list((tmp_path / "m").glob("*.part"))


def test_what_a_finished_run_does_not_need_is_removed(tmp_path: Path) -> None:
    train_once(task(tmp_path / "m", epochs=1))
    (tmp_path / "m" / "snapshot").mkdir()
    train_once(task(tmp_path / "m", epochs=1), resume=True)
    assert not (tmp_path / "m" / "snapshot").exists()


def test_a_run_goes_on_with_less_memory(tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        train_once(task(tmp_path / "m"), watcher=Watch(2, lambda: os.kill(os.getpid(), signal.SIGTERM)))
    watch = Watch()
    train_once(task(tmp_path / "m", cells=64), resume=True, watcher=watch)
    assert watch.began == 2


@pytest.mark.parametrize(
    "error",
    [RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried 8 bytes"), torch.OutOfMemoryError("x")],
)
def test_a_lack_of_memory_is_one_line(tmp_path: Path, error: Exception) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(UsageError, match=r"out of memory: expected a train\.cells below"):
        train_once(task(tmp_path / "m"), watcher=Watch(1, fail))
    with pytest.raises(RuntimeError, match="another"):
        train_once(task(tmp_path / "n"), watcher=Watch(1, lambda: _raise(RuntimeError("another"))))


def _raise(error: Exception) -> None:
    raise error


def test_what_the_epochs_that_are_kept_take_is_no_lack_of_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "m" / "epochs" / "1"
    kept.mkdir(parents=True)
    (kept / "model.safetensors").write_bytes(b"x" * 1000)
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=100))
    prepare_folder(tmp_path / "m", needed=1100)
    with pytest.raises(OutputError, match="are free"):
        prepare_folder(tmp_path / "m", needed=1101)


def test_a_training_does_not_depend_on_the_order_of_its_documents(tmp_path: Path) -> None:
    for name, some in (("a", documents()), ("b", documents()[::-1])):
        train_once(replace(task(tmp_path / name, epochs=1), train=part_of(some, notes=Notes(), name="train")))
    assert weights(tmp_path / "a") == weights(tmp_path / "b")


def test_a_card_names_the_encoder_of_the_model_that_was_gone_on_from(tmp_path: Path) -> None:
    train_once(task(tmp_path / "old", epochs=1))
    new = replace(task(tmp_path / "new", epochs=1), init=tmp_path / "old")
    train_once(replace(new, config=replace(new.config, model=replace(new.config.model, encoder="minilm"))))
    assert "on `tiny`" in (tmp_path / "new" / "README.md").read_text()


def test_a_type_that_train_does_not_have_is_refused(tmp_path: Path) -> None:
    strange = documents()
    strange[2] = replace(strange[2], entities=(Entity("Drug", strange[2].entities[0].fragments),))
    with pytest.raises(UsageError, match="dev: type Drug in document note-2, expected those of train: Sign"):
        train_once(replace(task(tmp_path / "m"), dev=part_of(strange, notes=Notes(), name="dev")))
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"precision": "fp16"}, "train.precision is fp16, expected auto or fp32 on cpu"),
        ({"device": "mps"}, "device is mps"),
    ],
)
def test_what_the_machine_does_not_have_is_refused(tmp_path: Path, settings: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        train_once(task(tmp_path / "m", **settings))


def test_a_loss_that_runs_away_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"the loss is (nan|inf) at step \d+.*lower train.rate"):
        train_once(task(tmp_path / "m", epochs=20, rate=1e30, encoder_rate=1e30, clip=1e30))


def test_seeds_and_folds_give_a_summary(tmp_path: Path) -> None:
    tasks = {
        f"fold-{number}": replace(task(tmp_path, epochs=1), train=rest, dev=None, test=held)
        for number, (rest, held) in enumerate(folds_of(part(), 2), start=1)
    }
    found = train_all(
        tasks,
        seeds=(1, 2),
        output=tmp_path / "out",
        resume=False,
        watcher=lambda name, config, later: None,
        notes=lambda name: Notes(),
    )
    assert list(found) == ["fold-1/seed-1", "fold-1/seed-2", "fold-2/seed-1", "fold-2/seed-2"]
    assert all((tmp_path / "out" / name / MANIFEST).is_file() for name in found)
    scores = json.loads((tmp_path / "out" / "summary.json").read_text())["scores"]["test"]
    every = [facts["scores"]["test"]["exact"]["all"]["recall"] for facts in found.values()]
    assert scores["all"]["recall"]["mean"] == pytest.approx(sum(every) / 4)
    assert scores["all"]["recall"]["runs"] == 4
    assert summary(found, "dev") == {}


def test_slices_without_gold_do_not_count_in_a_mean() -> None:
    def facts(tp: int, fn: int, f1: float) -> dict[str, Any]:
        row = {"tp": tp, "fn": fn, "precision": f1, "recall": f1, "f1": f1}
        return {"scores": {"test": {"exact": {"left": row, "never": {**row, "tp": 0, "fn": 0}}}}}

    found = summary({"a": facts(1, 1, 0.5), "b": facts(0, 0, 0.0), "c": facts(0, 2, 0.0)}, "test")
    assert (found["left"]["f1"].mean, found["left"]["f1"].runs) == (0.25, 2)
    assert "never" not in found


@pytest.mark.parametrize("resume", [False, True])
def test_several_runs_leave_other_folders_alone(tmp_path: Path, resume: bool) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(OutputError, match="thesis.txt" if resume else "not empty"):
        train_all(
            {"": task(tmp_path)},
            seeds=(1, 2),
            output=tmp_path,
            resume=resume,
            watcher=lambda name, config, later: None,
            notes=lambda name: Notes(),
        )
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_deviation_is_that_of_a_sample() -> None:
    assert spread([1.0, 2.0, 3.0]).deviation == pytest.approx(1.0)
    assert spread([2.0]).deviation == 0
