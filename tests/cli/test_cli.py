import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from gridner import Document, Entity, FormatError, Fragment, OutputError, UsageError, __version__, write
from gridner.cli import app

EXAMPLES = Path(__file__).parents[2] / "examples"
COMMANDS = sorted(typer.main.get_group(app).commands)


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def entity(type: str, *pairs: tuple[int, int]) -> Entity:
    return Entity(type, tuple(Fragment(start, end) for start, end in pairs))


TEXT = "Pain in left arm and shoulder. No rash."
ARM, SHOULDER, RASH = entity("ADR", (0, 16)), entity("ADR", (0, 7), (21, 29)), entity("Finding", (34, 38))


@pytest.fixture
def corpora(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Gold and two systems, the second better."""
    paths = (tmp_path / "gold.jsonl", tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    answers = ((ARM, SHOULDER, RASH), (ARM,), (ARM, SHOULDER, RASH))
    for path, entities in zip(paths, answers, strict=True):
        write([Document(str(n), TEXT, entities) for n in range(20)], path)
    return paths


def test_the_version_is_shown() -> None:
    assert run("--version") == f"gridner {__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_each_command_has_examples_one_per_line(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    lines = [line.strip() for line in run(command, "--help").splitlines()]
    help_text = typer.main.get_group(app).commands[command].help or ""
    examples = help_text.partition("```\n")[2].partition("\n```")[0].splitlines()
    assert "Examples:" in lines
    assert any(f"gridner {command}" in example for example in examples)
    assert set(examples) <= set(lines)


def test_show_draws_entities_across_their_gap(tmp_path: Path) -> None:
    write([Document("note", TEXT, (SHOULDER,))], tmp_path / "gold.jsonl")
    shown = run("show", tmp_path / "gold.jsonl")
    assert "Pain in left arm and shoulder." in shown
    assert "━━━━━━━┄┄┄┄┄┄┄┄┄┄┄┄┄┄━━━━━━━━ ADR" in shown
    assert "(1 sentence without entities)" in shown


def test_show_can_be_narrowed_and_widened(tmp_path: Path) -> None:
    path = tmp_path / "gold.jsonl"
    write([Document("one", TEXT, (SHOULDER, RASH)), Document("two", TEXT, (RASH,))], path)
    assert "No rash." not in run("show", path, "--discontinuous")
    assert "two" not in run("show", path, "-n", 1)
    assert "Pain in" in run("show", path, "--types", "Finding", "--all")
    assert [d["id"] for d in json.loads(run("show", path, "--json"))["documents"]] == ["one", "two"]


def test_show_saves_a_picture_that_loads_nothing(tmp_path: Path) -> None:
    run("show", EXAMPLES, "-n", 1, "--svg", tmp_path / "picture.svg")
    picture = (tmp_path / "picture.svg").read_text(encoding="utf-8")
    assert "simvastatin" in picture
    assert "@font-face" not in picture
    assert "url(http" not in picture


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_on_a_terminal_show_prints_nothing_but_the_drawing(tmp_path: Path) -> None:
    import pty

    write([Document("note", TEXT, (SHOULDER,))], tmp_path / "gold.jsonl")
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "gridner", "show", str(tmp_path / "gold.jsonl"), "-n", "1"]
    done = subprocess.run(command, stdout=slave, stderr=slave, check=False, env={**os.environ, "NO_COLOR": "1"})
    os.close(slave)
    shown = os.read(master, 100_000).decode()
    os.close(master)
    assert done.returncode == 0
    assert [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in shown.splitlines()][1:3] == [
        "Pain in left arm and shoulder.",
        "━━━━━━━┄┄┄┄┄┄┄┄┄┄┄┄┄┄━━━━━━━━ ADR",
    ]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_an_output_that_is_not_unicode_is_survived(encoding: str) -> None:
    for arguments in (["show"], ["stats"], ["stats", "--json"]):
        command = [sys.executable, "-m", "gridner", *arguments, str(EXAMPLES)]
        done = subprocess.run(
            command,
            capture_output=True,
            check=False,
            env={**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"},
        )
        assert (done.returncode, done.stderr) == (0, b""), done.stderr
        if "--json" in arguments:
            assert json.loads(done.stdout)["corpora"][0]["documents"] == 12


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_output_that_is_full_is_one_line(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "gridner", "stats", str(EXAMPLES), "--json"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines() == ["gridner: the result cannot be written (No space left on device)"]


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_tables_are_whole_on_any_terminal(
    corpora: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    table = run("evaluate", corpora[0], corpora[1])
    assert re.search(r"^all \(micro\) +100\.00 +33\.33 +50\.00 ", table, re.MULTILINE)
    assert re.search(r"^% discontinuous +33\.3 +10\.7", run("stats", corpora[0], "--paper", "cadec"), re.MULTILINE)
    assert "…" not in table


def test_stats_counts_each_corpus(corpora: tuple[Path, Path, Path]) -> None:
    found = json.loads(run("stats", corpora[0], corpora[1], "--json"))["corpora"]
    assert [(c["documents"], c["sentences"], c["entities"], c["discontinuous"]) for c in found] == [
        (20, 40, 60, 20),
        (20, 40, 20, 0),
    ]
    assert found[0]["oracle"]["f1"] == 1
    table = run("stats", corpora[0])
    assert "% discontinuous" in table
    assert "33.3" in table


def test_stats_sets_the_papers_table_beside_ours(
    corpora: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    table = run("stats", corpora[0], "--paper", "cadec")
    assert "6,318" in table
    assert "10.7" in table
    assert json.loads(run("stats", corpora[0], "--paper", "share13", "--json"))["paper"]["share13"]["test"] == {
        "sentences": 9009,
        "entities": 5333,
        "discontinuous": 436,
    }


def test_stats_can_take_one_sentence_a_line(tmp_path: Path) -> None:
    write([Document("a", "One. Two.\nThree", ())], tmp_path / "a.jsonl")
    assert json.loads(run("stats", tmp_path / "a.jsonl", "--json"))["corpora"][0]["sentences"] == 3
    by_line = run("stats", tmp_path / "a.jsonl", "--sentences", "lines", "--json")
    assert json.loads(by_line)["corpora"][0]["sentences"] == 2


def test_convert_goes_there_and_back(tmp_path: Path) -> None:
    run("convert", EXAMPLES, tmp_path / "examples.jsonl")
    run("convert", tmp_path / "examples.jsonl", tmp_path / "brat", "--to", "brat")
    for path in [*EXAMPLES.glob("*.txt"), *EXAMPLES.glob("*.ann")]:
        assert (tmp_path / "brat" / path.name).read_bytes() == path.read_bytes(), path.name


def test_convert_says_what_it_did_and_what_was_lost(corpora: tuple[Path, Path, Path], tmp_path: Path) -> None:
    said = json.loads(run("convert", corpora[0], tmp_path / "gold.json", "--types", "ADR", "--json"))
    assert (said["documents"], said["entities"], said["entities_written"]) == (20, 40, 40)
    assert [note["count"] for note in said["notes"] if "text between the words" in note["what"]] == [20]


def test_ids_select_and_leave_out(tmp_path: Path, corpora: tuple[Path, Path, Path]) -> None:
    (tmp_path / "dev.id").write_text("3\n7.txt\n")
    run("convert", corpora[0], tmp_path / "dev.jsonl", "--ids", tmp_path / "dev.id")
    run("convert", corpora[0], tmp_path / "train.jsonl", "--except-ids", tmp_path / "dev.id")
    ids = [
        [json.loads(line)["id"] for line in (tmp_path / name).read_text().splitlines()]
        for name in ("dev.jsonl", "train.jsonl")
    ]
    assert ids[0] == ["3", "7"]
    assert len(ids[1]) == 18


@pytest.mark.parametrize("option", ["--ids", "--except-ids"])
def test_ids_that_are_not_there_are_an_error(tmp_path: Path, corpora: tuple[Path, Path, Path], option: str) -> None:
    (tmp_path / "dev.id").write_text("3\nnone\n")
    with pytest.raises(FormatError, match="1 of the ids not found: none"):
        run("stats", corpora[0], option, tmp_path / "dev.id")


def test_types_may_be_given_twice_or_with_commas_but_not_empty(corpora: tuple[Path, Path, Path]) -> None:
    for types in (["--types", "ADR,Finding"], ["--types", "ADR", "--types", "Finding"]):
        assert json.loads(run("stats", corpora[0], *types, "--json"))["corpora"][0]["entities"] == 60
    for wrong in ("", ",", "ADR,"):
        with pytest.raises(UsageError, match="an empty name"):
            run("stats", corpora[0], "--types", wrong)


def test_texts_of_their_own_are_not_for_every_format(corpora: tuple[Path, Path, Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="only brat, jsonl and share take them from a folder"):
        run("stats", corpora[0], "--texts", tmp_path, "--format", "w2ner")


def test_predictions_without_their_texts_are_scored(tmp_path: Path) -> None:
    answers = tmp_path / "answers.jsonl"
    answers.write_text('{"id": "n", "entities": [{"type": "A", "fragments": [[0, 4]], "score": 0.7}]}\n')
    (tmp_path / "gold").mkdir()
    (tmp_path / "gold" / "n.txt").write_text("pain in left arm")
    (tmp_path / "gold" / "n.ann").write_text("T1\tA 0 4\tpain\n")
    options = ("--format", "brat", "--pred-format", "jsonl", "--json")
    for more in ((), ("--texts", tmp_path / "gold")):
        found = json.loads(run("evaluate", tmp_path / "gold", answers, *options, *more))
        assert found["exact"]["all"]["f1"] == 1
    with pytest.raises(FormatError, match=r"no 'text'.*--texts"):
        run("stats", answers)
    answers.write_text('{"id": "other", "entities": []}\n')
    with pytest.raises(
        FormatError, match=r"answers\.jsonl:1: document 'other' has no text and is not in the gold corpus"
    ):
        run("evaluate", tmp_path / "gold", answers, *options)


def test_a_corpus_can_come_through_a_pipe(corpora: tuple[Path, Path, Path]) -> None:
    command = [sys.executable, "-m", "gridner", "stats", "/dev/stdin", "--format", "jsonl", "--json"]
    with corpora[0].open() as file:
        done = subprocess.run(["cat"], stdin=file, capture_output=True, check=True)
    done = subprocess.run(command, input=done.stdout, capture_output=True, check=True)
    assert json.loads(done.stdout)["corpora"][0]["entities"] == 60


def test_evaluate_scores_slices_with_intervals(corpora: tuple[Path, Path, Path]) -> None:
    gold, worse, _ = corpora
    found = json.loads(run("evaluate", gold, worse, "--json"))
    assert (found["exact"]["all"]["tp"], found["exact"]["all"]["fn"]) == (20, 40)
    assert found["exact"]["discontinuous"]["recall"] == 0
    low, high = found["exact"]["all"]["interval"]["f1"]
    assert low <= found["exact"]["all"]["f1"] <= high
    table = run("evaluate", gold, worse)
    assert "discontinuous only" in table
    assert "not comparable with exact match" in table


def test_predicted_types_that_gold_does_not_have_are_counted(tmp_path: Path) -> None:
    gold, answers = tmp_path / "gold.jsonl", tmp_path / "answers.jsonl"
    text = {"id": "n", "text": "pain in left arm"}
    finding = {"type": "Finding", "fragments": [[0, 4]]}
    part = {"type": "Part", "fragments": [[13, 16]]}
    gold.write_text(json.dumps({**text, "entities": [finding]}) + "\n")
    answers.write_text(json.dumps({**text, "entities": [finding, part]}) + "\n")
    found = json.loads(run("evaluate", gold, answers, "--json"))
    assert (found["exact"]["all"]["tp"], found["exact"]["all"]["fp"]) == (1, 1)
    (note,) = found["notes"]
    assert (note["count"], note["places"]) == (1, ["n: Part"])
    assert "--types" in note["what"]
    assert json.loads(run("evaluate", gold, answers, "--json", "--types", "Finding"))["exact"]["all"]["fp"] == 0


def test_compare_tests_the_difference(corpora: tuple[Path, Path, Path]) -> None:
    found = json.loads(run("compare", *corpora, "--json"))["slices"]
    assert found["all"]["difference"] == pytest.approx(0.5)
    assert found["all"]["p"] < 0.05
    assert "+50.00*" in run("compare", *corpora)


def test_formats_of_gold_and_predictions_may_differ(corpora: tuple[Path, Path, Path], tmp_path: Path) -> None:
    run("convert", corpora[0], tmp_path / "gold")
    found = run("evaluate", tmp_path / "gold", corpora[2], "--format", "brat", "--pred-format", "jsonl", "--json")
    assert json.loads(found)["exact"]["all"]["f1"] == 1


def test_annotations_and_texts_may_be_in_two_folders(tmp_path: Path) -> None:
    for suffix, folder in (("ann", "original"), ("txt", "text")):
        (tmp_path / folder).mkdir()
        for path in EXAMPLES.glob(f"*.{suffix}"):
            shutil.copy(path, tmp_path / folder)
    found = json.loads(run("stats", tmp_path / "original", "--texts", tmp_path / "text", "--types", "ADR", "--json"))
    assert found["corpora"][0]["documents"] == 12
    assert set(found["corpora"][0]["types"]) == {"ADR"}


def test_convert_to_a_flat_format_needs_a_choice(corpora: tuple[Path, Path, Path], tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["convert", str(corpora[0]), str(tmp_path / "gold.conll")])
    assert isinstance(done.exception, OutputError)
    assert "--flat (with --max-gap N)" in str(done.exception)
    assert not (tmp_path / "gold.conll").exists()
    said = json.loads(run("convert", corpora[0], tmp_path / "gold.conll", "--flat", "--json"))
    assert (said["entities"], said["entities_written"]) == (60, 40)
    assert [note["count"] for note in said["notes"] if note["what"] == "discontinuous entity, left out"] == [20]
    said = json.loads(run("convert", corpora[0], tmp_path / "wide.conll", "--flat", "--max-gap", 3, "--json"))
    assert [note["count"] for note in said["notes"] if note["what"] == "discontinuous entity, its gaps covered"] == [20]


def test_convert_leaves_out_wide_gaps(corpora: tuple[Path, Path, Path], tmp_path: Path) -> None:
    said = json.loads(run("convert", corpora[0], tmp_path / "narrow.jsonl", "--max-gap", 1, "--json"))
    assert (said["entities"], said["entities_written"]) == (60, 40)
