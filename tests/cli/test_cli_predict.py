"""gridner predict, as typed."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gridner.documents import Document
from gridner.formats import read, write
from gridner.inference.installed_models import DEFAULT_MODEL
from gridner.inference.loading import load
from gridner.locking import only_process
from support.command import gridner
from support.small import documents


def refused(*arguments: object, stdin: str | None = None) -> str:
    done = gridner("predict", *arguments, stdin=stdin)
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    return done.stderr.strip()


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    write(documents(), tmp_path / "corpus")
    return tmp_path / "corpus"


def expected(model: Path, **settings: Any) -> list[Document]:
    return list(load(model, **settings).pipe(documents()))


def lines(done: subprocess.CompletedProcess[str]) -> list[dict[str, object]]:
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_text_is_drawn(exported: Path) -> None:
    text = "Pain in left arm and shoulder."
    done = gridner("predict", text, "--model", exported)
    assert done.returncode == 0, done.stderr
    assert text in done.stdout
    found = load(exported)(text)
    assert found.entities
    assert all(f"{entity.type} {entity.score:.2f}" in done.stdout for entity in found.entities)


def test_files_give_json_lines(exported: Path, corpus: Path) -> None:
    files = sorted(corpus.glob("*.txt"))
    found = lines(gridner("predict", *files, "--model", exported, "--json"))
    assert [one["id"] for one in found] == [path.stem for path in files]
    assert [len(one["entities"]) for one in found] == [len(one.entities) for one in expected(exported)]  # type: ignore[arg-type]


def test_a_folder_of_texts_is_read_as_plain_texts(exported: Path, corpus: Path) -> None:
    for ann in corpus.glob("*.ann"):
        ann.write_text("not brat")
    found = lines(gridner("predict", "--input", corpus, "--format", "text", "--model", exported, "--json"))
    assert [one["id"] for one in found] == [f"note-{number}" for number in range(6)]
    one = lines(gridner("predict", "-i", corpus / "note-3.txt", "--model", exported, "--json"))
    assert one == found[3:4]
    (corpus / "empty").mkdir()
    assert "no documents" in refused("--input", corpus / "empty", "--format", "text", "--model", exported)


def test_standard_input_and_output_are_json_lines(exported: Path, tmp_path: Path) -> None:
    write(documents(), tmp_path / "in.jsonl")
    given = (tmp_path / "in.jsonl").read_text()
    done = gridner("predict", "-", "--model", exported, stdin=given)
    assert done.returncode == 0, done.stderr
    (tmp_path / "out.jsonl").write_text(done.stdout)
    assert list(read(tmp_path / "out.jsonl")) == expected(exported)
    assert gridner("predict", "--model", exported, stdin=given).stdout == done.stdout
    plain = lines(gridner("predict", "-", "--format", "text", "--model", exported, stdin="Pain in arm."))
    assert [one["text"] for one in plain] == ["Pain in arm."]


def test_a_corpus_goes_to_a_folder(exported: Path, corpus: Path, tmp_path: Path) -> None:
    options = ("--input", corpus, "--format", "brat", "--output", tmp_path / "out", "--to", "brat")
    done = gridner("predict", *options, "--model", exported)
    assert done.returncode == 0, done.stderr
    for found, wanted in zip(read(tmp_path / "out"), expected(exported), strict=True):
        assert set(found.entities) == set(wanted.entities)
    assert "exists already" in refused(*options, "--model", exported)


def test_names_can_be_given(exported: Path, tmp_path: Path) -> None:
    (tmp_path / "names.tsv").write_text("Drug\tzyrtec\n")
    options = ["predict", "He took zyrtec.", "--model", exported, "--json"]

    def drugs(*more: object) -> list[float]:
        (document,) = lines(gridner(*options, "--threshold", "0", *more))
        entities: Any = document["entities"]
        return [one["score"] for one in entities if (one["type"], one["fragments"]) == ("Drug", [[8, 14]])]

    without, given = drugs(), drugs("--lexicon", tmp_path / "names.tsv")
    assert given
    assert given > without
    assert drugs("--lexicon", "none") == without
    assert "nowhere.tsv: cannot be read" in gridner(*options, "--lexicon", "nowhere.tsv").stderr


def test_thresholds_and_types_choose(exported: Path, corpus: Path) -> None:
    options = ("predict", "--input", corpus, "--json", "--model", exported)
    few = lines(gridner(*options, "--threshold", "0.9"))
    assert [len(one["entities"]) for one in few] == [len(one.entities) for one in expected(exported, threshold=0.9)]  # type: ignore[arg-type]
    drugs = lines(gridner(*options, "--types", "Drug"))
    assert {entity["type"] for one in drugs for entity in one["entities"]} == {"Drug"}  # type: ignore[attr-defined]


def test_flat_entities_are_contiguous_and_what_that_drops_is_said(exported: Path, corpus: Path) -> None:
    done = gridner("predict", "--input", corpus, "--json", "--model", exported, "--flat")
    assert all(len(entity["fragments"]) == 1 for one in lines(done) for entity in one["entities"])  # type: ignore[attr-defined]
    assert "× discontinuous entity, left out" in done.stderr
    assert "× entity that overlaps a better one, left out" in done.stderr
    wide = gridner("predict", "--input", corpus, "--json", "--model", exported, "--max-gap", "0")
    assert "× entity with a gap of more than 0 words, left out" in wide.stderr


def test_pre_annotation_adds_and_touches_nothing_that_is_there(exported: Path, corpus: Path) -> None:
    odd = "T1\tSign 0 16\tPain in left arm\r\n#1\tAnnotatorNotes T1\tmine\n\nT7\tSign 0 4\tPain"
    (corpus / "note-0.ann").write_bytes(odd.encode())
    before = {path.name: path.read_bytes() for path in corpus.iterdir()}
    gold = {document.id: set(document.entities) for document in read(corpus)}
    done = gridner("predict", "--input", corpus, "--pre-annotate", "--model", exported)
    assert done.returncode == 0, done.stderr
    assert "entities added to 6 documents" in done.stderr
    after = {path.name: path.read_bytes() for path in corpus.iterdir()}
    assert after.keys() == before.keys()
    assert all(after[name].startswith(before[name]) for name in before)
    assert all(after[name] == before[name] for name in before if not name.endswith(".ann"))
    for document, answer in zip(read(corpus), expected(exported), strict=True):
        assert set(document.entities) == gold[document.id] | set(answer.entities)
        assert len(document.entities) == len(set(document.entities))
    assert "#2\tAnnotatorNotes T8\tgridner 0." in (corpus / "note-0.ann").read_text()
    again = gridner("predict", "--input", corpus, "--pre-annotate", "--model", exported)
    assert "0 entities added" in again.stderr
    assert {path.name: path.read_bytes() for path in corpus.iterdir()} == after


def test_pre_annotation_writes_into_files_in_upper_case(exported: Path, tmp_path: Path) -> None:
    (tmp_path / "D.TXT").write_text("Pain in left arm and shoulder.")
    (tmp_path / "D.ANN").write_text("")
    done = gridner("predict", "--input", tmp_path, "--pre-annotate", "--model", exported)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["D.ANN", "D.TXT"]
    assert (tmp_path / "D.ANN").read_text().startswith("T1\t")


def test_only_one_process_pre_annotates_a_folder(exported: Path, corpus: Path) -> None:
    with only_process(corpus, "in use"):
        said = refused("--input", corpus, "--pre-annotate", "--model", exported)
    assert "another process is adding to it" in said


def test_files_of_the_same_name_have_ids_of_their_own(exported: Path, tmp_path: Path) -> None:
    files = [tmp_path / "a" / "note.txt", tmp_path / "b" / "deep" / "note.txt", tmp_path / "b" / "other.txt"]
    for path in files:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("Pain in arm.")
    found = lines(gridner("predict", *files, "--model", exported, "--json"))
    assert [one["id"] for one in found] == ["a/note", "b/deep/note", "b/other"]
    assert [one["id"] for one in lines(gridner("predict", *files[1:], "--model", exported, "--json"))] == [
        "note",
        "other",
    ]


def test_an_id_that_comes_twice_is_found_before_any_work(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(documents(), tmp_path / f"{name}.jsonl")
        (tmp_path / name).mkdir()
        (tmp_path / name / "note.txt").write_text("Pain.")
    no_model, out = tmp_path / "no-model", tmp_path / "out.jsonl"  # the model would be read before any work
    no_model.mkdir()
    for inputs in (["a.jsonl", "b.jsonl"], ["a", "b"], ["a/note.txt", "a/note.txt"]):
        said = refused(*(tmp_path / name for name in inputs), "--model", no_model, "--output", out)
        assert "in the input twice, expected each id once" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "a.jsonl", "b", "b.jsonl", "no-model"]


def test_an_id_that_comes_twice_is_not_printed_twice(exported: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(documents()[:1], tmp_path / f"{name}.jsonl")
    inputs = ("predict", tmp_path / "a.jsonl", tmp_path / "b.jsonl", "--json", "--model", exported)
    done = gridner(*inputs)
    assert done.returncode == 2
    assert "note-0: in the input twice" in done.stderr
    lenient = gridner(*inputs, "--lenient")
    assert [one["id"] for one in lines(lenient)] == ["note-0"]
    assert "1 × bad record skipped" in lenient.stderr


@pytest.mark.parametrize("text", ["HER2/neu", "and/or", "TGF-β/Smad"])
def test_a_word_with_a_slash_is_a_text(exported: Path, text: str) -> None:
    done = gridner("predict", text, "--model", exported, "--json")
    assert [one["text"] for one in lines(done)] == [text]
    assert "no such file, so read as a text" in done.stderr


@pytest.mark.parametrize("path", ["nowhere/note.txt", "./note", "/nowhere/note", "{here}/note", "nowhere/"])
def test_a_path_that_is_not_there_is_named(exported: Path, tmp_path: Path, path: str) -> None:
    assert re.search(r"(note|note\.txt|nowhere): not found", refused(path.format(here=tmp_path), "--model", exported))


@pytest.mark.parametrize("option", [["--resume"], ["--force"], ["--to", "brat"]])
def test_options_of_an_output_need_one(option: list[str]) -> None:
    assert f"{option[0]} without --output" in refused("pain", *option)


def test_options_that_exclude_each_other(corpus: Path, tmp_path: Path) -> None:
    assert "--json with --output" in refused("pain", "--json", "--output", tmp_path / "out.jsonl")
    assert "--address without --engine ray" in refused("pain", "--address", "auto")
    assert "expected brat" in refused("--input", corpus, "--pre-annotate", "--format", "jsonl")


def test_more_threads_or_processes_than_cores_are_cut_and_printed(exported: Path) -> None:
    done = gridner("predict", "No pain.", "--model", exported, "--json", "--threads", "100000", "--workers", "100000")
    assert len(lines(done)) == 1
    assert re.search(r"--workers 100,000: only \d+ cores? available, using \d+\n", done.stderr)
    assert re.search(r"--threads 100,000: only \d+ cores? available, using 1\n", done.stderr)


def test_bad_input(exported: Path, corpus: Path, tmp_path: Path) -> None:
    with_model = ("--model", exported)
    assert "text: an empty text" in refused(" \t ", *with_model)
    assert "text: an empty text" in refused("", *with_model)
    assert "nowhere.txt: not found" in refused("nowhere.txt", *with_model)
    assert "expected those that the model finds: Drug, Sign" in refused("pain", "--types", "Cell", *with_model)
    assert "not a gridner model" in refused("pain", "--model", corpus)
    assert "expected one of them" in refused("pain", "--input", corpus, *with_model)
    assert "expected --input with a folder" in refused("pain", "--pre-annotate", *with_model)
    assert "it writes into the input" in refused("--input", corpus, "--pre-annotate", "--json", *with_model)
    (tmp_path / "latin.txt").write_bytes("Fi\xe8vre".encode("latin-1"))
    assert "expected UTF-8 text" in refused(tmp_path / "latin.txt", *with_model)
    assert "expected" in refused("-", *with_model, stdin="not json\n")


@pytest.mark.parametrize("text", ["\x00\x07 pain \x1b[31m", "x" * 1_000_000, "\u200b\u202epain\ufeff", "疼痛 🤕 ألم"])
def test_odd_texts_are_survived(exported: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "odd.txt").write_text(text, encoding="utf-8")
    (found,) = lines(gridner("predict", tmp_path / "odd.txt", "--model", exported, "--json"))
    assert found["text"] == text


def test_info_says_what_a_model_is(exported: Path) -> None:
    done = gridner("info", exported, "--json")
    facts = json.loads(done.stdout)
    assert facts["model"]["engine"] == "ONNX Runtime"
    assert [one["name"] for one in facts["model"]["types"]] == ["Drug", "Sign"]
    assert facts["versions"]["gridner"]
    plain = gridner("info", exported)
    assert "types:\n  Drug\n  Sign\n" in plain.stdout
    assert gridner("info").returncode == 0
    assert gridner("info", "nowhere").returncode == 2


def test_when_nothing_is_found_it_says_what_was_looked_for(exported: Path, tmp_path: Path) -> None:
    model = Path(shutil.copytree(exported, tmp_path / "model"))
    (tmp_path / "about.toml").write_text("[types.Sign]\ndescription = 'what a nurse sees'\nexample = 'pain'")
    assert gridner("describe", model, tmp_path / "about.toml").returncode == 0
    nothing = ("predict", "Nothing here.", "--model", model, "--threshold", 1)
    drawn = gridner(*nothing)
    assert drawn.returncode == 0, drawn.stderr
    assert drawn.stderr.splitlines() == [
        "no entities found; gridner looked for",
        "  Drug",
        "  Sign: what a nurse sees, such as “pain”",
    ]
    assert "looked for\n  Drug\n" in gridner(*nothing, "--types", "Drug").stderr
    assert "looked for" not in gridner("predict", "Pain in left arm.", "--model", model).stderr
    (data,) = lines(gridner(*nothing, "--json"))
    looked_for = {"Drug": {"description": "", "example": ""}} | {
        "Sign": {"description": "what a nurse sees", "example": "pain"}
    }
    assert data["meta"] == {"looked_for": looked_for}


def test_a_model_is_described(exported: Path, tmp_path: Path) -> None:
    model = Path(shutil.copytree(exported, tmp_path / "model"))
    form = gridner("describe", model)
    filled = form.stdout.replace('language = ""', 'language = "en"')
    (tmp_path / "about.toml").write_text(filled, encoding="utf-8")
    assert "2 of 2 types described" in gridner("describe", model, tmp_path / "about.toml").stderr
    assert gridner("describe", model).stdout == filled
    assert "language: en" in gridner("info", model).stdout
    (tmp_path / "about.toml").write_text("[types.Cell]")
    done = gridner("describe", model, tmp_path / "about.toml")
    assert done.returncode == 2
    assert "about.toml: type 'Cell', expected those of the model: Drug, Sign" in done.stderr


def test_several_models_are_used_together(exported: Path, tmp_path: Path) -> None:
    other = shutil.copytree(exported, tmp_path / "other")
    (found,) = lines(gridner("predict", "Pain in left arm.", "--model", exported, "--model", other, "--json"))
    entities: Any = found["entities"]
    assert entities
    assert all(entity["meta"] == {"models": [exported.name, "other"]} for entity in entities)
    assert "one of them twice" in refused("Pain.", "--model", exported, "--model", exported)
    assert "expected a folder with gridner.json or an installed model: " in refused("Pain.", "--model", "crafty")


def test_installed_models_are_listed() -> None:
    found = {model["name"]: model for model in json.loads(gridner("models", "--json").stdout)}
    assert [name for name, model in found.items() if model["default"]] == [DEFAULT_MODEL]
    medical = found["medical"]
    assert medical["license"] == "Apache-2.0"
    assert medical["bytes"] > 10**7
    assert medical["test F1"]
    plain = gridner("models").stdout
    assert f"{DEFAULT_MODEL} (default): " in plain
    assert "  Disease: a disease (MONDO), such as “type 2 diabetes”\n" in plain
