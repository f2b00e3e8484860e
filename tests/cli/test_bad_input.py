"""Bad input, through the command line: one clear line, exit code 2, nothing written, nothing overwritten."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from gridner import files
from gridner.cli import main


class Result(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Result]
Files = dict[str, str | bytes]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Run a command in the test's folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Result:
        monkeypatch.setattr(sys, "argv", ["gridner", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main()
        said = capsys.readouterr()
        code = stopped.value.code
        return Result(code if isinstance(code, int) else 0, said.out, said.err)

    return run


def put(folder: Path, content: Files) -> None:
    for name, data in content.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data.encode("utf-8") if isinstance(data, str) else data)


def listing(folder: Path) -> dict[str, bytes | None]:
    """All files and folders, hidden ones too, with what they hold."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")
    }


def check_refuses(run: Run, tmp_path: Path, said: str, *arguments: str) -> None:
    """The command fails with one line that matches, and changes nothing."""
    before = listing(tmp_path)
    result = run(*arguments)
    assert result.code == 2
    assert result.out == ""
    assert len(result.err.splitlines()) == 1, result.err
    assert re.match(f"gridner: {said}", result.err), result.err
    assert listing(tmp_path) == before


def document(document_id: str = "a", text: str = "pain in arm", **more: object) -> str:
    return json.dumps({"id": document_id, "text": text, **more})


RECORD = '{"sentence": ["pain"], "ner": [{"index": [0], "type": "ADR"}]}'
EXTERNAL = (
    '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><annotations><annotation>&x;</annotation></annotations>'
)
LAUGHS = (
    '<!DOCTYPE a [<!ENTITY l0 "lol">'
    + "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    + "]><annotations>&l9;</annotations>"
)

BAD: dict[str, tuple[Files, str]] = {
    "wrong offsets": (
        {"in/d.txt": "pain in arm", "in/d.ann": "T1\tADR 1 5\tpain\n"},
        r"in/d\.ann:1: the text at 1 5 is 'ain ', expected 'pain'",
    ),
    "offsets past the end, brat": (
        {"in/d.txt": "pain", "in/d.ann": "T1\tADR 0 4\tpain\nT2\tADR 2 9\tin arm\n"},
        r"in/d\.ann:2: fragment 2-9 is past the end of the text \(4 characters\)",
    ),
    "offsets past the end, jsonl": (
        {"in.jsonl": document(entities=[{"type": "ADR", "fragments": [[0, 12]]}])},
        r"in\.jsonl:1: document a: ADR 0-12 is past the end of the text \(11 characters\)",
    ),
    "offsets past the end, share": (
        {"in/d.txt": "pain", "in/d.pipe.txt": "d.txt|0-5|C1\n"},
        r"in/d\.pipe\.txt:1: fragment 0-5 is past the end of the text \(4 characters\)",
    ),
    "index past the end, w2ner": (
        {"in.json": '[{"sentence": ["a"], "ner": [{"index": [1], "type": "A"}]}]'},
        r"in\.json: record 1: index 1 is outside a sentence of 1 word",
    ),
    "index past the end, inline": (
        {"in.inline": "a b\n0,2 ADR\n"},
        r"in\.inline:2: '0,2 ADR' is outside a sentence of 2 words",
    ),
    "an .ann without .txt": ({"in/d.ann": "T1\tADR 0 4\tpain\n"}, r"in/d\.ann: no text for it; add in/d\.txt"),
    "annotations without text, share": (
        {"in/d.txt": "pain", "in/x.pipe": "e.txt|0-4|C1\n"},
        r"in/x\.pipe:1: no text for document e; add e\.txt",
    ),
    "text that is not UTF-8": (
        {"in/d.txt": "Körper".encode("latin-1"), "in/d.ann": ""},
        r"in/d\.txt: byte 1 is 0xf6, expected UTF-8 text",
    ),
    "an .ann that is not UTF-8": (
        {"in/d.txt": "pain", "in/d.ann": b"\n\xfe"},
        r"in/d\.ann:2: byte 0 is 0xfe, expected UTF-8 text",
    ),
    "jsonl that is not UTF-8": (
        {"in.jsonl": document().encode() + b"\n\xff"},
        r"in\.jsonl:2: byte 0 is 0xff, expected UTF-8 text",
    ),
    "truncated jsonl": (
        {"in.jsonl": f"{document('a')}\n{document('b')[:-3]}"},
        r"in\.jsonl:2: Unterminated string.*, expected a document in JSON on one line",
    ),
    "truncated w2ner": (
        {"in.json": f"[{RECORD},\n{RECORD[:-9]}"},
        r"in\.json: after record 1: .*, expected a JSON array of records",
    ),
    "deep nesting, jsonl": ({"in.jsonl": "[" * 100_000}, r"in\.jsonl:1: .*, expected a document in JSON on one line"),
    "deep nesting in meta": (
        {"in.jsonl": '{"id": "a", "text": "b", "meta": ' + '{"a":' * 100_000 + "1" + "}" * 100_001},
        r"in\.jsonl:1: .*, expected",
    ),
    "deep nesting, w2ner": ({"in.json": "[" * 100_000}, r"in\.json: after record 0: .*, expected a JSON array"),
    "NaN, jsonl": (
        {"in.jsonl": '{"id": "a", "text": "b", "entities": [{"type": "A", "fragments": [[0, 1]], "score": NaN}]}'},
        r"in\.jsonl:1: .*NaN is not a JSON number.*, expected",
    ),
    "infinity, jsonl": (
        {"in.jsonl": '{"id": "a", "text": "b", "entities": [{"type": "A", "fragments": [[0, 1]], "score": 1e999}]}'},
        r"in\.jsonl:1: entity A: score is inf, expected a finite number",
    ),
    "NaN, w2ner": (
        {"in.json": '[{"sentence": ["a"], "ner": [{"index": [NaN], "type": "A"}]}]'},
        r"in\.json: after record 0: NaN is not a JSON number, expected",
    ),
    "a lone surrogate, jsonl": (
        {"in.jsonl": r'{"id": "a", "text": "x\ud83d"}'},
        r"in\.jsonl:1: document a: character 1 is a lone surrogate, U\+D83D, expected Unicode",
    ),
    "a lone surrogate in meta": (
        {"in.jsonl": r'{"id": "a", "text": "x", "meta": {"\udc00": 1}}'},
        r"in\.jsonl:1: meta: cannot be written as JSON \(.*surrogates not allowed",
    ),
    "a lone surrogate, w2ner": (
        {"in.json": r'[{"sentence": ["x\ud83d"], "ner": []}]'},
        r"in\.json: record 1: document 1: character 1 is a lone surrogate, U\+D83D, expected Unicode",
    ),
    "XML with external entities": (
        {"in/d.txt": "pain", "in/d.xml": EXTERNAL},
        r"in/d\.xml: XML that declares entities \(EntitiesForbidden\)",
    ),
    "XML with a billion laughs": (
        {"in/d.txt": "pain", "in/d.xml": LAUGHS},
        r"in/d\.xml: XML that declares entities \(EntitiesForbidden\)",
    ),
    "XML that is cut": ({"in/d.txt": "pain", "in/d.xml": "<annotations>"}, r"in/d\.xml: not well-formed XML"),
    "duplicate ids": (
        {"in.jsonl": f"{document('a')}\n{document('a', 'other')}\n"},
        r"in\.jsonl:\d: document a appears twice; ids must be unique",
    ),
    "duplicate T": (
        {"in/d.txt": "pain", "in/d.ann": "T1\tADR 0 4\tpain\nT1\tADR 0 3\tpai\n"},
        r"in/d\.ann:2: T1 appears twice; ids must be unique",
    ),
    "an empty document, brat": (
        {"in/d.txt": "", "in/d.ann": ""},
        r"in/d\.txt: an empty document, expected text",
    ),
    "a document of white space, brat": (
        {"in/d.txt": "\ufeff \r\n", "in/d.ann": ""},
        r"in/d\.txt: an empty document, expected text",
    ),
    "an empty document, jsonl": ({"in.jsonl": document(text="")}, r"in\.jsonl:1: an empty document, expected text"),
    "an empty document, share": (
        {"in/d.txt": "", "in/d.pipe.txt": ""},
        r"in/d\.txt: an empty document, expected text",
    ),
    "an empty sentence, w2ner": (
        {"in.json": '[{"sentence": [], "ner": []}]'},
        r"in\.json: record 1: sentence 1: words are \[\], expected at least one",
    ),
    "an empty file, jsonl": ({"in.jsonl": ""}, r"in\.jsonl: no documents"),
    "an empty file, w2ner": ({"in.json": ""}, r"in\.json: no records"),
    "an empty file, inline": ({"in.inline": ""}, r"in\.inline: no documents"),
    "a directory without documents": ({"in/readme.md": "hi"}, r"in: cannot tell its format; name one of brat"),
}


def source_of(content: Files) -> str:
    return next(iter(content)).split("/")[0]


@pytest.mark.parametrize("target", ["out.jsonl", "new/out", "out.json"])
@pytest.mark.parametrize(("content", "said"), BAD.values(), ids=list(BAD))
def test_convert_refuses(run: Run, tmp_path: Path, content: Files, said: str, target: str) -> None:
    put(tmp_path, content)
    check_refuses(run, tmp_path, said, "convert", source_of(content), target)


@pytest.mark.parametrize("command", ["stats", "show", "evaluate", "compare"])
@pytest.mark.parametrize("name", ["offsets past the end, brat", "truncated w2ner", "XML with a billion laughs"])
def test_every_command_refuses(run: Run, tmp_path: Path, command: str, name: str) -> None:
    content, said = BAD[name]
    put(tmp_path, content)
    paths = [source_of(content)] * {"evaluate": 2, "compare": 3}.get(command, 1)
    before = listing(tmp_path)
    result = run(command, *paths)
    assert result.code == 2
    assert re.fullmatch(f"gridner: {said}.*\n", result.err)
    assert listing(tmp_path) == before


def test_python_m_gridner_refuses_without_a_traceback(tmp_path: Path) -> None:
    put(tmp_path, {"in.jsonl": '{"id": "a", '})
    result = subprocess.run(
        [sys.executable, "-m", "gridner", "convert", "in.jsonl", "out.jsonl"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stdout) == (2, "")
    assert re.fullmatch(r"gridner: in\.jsonl:1: .*, expected a document in JSON on one line\n", result.stderr)
    assert list(listing(tmp_path)) == ["in.jsonl"]


@pytest.mark.parametrize("format", ["auto", "brat", "jsonl", "w2ner", "inline", "share"])
def test_an_empty_directory(run: Run, tmp_path: Path, format: str) -> None:
    (tmp_path / "in").mkdir()
    check_refuses(
        run, tmp_path, r"in: .*(no documents|cannot tell)", "convert", "in", "out", "--from", format, "--to", "brat"
    )


@pytest.mark.parametrize("format", ["brat", "jsonl", "w2ner", "inline", "share"])
def test_a_directory_without_documents_of_the_format(run: Run, tmp_path: Path, format: str) -> None:
    put(tmp_path, {"in/readme.md": "hi", "in/.hidden.txt": "x"})
    check_refuses(run, tmp_path, "in: no documents", "convert", "in", "out.jsonl", "--from", format)


@pytest.mark.parametrize("path", ["missing", "missing.jsonl", "there/is/no.ann", "x" * 300])
def test_a_path_that_does_not_exist(run: Run, tmp_path: Path, path: str) -> None:
    check_refuses(run, tmp_path, rf"{path}: (not found|cannot be read)", "convert", path, "out.jsonl")


def test_texts_that_do_not_exist(run: Run, tmp_path: Path) -> None:
    put(tmp_path, {"in/d.ann": ""})
    check_refuses(run, tmp_path, "missing: not found", "convert", "in", "out.jsonl", "--texts", "missing")


@pytest.mark.parametrize("format", ["jsonl", "w2ner"])
def test_a_directory_given_for_a_file_format(run: Run, tmp_path: Path, format: str) -> None:
    put(tmp_path, {"in/d.txt": "pain", "in/d.ann": ""})
    check_refuses(
        run, tmp_path, r"in: no documents, expected files that end in \.json", "convert", "in", "o", "--from", format
    )


@pytest.mark.parametrize(
    ("format", "said"),
    [
        ("brat", r"in\.jsonl: not a brat file, expected a folder, a \.txt or an \.ann file"),
        ("share", r"in\.jsonl:1: no text for document"),
    ],
)
def test_a_file_given_for_a_folder_format(run: Run, tmp_path: Path, format: str, said: str) -> None:
    put(tmp_path, {"in.jsonl": document()})
    check_refuses(run, tmp_path, said, "convert", "in.jsonl", "out", "--from", format)


def test_a_directory_where_a_file_should_be_written(run: Run, tmp_path: Path) -> None:
    put(tmp_path, {"in.jsonl": document(), "out.jsonl/x": "x"})
    for more in ((), ("--force",)):
        check_refuses(
            run, tmp_path, r"out\.jsonl: is a folder, expected a file", "convert", "in.jsonl", "out.jsonl", *more
        )


def test_a_file_where_a_directory_should_be_written(run: Run, tmp_path: Path) -> None:
    put(tmp_path, {"in.jsonl": document(), "out": "x"})
    for more in ((), ("--force",)):
        check_refuses(run, tmp_path, "out: is a file, expected a folder", "convert", "in.jsonl", "out", *more)


@pytest.mark.parametrize("existing", ["out.jsonl", "out/d.txt", "out/other"])
def test_an_output_path_that_exists(run: Run, tmp_path: Path, existing: str) -> None:
    put(tmp_path, {"in.jsonl": document(), existing: "mine"})
    target = existing.split("/")[0]
    check_refuses(run, tmp_path, rf"{target}: exists already; --force", "convert", "in.jsonl", target)


def test_an_output_path_that_exists_is_refused_before_the_input_is_read(run: Run, tmp_path: Path) -> None:
    put(tmp_path, {"in.jsonl": "bad", "out.jsonl": "mine"})
    check_refuses(run, tmp_path, r"out\.jsonl: exists already", "convert", "in.jsonl", "out.jsonl")


def test_an_output_path_under_a_file(run: Run, tmp_path: Path) -> None:
    put(tmp_path, {"in.jsonl": document(), "file": "x"})
    check_refuses(run, tmp_path, "file.*: cannot be written", "convert", "in.jsonl", "file/out.jsonl")


def test_an_output_name_that_is_too_long(run: Run, tmp_path: Path) -> None:
    put(tmp_path, {"in.jsonl": document()})
    check_refuses(
        run,
        tmp_path,
        r"x+\.jsonl: cannot be written \(File name too long\)",
        "convert",
        "in.jsonl",
        f"{'x' * 300}.jsonl",
    )


@pytest.mark.parametrize("target", ["locked/out.jsonl", "locked/out"])
def test_an_unwritable_output_folder(run: Run, tmp_path: Path, target: str) -> None:
    put(tmp_path, {"in.jsonl": document()})
    (tmp_path / "locked").mkdir(mode=0o500)
    if os.access(tmp_path / "locked", os.W_OK):
        pytest.skip("root may write everywhere")
    check_refuses(
        run, tmp_path, r"locked/out.*: cannot be written \(Permission denied\)", "convert", "in.jsonl", target
    )


def test_an_unreadable_file(run: Run, tmp_path: Path) -> None:
    put(tmp_path, {"in/d.txt": "pain", "in/d.ann": "", "in/e.txt": "arm", "in/e.ann": ""})
    (tmp_path / "in" / "d.txt").chmod(0)
    if os.access(tmp_path / "in" / "d.txt", os.R_OK):
        pytest.skip("root may read everything")
    result = run("convert", "in", "out.jsonl")
    assert (result.code, "in/d.txt: cannot be read (Permission denied)" in result.err) == (2, True)
    assert run("convert", "in", "out.jsonl", "--lenient").code == 0


@pytest.mark.parametrize("option", ["--from", "--to"])
def test_an_unknown_format_gets_a_hint(run: Run, tmp_path: Path, option: str) -> None:
    put(tmp_path, {"in.jsonl": document()})
    check_refuses(
        run,
        tmp_path,
        r"format 'jsnol', expected one of brat, .*; did you mean jsonl\?",
        *("convert", "in.jsonl", "out.jsonl", option, "jsnol"),
    )


def test_a_target_whose_name_does_not_tell_the_format(run: Run, tmp_path: Path) -> None:
    put(tmp_path, {"in.jsonl": document()})
    check_refuses(run, tmp_path, r"out\.txt: cannot tell its format; name one of", "convert", "in.jsonl", "out.txt")


def test_ids_that_are_not_found(run: Run, tmp_path: Path) -> None:
    put(tmp_path, {"in.jsonl": document("a"), "ids": "a\nb\nc\n"})
    check_refuses(
        run, tmp_path, r"in\.jsonl: 2 of the ids not found: b, c", "convert", "in.jsonl", "o.jsonl", "--ids", "ids"
    )


@pytest.mark.parametrize(("ids", "said"), [("\n", "ids: no ids"), (b"\xff", "ids:1: byte 0 is 0xff"), (None, "ids: ")])
def test_a_file_of_ids_that_cannot_be_used(run: Run, tmp_path: Path, ids: str | bytes | None, said: str) -> None:
    put(tmp_path, {"in.jsonl": document("a"), **({"ids": ids} if ids is not None else {})})
    check_refuses(run, tmp_path, said, "convert", "in.jsonl", "o.jsonl", "--ids", "ids")


@pytest.mark.parametrize("format", ["brat", "share"])
@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", "..", ".hidden", "a//b", "a\\b", "a/", "x" * 300])
def test_an_id_that_would_leave_the_output_folder(run: Run, tmp_path: Path, name: str, format: str) -> None:
    put(tmp_path, {"work/in.jsonl": f"{document('good')}\n{document(name)}\n"})
    said = r"(document id '.*': expected a file name inside the folder|.*: cannot be written \(File name too long\))"
    check_refuses(run, tmp_path, said, "convert", "work/in.jsonl", "work/out", "--to", format)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"in.jsonl": document(text="x" * 300)}, r"in\.jsonl:1: a line longer than 200 bytes"),
        ({"in.inline": "x " * 200}, r"in\.inline:1: a line longer than 200 bytes"),
        ({"in/d.txt": "x" * 300, "in/d.ann": ""}, r"in/d\.txt: larger than 200 bytes"),
        ({"in/d.txt": "x", "in/d.ann": "#1\tNote T1\t" + "x" * 300}, r"in/d\.ann:1: a line longer than 200 bytes"),
        (
            {"in.json": f'[{RECORD}, {{"sentence": ["{"x" * 300}"]}}]'},
            r"in\.json: after record 1: a record larger than 200",
        ),
        ({"in/d.txt": "x", "in/d.pipe": "d.txt|" + "0" * 300}, r"in/d\.pipe:1: a line longer than 200 bytes"),
        ({"in/d.txt": "x", "in/d.xml": "x" * 300}, r"in/d\.xml: larger than 200 bytes"),
    ],
)
def test_more_than_the_limit(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: Files, said: str
) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 200)
    put(tmp_path, content)
    check_refuses(run, tmp_path, said, "convert", source_of(content), "out.jsonl")


def test_a_line_of_50_mb(run: Run, tmp_path: Path) -> None:
    put(tmp_path, {"in.jsonl": b"x" * 50 * 2**20 + b"\n" + document().encode()})
    check_refuses(
        run, tmp_path, r"in\.jsonl:1: a line longer than 33,554,432 bytes", "convert", "in.jsonl", "out.jsonl"
    )
    result = run("convert", "in.jsonl", "out.jsonl", "--lenient")
    assert (result.code, json.loads((tmp_path / "out.jsonl").read_bytes())["id"]) == (0, "a")


LENIENT: dict[str, tuple[Files, list[str], list[str]]] = {
    "brat": (
        {
            "in/a.txt": "pain in arm",
            "in/a.ann": "T1\tADR 0 4\tpain\nT2\tADR 0 99\tpain\n",
            "in/b.txt": b"\xff",
            "in/b.ann": "",
            "in/c.ann": "",
            "in/d.txt": " ",
            "in/d.ann": "",
            "in/e.txt": "fine",
            "in/e.ann": "",
        },
        ["a", "e"],
        ["in/a.ann:2", "in/b.txt", "in/c.ann", "in/d.txt"],
    ),
    "jsonl": (
        {
            "in.jsonl": "\n".join(
                [document("a"), '{"id": ', document("a"), document("b", ""), document("c"), document()[:9]]
            )
        },
        ["a", "c"],
        ["in.jsonl:2", "in.jsonl:3", "in.jsonl:4", "in.jsonl:6"],
    ),
    "w2ner": (
        {"in.json": f'[{RECORD}, {{"sentence": []}}, {RECORD}, {RECORD}, {RECORD[:-3]}'},
        ["1", "3", "4"],
        ["in.json", "in.json"],
    ),
    "inline": ({"in.inline": "a\n0,0 ADR\n\nb\nc\nd\n\ne\n0,0 ADR\n"}, ["1", "3"], ["in.inline:6"]),
    "share": (
        {
            "in/a.txt": "pain",
            "in/a.pipe": "a.txt|0-4|C1\na.txt|0-9|C1\nz.txt|0-4|C1\n",
            "in/b.txt": "pain",
            "in/b.xml": LAUGHS,
            "in/c.txt": "fine",
        },
        ["a", "c"],
        ["in/a.pipe:3", "in/a.pipe:2", "in/b.xml"],
    ),
}


@pytest.mark.parametrize(("content", "good", "bad"), LENIENT.values(), ids=list(LENIENT))
def test_lenient_keeps_the_good_and_names_the_bad(
    run: Run, tmp_path: Path, content: Files, good: list[str], bad: list[str]
) -> None:
    put(tmp_path, content)
    result = run("convert", source_of(content), "out.jsonl", "--lenient")
    written = [json.loads(line)["id"] for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert (result.code, written) == (0, good)
    lines = result.err.splitlines()
    start = lines.index(f"note: {len(bad)} × bad record skipped")
    assert [line.strip().split(": ")[0] for line in lines[start + 1 : start + 1 + len(bad)]] == bad
    assert not list(tmp_path.glob(".*"))


def test_lenient_says_the_same_in_json(run: Run, tmp_path: Path) -> None:
    put(tmp_path, {"in.jsonl": f"{document()}\nbad\n"})
    result = run("convert", "in.jsonl", "out.jsonl", "--lenient", "--json")
    (note,) = json.loads(result.out)["notes"]
    assert (note["what"], note["count"]) == ("bad record skipped", 1)
    assert note["places"][0].startswith("in.jsonl:2: ")


def test_lenient_with_nothing_good_is_an_error(run: Run, tmp_path: Path) -> None:
    put(tmp_path, {"in.jsonl": "bad\n"})
    said = r"in\.jsonl: no documents \(1 bad record skipped, first in\.jsonl:1: "
    check_refuses(run, tmp_path, said, "convert", "in.jsonl", "out.jsonl", "--lenient")


def test_force_replaces_a_file(run: Run, tmp_path: Path) -> None:
    put(tmp_path, {"in.jsonl": document("new"), "out.jsonl": "old"})
    assert run("convert", "in.jsonl", "out.jsonl", "--force").code == 0
    assert json.loads((tmp_path / "out.jsonl").read_bytes())["id"] == "new"
    assert sorted(listing(tmp_path)) == ["in.jsonl", "out.jsonl"]


def test_force_replaces_files_of_the_same_name_in_a_folder_and_notes_those_that_stay(run: Run, tmp_path: Path) -> None:
    put(tmp_path, {"in.jsonl": document("a"), "out/a.txt": "old", "out/sub/b.txt": "mine"})
    result = run("convert", "in.jsonl", "out", "--to", "brat", "--force")
    assert result.code == 0
    assert listing(tmp_path / "out") | {"annotation.conf": b""} == {
        "a.txt": b"pain in arm",
        "a.ann": b"",
        "annotation.conf": b"",
        "sub": None,
        "sub/b.txt": b"mine",
    }
    assert "note: 1 × file that was there before and stays\n      out/sub/b.txt\n" in result.err
    assert not list(tmp_path.glob(".*"))


def test_force_with_bad_input_replaces_nothing(run: Run, tmp_path: Path) -> None:
    put(tmp_path, {"in.jsonl": f"{document('a')}\nbad\n", "out/a.txt": "old", "out.jsonl": "old"})
    for target in ("out", "out.jsonl"):
        check_refuses(run, tmp_path, r"in\.jsonl:2: ", "convert", "in.jsonl", target, "--force")
