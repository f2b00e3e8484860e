"""gridner train, as typed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gridner.documents import Entity
from gridner.formats import write
from support.command import gridner
from support.small import documents

SMALL = [
    *("--set", "model.width=16", "--set", "model.channels=4", "--set", "model.map_width=4", "--set", "model.hidden=8"),
    *("--set", "model.biaffine=8", "--set", "train.epochs=2", "--set", "train.device=cpu"),
]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    write(documents(), tmp_path / "corpus")
    return tmp_path / "corpus"


def refused(*arguments: object) -> str:
    """The one line that a mistake gives."""
    done = gridner("train", *arguments)
    assert done.returncode == 2, done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("gridner: ")
    return lines[0]


def test_a_model_is_trained_and_said(corpus: Path, tmp_path: Path) -> None:
    done = gridner("train", "tiny", "--train", corpus, "--dev", "0.3", "--output", tmp_path / "m", *SMALL)
    assert done.returncode == 0, done.stderr
    assert "epoch 2: loss" in done.stderr
    assert f"the model is in {tmp_path / 'm'}" in done.stderr
    assert "dev, exact match" in done.stdout
    facts = json.loads((tmp_path / "m" / "gridner.json").read_text())["training"]
    assert facts["data"]["dev"]["documents"] == 2
    assert facts["command"].startswith("gridner train tiny --train")
    assert not (tmp_path / "m" / "report.html").exists()
    again = gridner(
        "train", "tiny", "--train", corpus, "--dev", "0.3", "--output", tmp_path / "m", *SMALL, "--resume", "--report"
    )
    assert again.returncode == 0, again.stderr
    assert "epoch" not in again.stderr
    page = (tmp_path / "m" / "report.html").read_text()
    assert "m on dev" in page
    assert '"documents":["note-' in page


def test_seeds_have_a_mean(corpus: Path, tmp_path: Path) -> None:
    done = gridner("train", "tiny", "--train", corpus, "--output", tmp_path / "m", *SMALL, "--seeds", "1,2", "--report")
    assert done.returncode == 0, done.stderr
    assert "±" in done.stdout
    assert {path.name for path in (tmp_path / "m").iterdir()} == {"seed-1", "seed-2", "summary.json"}
    assert "seed-2 on dev" in (tmp_path / "m" / "seed-2" / "report.html").read_text()


def test_folds_and_going_on_from_a_model(corpus: Path, tmp_path: Path) -> None:
    done = gridner("train", "tiny", "--train", corpus, "--output", tmp_path / "f", *SMALL, "--folds", "2")
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "f").iterdir()} == {"fold-1", "fold-2", "summary.json"}
    assert "test, exact match" in done.stdout
    first = tmp_path / "f" / "fold-1"
    ids = ("--ids", first / "test.ids", "--texts", corpus)
    scored = gridner("evaluate", corpus, first / "test.jsonl", "--pred-format", "jsonl", *ids)
    assert scored.returncode == 0, scored.stderr
    on = gridner("train", "tiny", "--train", corpus, "-o", tmp_path / "m", *SMALL, "--init", first, "--dev", "none")
    assert on.returncode == 0, on.stderr
    assert not (tmp_path / "m" / "dev.jsonl").exists()


def test_ctrl_c_says_how_to_go_on(corpus: Path, tmp_path: Path) -> None:
    options = ["tiny", "--train", str(corpus), "--output", str(tmp_path / "m"), "--set", "train.epochs=5000"]
    child = subprocess.Popen(
        [sys.executable, "-m", "gridner", "train", *options], stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    assert child.stderr is not None
    assert "epoch 1" in child.stderr.readline()
    child.send_signal(signal.SIGINT)
    rest = child.communicate(timeout=120)[1]
    assert child.returncode == 130
    assert "stopped, the state is saved; resume with: gridner train tiny" in rest
    assert rest.strip().endswith("--resume")
    assert (tmp_path / "m" / "snapshot" / "state.safetensors").is_file()


def test_a_corpus_without_entities(tmp_path: Path) -> None:
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "a.txt").write_text("nothing")
    (tmp_path / "bare" / "b.txt").write_text("nothing either")
    assert "train: no entities in 2 documents" in refused("tiny", "--train", tmp_path / "bare", "-o", tmp_path / "m")


def test_a_dev_corpus_with_a_strange_type(corpus: Path, tmp_path: Path) -> None:
    odd = documents()[0]
    write([type(odd)("odd", odd.text, (Entity("Drug", odd.entities[0].fragments),))], tmp_path / "dev")
    said = refused("tiny", "--train", corpus, "--dev", tmp_path / "dev", "--output", tmp_path / "m")
    assert "dev: type Drug in document odd, expected those of train: Sign" in said


def test_a_lexicon_goes_into_the_training_and_the_card(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "names.tsv").write_text("Sign\tnausea\nDrug\taspirin\n")
    options = ["--train", corpus, "--set", "train.epochs=1", "--lexicon", tmp_path / "names.tsv"]
    done = gridner("train", "tiny", *options, "--output", tmp_path / "m")
    assert done.returncode == 0, done.stderr
    assert "1 × lexicon: name of a type that the corpus does not have, left out" in done.stderr
    assert (
        "The gazetteer adds 8 to the log-odds of the relations of its names: Sign 1."
        in (tmp_path / "m" / "README.md").read_text()
    )
    assert (tmp_path / "m" / "names.tsv").read_text() == "Sign\tnausea\n"
    (tmp_path / "names.tsv").write_text("Sign\tvertigo\n")
    assert "a finished run with data.lexicon" in refused("tiny", *options, "--output", tmp_path / "m", "--resume")
    (tmp_path / "names.tsv").write_text("Drug\taspirin\n")
    assert "lexicon: names of Drug, expected some of Sign" in refused("tiny", *options, "--output", tmp_path / "n")


def test_an_encoder_that_is_not_there(corpus: Path, tmp_path: Path) -> None:
    said = refused("cadec", "--train", corpus, "--output", tmp_path / "m")
    assert "dmis-lab/biobert-base-cased-v1.2" in said
    assert "minilm" in said
    assert "tiny" in said
    assert not (tmp_path / "m").exists()


def test_settings_that_make_no_sense_come_all_at_once(corpus: Path, tmp_path: Path) -> None:
    said = refused("tiny", "--train", corpus, "-o", tmp_path / "m", "--set", "train.epoch=3", "--set", "model.width=x")
    assert "train.epoch is unknown; did you mean epochs?" in said
    assert "model.width is 'x', expected an integer" in said


def test_a_config_of_another_task(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text("[tool.ruff]\nline-length = 3\n")
    assert "[tool] is unknown" in refused(tmp_path / "other.toml", "--train", corpus, "-o", tmp_path / "m")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--dev", "1.5"], "--dev 1.5, expected a corpus or a share"),
        (["--dev", "nowhere"], "nowhere: not found"),
        (["--dev", "none", "--report"], "--report with --dev none"),
        (["--folds", "9"], "9 folds of 6 documents"),
        (["--folds", "2", "--test", "examples"], "expected the folds to come from --train alone"),
        (["--seeds", str(2**40)], "expected different numbers from 0 to 4294967295"),
        (["--set", "train.rate=inf"], "train.rate is inf, expected a finite number"),
        (["--seeds", "1,1"], "train.seeds are (1, 1), expected different numbers"),
        (["--seeds", "one"], "expected a list of integers"),
        (["--lexicon", "nowhere.tsv"], "nowhere.tsv: cannot be read"),
        (["--init", "examples"], "not a gridner model"),
        (["--set", "train.device=cuda"], "train.device is cuda"),
    ],
)
def test_requests_that_make_no_sense(corpus: Path, tmp_path: Path, options: list[str], said: str) -> None:
    if "examples" in options:
        options[options.index("examples")] = str(corpus)
    assert said in refused("tiny", "--train", corpus, "--output", tmp_path / "m", *options)


def test_an_output_that_is_taken(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "thesis.txt").write_text("precious")
    assert "exists and is not empty" in refused("tiny", "--train", corpus, "--output", tmp_path / "m")
    (tmp_path / "file").write_text("precious")
    assert "is a file, expected a new folder" in refused("tiny", "--train", corpus, "--output", tmp_path / "file")
    assert (tmp_path / "file").read_text() == "precious"


def test_several_corpora_give_one_model_with_a_table_each(corpus: Path, tmp_path: Path) -> None:
    drugs = [
        type(one)(one.id, one.text, tuple(Entity("Drug", entity.fragments) for entity in one.entities))
        for one in documents()
    ]
    write(drugs, tmp_path / "drugs" / "train")
    trains = ["--train", f"signs={corpus}", "--train", tmp_path / "drugs" / "train", "--weight", 1, "--weight", 0.5]
    options = ["tiny", *trains, "--dev", "0.3", "--test", f"signs={corpus}", "--output", tmp_path / "m", *SMALL]
    (tmp_path / "about.toml").write_text("[types.Sign]\ndescription = 'what a nurse sees'")
    done = gridner("train", *options, "--report", "--about", tmp_path / "about.toml")
    assert done.returncode == 0, done.stderr
    for part in ("dev-signs", "dev-drugs", "test-signs"):
        assert f"{part}, exact match" in done.stdout
        assert (tmp_path / "m" / f"{part}.jsonl").is_file()
    assert len((tmp_path / "m" / "dev-drugs.ids").read_text().splitlines()) == 2
    assert "m on dev-drugs" in (tmp_path / "m" / "report-drugs.html").read_text()
    info = gridner("info", tmp_path / "m")
    assert "types:\n  Drug (drugs)\n  Sign: what a nurse sees (signs)\n" in info.stdout
    folds = gridner("train", "tiny", *trains, "--folds", "2", "--output", tmp_path / "f", *SMALL)
    assert folds.returncode == 0, folds.stderr
    assert "test-drugs, exact match" in folds.stdout


def test_corpora_that_are_not_given_together(corpus: Path, tmp_path: Path) -> None:
    two = ["tiny", "--train", corpus, "--train", f"other={corpus}", "--output", tmp_path / "m"]
    assert "--dev 1 times for 2 --train" in refused(*two, "--dev", corpus)
    assert "--weight 1 times for 2 --train" in refused(*two, "--weight", 1)
    assert "weight -1 of other, expected more than 0" in refused(*two, "--weight", 1, "--weight", -1)
    (tmp_path / "ids").write_text("note-1\n")
    assert "--ids or --except-ids with several --train" in refused(*two, "--ids", tmp_path / "ids")
