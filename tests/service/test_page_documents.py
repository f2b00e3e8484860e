"""Several documents on the page: files and folders, progress, the list, batch export, copies."""

import csv
import io
import json
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from gridner.service.app import Service
from support.browser import sync_api
from support.page import (
    TEXT,
    Page,
    copied,
    drawn_text,
    entities,
    find,
    named,
    open_files,
    opened,
    saved,
    saved_lines,
)
from support.serving import running, slow


def test_files_are_read_and_their_annotations_shown(page: Page) -> None:
    text = "One.\r\nPain in left arm and shoulder."
    open_files(page, named("note.txt", text), named("note.ann", "T1\tMine 6 13;27 35\tPain in shoulder\n"))
    page.click("[data-view=annotated]")
    assert page.inner_text("#h-result") == "1 entity, 1 discontinuous"
    assert page.locator("#rows td").all_inner_texts() == ["Mine", "Pain in … shoulder", "6–13, 27–35", ""]
    page.click("[data-view=found]")
    assert entities(page) > 1


def test_several_documents_have_a_list_with_counts(page: Page) -> None:
    lines = json.dumps({"id": "line", "text": "Itching.", "entities": [{"type": "Mine", "fragments": [[0, 7]]}]})
    files = [named(f"{name}.txt", f"{name}: pain in arm.") for name in ("b", "a10", "a2")]
    odd = [named("scan.pdf", b"\xff"), named("c.ann", ""), named("d.txt", " "), named("broken.jsonl", "{}")]
    open_files(page, *files, *odd, named("lines.jsonl", lines))
    assert page.locator("#document-list .name").all_inner_texts() == ["a2", "a10", "b", "line"]
    assert page.locator("#document-list .count").first.inner_text() == f"{entities(page)} entities"
    assert page.locator("#document-list .count").last.inner_text().endswith(", 1 annotated")
    page.locator("#skipped summary").click()
    assert page.locator("#skipped li").all_inner_texts() == [
        'broken.jsonl: line 1 has no "text"',
        "d.txt: empty",
        "scan.pdf: neither .txt nor .jsonl",
        "c.ann: there is no .txt file for it",
    ]
    assert "Not read: broken.jsonl" in page.inner_text("#error")
    page.locator("#document-list button").first.focus()
    for expected in ("a10", "b"):  # with the keyboard
        page.keyboard.press("ArrowDown")
        sync_api.expect(page.locator("#document-list [aria-current] .name")).to_have_text(expected)
        assert drawn_text(page) == f"{expected}: pain in arm."
    sync_api.expect(page.locator("#document-list button:focus .name")).to_have_text("b")


def test_a_folder_is_opened_with_what_is_in_it(page: Page, tmp_path: Path) -> None:
    for name in ("one/note.txt", "two/note.txt"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(f"Pain in {name}.")
    (tmp_path / "one" / "note.ann").write_text("T1\tMine 0 4\tPain\n")
    (tmp_path / "annotation.conf").write_text("[entities]\n")
    page.set_input_files("#folder", str(tmp_path))
    sync_api.expect(page.locator("#status")).to_contain_text("2 documents read in")
    assert page.locator("#document-list .name").all_inner_texts() == ["one/note", "two/note"]
    assert page.locator("#document-list .count").first.inner_text().endswith(", 1 annotated")
    assert "annotation.conf" in page.inner_text("#error")


def test_files_can_be_dropped_on_the_page(page: Page) -> None:
    page.evaluate(
        """() => {
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File(['Pain in arm.'], 'a.txt'));
            dataTransfer.items.add(new File(['Pain in leg.'], 'b.txt'));
            document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true }));
        }"""
    )
    sync_api.expect(page.locator("#status")).to_contain_text("2 documents read in")
    assert page.locator("#document-list .name").all_inner_texts() == ["a", "b"]


def test_all_documents_are_saved_at_once(page: Page, tmp_path: Path) -> None:
    open_files(page, *[named(f"{name}.txt", f"Pain in {name}.") for name in ("arm", "leg")])
    found = saved_lines(page, tmp_path)
    assert [(one["id"], one["text"]) for one in found] == [("arm", "Pain in arm."), ("leg", "Pain in leg.")]
    with zipfile.ZipFile(saved(page, "brat", tmp_path)) as archive:
        assert set(archive.namelist()) == {"arm.txt", "arm.ann", "leg.txt", "leg.ann", "annotation.conf"}
        assert archive.read("arm.ann").decode().count("\n") == len(found[0]["entities"])
    rows = list(csv.DictReader(io.StringIO(saved(page, "csv", tmp_path).read_text())))
    assert len(rows) == sum(len(one["entities"]) for one in found)
    page.uncheck("#all")
    assert [one["id"] for one in saved_lines(page, tmp_path)] == ["arm"]


def test_reading_many_documents_can_be_cancelled(browser: Any) -> None:
    reader = slow()
    with running(Service(recognizer=reader)) as address, opened(browser, address) as page:
        page.set_input_files("#files", [named(f"{n}.txt", "No pain.") for n in range(9)])
        sync_api.expect(page.locator("#progress-said")).to_have_text("0 of 9 documents read")
        for number in range(1, 3):
            reader.gate.release()
            sync_api.expect(page.locator("#progress-said")).not_to_have_text(f"{number - 1} of 9 documents read")
        page.click("#cancel")
        sync_api.expect(page.locator("#status")).to_contain_text("Cancelled: ")
        assert not page.locator("#progress").is_visible()
        told = page.locator("#document-list .count").all_inner_texts()
        read = int(page.inner_text("#status").split()[1])
        assert 0 < read < 9
        assert told.count("cancelled") == 9 - read
        reader.gate.release(1000)
        page.click("#clear")
        find(page, "No pain.")  # it goes on with something else


def test_documents_that_fail_say_why(page: Page) -> None:
    open_files(page, named("a.txt", "Pain."), named("b.txt", "a " * 400))
    sync_api.expect(page.locator("#error")).to_have_text("1 document could not be read; the list says why.")
    assert "expected at most 500" in page.locator("#document-list .bad").inner_text()


@pytest.mark.parametrize("ann", ["T1\tMine 6 99\tPain\n", "T1 nonsense\n"])
def test_annotations_that_do_not_fit_leave_seen_what_is_saved(page: Page, ann: str, tmp_path: Path) -> None:
    find(page, "Pain in arm.")
    open_files(page, named("other.txt", "Nausea and swelling."), named("other.ann", ann))
    sync_api.expect(page.locator("#error")).to_contain_text("other.ann is not shown.")
    assert drawn_text(page) == "Nausea and swelling."
    assert not page.locator("[data-view=annotated]").is_visible()
    assert [one["text"] for one in saved_lines(page, tmp_path)] == ["Nausea and swelling."]


@pytest.mark.parametrize("format", ["brat", "jsonl", "csv"])
def test_what_is_shown_can_be_saved(page: Page, format: str, tmp_path: Path) -> None:
    find(page)
    page.locator("#threshold").fill("0.95")
    shown = entities(page)
    path = saved(page, format, tmp_path)
    lost = f" Note: {shown} x score, not carried by brat." if format == "brat" else ""
    sync_api.expect(page.locator("#status")).to_have_text(f"Saved as {path.name}.{lost}")
    if format == "jsonl":
        item = json.loads(path.read_text())
        assert item["text"] == TEXT
        assert len(item["entities"]) == shown
    elif format == "csv":
        assert len(list(csv.DictReader(io.StringIO(path.read_text())))) == shown
    else:
        with zipfile.ZipFile(path) as archive:
            assert {"text.ann", "text.txt", "annotation.conf"} == set(archive.namelist())
            assert archive.read("text.txt").decode() == TEXT
            assert archive.read("text.ann").decode().count("\n") == shown


def test_a_copied_table_has_all_that_is_shown_a_row_each(page: Page) -> None:
    find(page, "Pain in left arm and\nshoulder and right legs and knees and ankles or toes.")
    page.locator("#threshold").fill("0.02")
    shown = entities(page)
    assert shown > page.locator("#rows tr").count() == 500
    head, *rows = copied(page, "table").split("\n")
    assert head == "type\ttext\tfragments\tscore"
    assert len(rows) == shown
    assert {row.count("\t") for row in rows} == {3}
    assert any("and shoulder" in row for row in rows)
    assert rows[0].split("\t") == page.locator("#rows tr").first.locator("td").all_inner_texts()
    page.click("#more button")
    assert page.locator("#rows tr").count() == shown


def test_what_is_copied_can_be_used_elsewhere(page: Page) -> None:
    text = 'It\'s "pain" in left arm 😢 & $HOME `x`.'
    find(page, text)
    page.locator("#legend button", has_text="Drug").click()
    shown = entities(page)
    assert shown > 0
    assert len(json.loads(copied(page, "json"))["entities"]) == shown
    assert len(list(csv.DictReader(io.StringIO(copied(page, "csv"))))) == shown
    *_, data = shlex.split(copied(page, "curl"))
    asked = json.loads(data)
    assert (asked["text"], asked["types"]) == (text, ["Sign"])
    done = subprocess.run(
        [sys.executable, "-c", copied(page, "python")], capture_output=True, text=True, check=True, encoding="utf-8"
    )
    assert done.stdout.count("'type': 'Sign'") == shown


def test_no_text_is_a_formula_to_a_spreadsheet(page: Page, tmp_path: Path) -> None:
    text = "-1+cmd and =sum and +x and @y and plain."
    lines = [
        f"T{number}\tMine {text.index(part)} {text.index(part) + len(part)}\t{part}"
        for number, part in enumerate(("-1+cmd", "=sum", "+x", "@y", "plain"), start=1)
    ]
    open_files(page, named("=note.txt", text), named("=note.ann", "\n".join(lines)))
    page.click("[data-view=annotated]")
    rows = list(csv.DictReader(io.StringIO(saved(page, "csv", tmp_path).read_text())))
    assert [row["text"] for row in rows] == ["'-1+cmd", "'=sum", "'+x", "'@y", "plain"]
    assert {row["document"] for row in rows} == {"'=note"}
    for kind in ("table", "csv"):
        copy = [row.split("\t" if kind == "table" else ",")[1] for row in copied(page, kind).split("\n")[1:]]
        assert copy == ["'-1+cmd", "'=sum", "'+x", "'@y", "plain"]


def test_the_table_sorts_and_groups(page: Page) -> None:
    find(page)

    def column(number: int) -> list[str]:
        return list(page.locator(f"#rows td:nth-child({number})").all_inner_texts())

    page.click("[data-sort=score]")
    assert column(4) == sorted(column(4), reverse=True)
    assert page.locator("th[aria-sort=descending]").inner_text().startswith("score")
    page.keyboard.press("Enter")  # the button has the focus
    assert column(4) == sorted(column(4))
    page.select_option("#group", "type")
    heads = [head.split() for head in page.locator("#rows .group").all_inner_texts()]
    assert [(name, int(count)) for name, count in heads] == sorted(
        ((name, column(1).count(name)) for name in set(column(1))), key=lambda pair: (-pair[1], pair[0])
    )
