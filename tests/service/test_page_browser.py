"""The page in a real browser: the main path, the slider, the files and the errors."""

import csv
import io
import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gridner.inference.recognizer import Recognizer
from gridner.service.app import Service
from gridner.service.limits import Limits
from gridner.view.draw import colour_of
from support.browser import OPTIONS, sync_api, which
from support.serving import running

TEXT = "Pain in left arm 😢 and shoulder.\nשלום: <b>pain</b> in arm & legs."
CHROMIUM = which()
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium to look at the page with")
Page = Any


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def address(recognizer: Recognizer) -> Iterator[str]:
    with running(Service(recognizer=recognizer, limits=Limits(characters=500))) as at:
        yield at


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Page]:
    context = browser.new_context(accept_downloads=True)
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
    opened = context.new_page()
    said: list[str] = []
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on("console", lambda message: said.append(message.text))
    opened.goto(address)
    yield opened
    assert not [one for one in said if "status of 4" not in one]  # no errors, nothing that the policy had to stop
    context.close()


def find(page: Page, text: str = TEXT) -> None:
    page.fill("#text", text)
    page.keyboard.press("Control+Enter")
    sync_api.expect(page.locator("#status")).to_contain_text("read in")


def entities(page: Page) -> int:
    return int(page.inner_text("#h-result").split(" ")[0].replace(",", ""))


def test_a_text_is_drawn_as_the_library_finds_it(page: Page, recognizer: Recognizer) -> None:
    find(page)
    expected = recognizer(TEXT)
    assert entities(page) == len(expected.entities) > 3
    assert page.locator("#blocks > li").count() == 2
    drawn = page.locator("#blocks .g-block").first.evaluate(
        "(block) => { const copy = block.cloneNode(true);"
        " copy.querySelectorAll('[aria-hidden], .g-said').forEach((one) => one.remove()); return copy.textContent; }"
    )
    assert drawn == TEXT.split("\n")[0]
    assert page.locator("#blocks b").count() == 0
    assert page.locator("#blocks .g-gap").count() > 0
    first = page.locator("#rows tr").first.locator("td").all_inner_texts()
    entity = expected.entities[0]
    assert first[0] == entity.type
    assert first[1] == " … ".join(TEXT[part.start : part.end] for part in entity.fragments)
    assert first[2] == ", ".join(f"{part.start}–{part.end}" for part in entity.fragments)
    assert "Sign" in page.locator(".g-said").first.text_content()  # what is read aloud


def test_the_slider_and_the_types_act_at_once(page: Page) -> None:
    find(page)
    before = entities(page)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.locator("#threshold").fill("0.02")
    more = entities(page)
    assert more > before
    page.locator("#threshold").fill("0.99")
    assert entities(page) < before
    assert page.inner_text("#threshold-said") == "0.99"
    page.locator("#threshold").fill("0.02")
    assert page.locator("#rows tr").count() == min(more, 500)
    assert ("files have them all" in page.inner_text("#more")) == (more > 500)
    page.locator("#legend button", has_text="Drug").click()
    assert page.locator("#legend button", has_text="Drug").get_attribute("aria-pressed") == "false"
    assert 0 < entities(page) < more
    assert set(page.locator("#rows td:first-child").all_inner_texts()) == {"Sign"}
    assert not asked


def test_types_have_their_own_colours(page: Page) -> None:
    find(page)
    buttons = page.locator("#legend button").all()
    for button in buttons:
        colour = button.evaluate("button => button.style.getPropertyValue('--colour')")
        assert colour == f"var(--g{colour_of(button.get_attribute('data-type'))})"
    assert len(buttons) == 2


def test_an_entity_lights_up_all_its_pieces(page: Page) -> None:
    find(page)
    parted = page.locator("#rows tr", has_text="…").first
    pieces = parted.locator("td").nth(2).inner_text().count("–")
    parted.focus()
    lit = page.locator("#blocks .g-cell.lit").all_inner_texts()
    assert lit
    assert pieces > 1
    assert page.locator("#blocks .g-bar.lit").count() > len(lit) - 1
    place = page.locator("#blocks .g-bar.lit").first.get_attribute("data-place")
    page.keyboard.press("ArrowDown")
    assert page.locator("#blocks .g-bar.lit").first.get_attribute("data-place") != place
    page.locator("#text").focus()
    sync_api.expect(page.locator("#blocks .lit")).to_have_count(0)
    page.locator("#blocks .g-bar:not(.g-gap)").first.hover()
    assert page.locator("#blocks .g-cell.lit").count() > 0


def test_the_grid_of_a_sentence_opens(page: Page) -> None:
    find(page)
    page.locator("#blocks details summary").first.click()
    sync_api.expect(page.locator("#blocks .grid-panel")).to_have_count(4)
    assert page.locator(".grid-panel text").first.text_content() == "Pain"
    assert page.locator(".grid-path").count() > 0


@pytest.mark.parametrize("format", ["brat", "jsonl", "csv"])
def test_what_is_shown_can_be_saved(page: Page, format: str, tmp_path: Path) -> None:
    find(page)
    page.locator("#threshold").fill("0.95")
    shown = entities(page)
    with page.expect_download() as waiting:
        page.click(f"[data-format={format}]")
    path = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(path)
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
            assert {"document.ann", "document.txt"} <= set(archive.namelist())
            assert archive.read("document.txt").decode() == TEXT
            assert archive.read("document.ann").decode().count("\n") == shown


def test_files_are_read_and_their_annotations_shown(page: Page) -> None:
    text = "One.\r\nPain in left arm and shoulder."
    files = [
        {"name": "note.txt", "mimeType": "text/plain", "buffer": text.encode()},
        {"name": "note.ann", "mimeType": "", "buffer": b"T1\tMine 6 13;27 35\tPain in shoulder\n"},
    ]
    page.set_input_files("#files", files)
    sync_api.expect(page.locator("#source")).to_be_visible()
    page.click("[data-source=file]")
    assert page.inner_text("#h-result") == "1 entity, 1 of them in pieces"
    assert page.locator("#rows td").all_inner_texts() == ["Mine", "Pain in … shoulder", "6–13, 27–35", ""]
    page.click("[data-source=found]")
    assert entities(page) > 1


def named(name: str, content: str) -> dict[str, Any]:
    return {"name": name, "mimeType": "", "buffer": content.encode()}


def drawn_text(page: Page) -> str:
    """The text that is seen, without labels."""
    parts = page.locator("#blocks .g-block").evaluate_all(
        "(blocks) => blocks.map((block) => { const copy = block.cloneNode(true);"
        " copy.querySelectorAll('[aria-hidden], .g-said').forEach((one) => one.remove()); return copy.textContent; })"
    )
    return " ".join(parts)


def saved(page: Page, format: str, tmp_path: Path) -> str:
    with page.expect_download() as waiting:
        page.click(f"[data-format={format}]")
    waiting.value.save_as(tmp_path / "saved")
    return (tmp_path / "saved").read_text(encoding="utf-8")


@pytest.mark.parametrize("ann", ["T1\tMine 6 99\tPain\n", "T1 nonsense\n"])
def test_annotations_that_do_not_fit_leave_seen_what_is_saved(page: Page, ann: str, tmp_path: Path) -> None:
    find(page, "Pain in arm.")
    page.set_input_files("#files", [named("other.txt", "Nausea and swelling."), named("other.ann", ann)])
    sync_api.expect(page.locator("#error")).to_contain_text("other.ann is not shown.")
    assert drawn_text(page) == "Nausea and swelling."
    assert not page.locator("#source").is_visible()
    assert json.loads(saved(page, "jsonl", tmp_path))["text"] == "Nausea and swelling."
    assert all(row["document"] == "other" for row in csv.DictReader(io.StringIO(saved(page, "csv", tmp_path))))


def test_a_text_that_cannot_be_read_leaves_nothing_of_the_one_before(page: Page) -> None:
    find(page)
    page.fill("#text", "a " * 400)
    page.click("#find")
    sync_api.expect(page.locator("#error")).to_contain_text("expected at most 500")
    assert not page.locator("#result").is_visible()
    assert not page.locator("#listing").is_visible()
    find(page)
    assert page.locator("#listing").is_visible()


def test_files_that_are_not_read_are_named(page: Page) -> None:
    files = [named("one.txt", "Pain in arm."), named("two.txt", "Nausea."), named("two.ann", "T1\tMine 0 6\tNausea\n")]
    page.set_input_files("#files", files)
    sync_api.expect(page.locator("#status")).to_contain_text("read in")
    sync_api.expect(page.locator("#error")).to_contain_text("Not read: two.txt, two.ann.")
    assert drawn_text(page) == "Pain in arm."
    assert not page.locator("#source").is_visible()  # the annotations of another text
    page.set_input_files("#files", [*files[1:], named("three.ann", "")])
    sync_api.expect(page.locator("#error")).to_contain_text("Not read: three.ann.")
    sync_api.expect(page.locator("#source")).to_be_visible()
    assert drawn_text(page) == "Nausea."


def test_annotations_of_a_text_that_was_edited_are_missed_aloud(page: Page) -> None:
    page.set_input_files("#files", [named("note.TXT", "Pain."), named("note.ANN", "T1\tMine 0 4\tPain\n")])
    sync_api.expect(page.locator("#source")).to_be_visible()
    find(page, "Pain in arm.")
    sync_api.expect(page.locator("#error")).to_have_text("The text was edited, so note.ANN is not shown.")
    assert not page.locator("#source").is_visible()


def test_a_copied_table_has_all_that_is_shown_a_row_each(page: Page) -> None:
    find(page, "Pain in left arm and\nshoulder and right legs and knees and ankles or toes.")
    page.locator("#threshold").fill("0.02")
    shown = entities(page)
    assert shown > page.locator("#rows tr").count() == 500
    page.click("#copy")
    sync_api.expect(page.locator("#status")).to_contain_text(f"table is copied: {shown:,} entities")
    head, *rows = page.evaluate("navigator.clipboard.readText()").split("\n")
    assert head == "type\ttext\tfragments\tscore"
    assert len(rows) == shown
    assert {row.count("\t") for row in rows} == {3}
    assert any("and shoulder" in row for row in rows)
    first = page.locator("#rows tr").first.locator("td").all_inner_texts()
    assert rows[0].split("\t") == first


def test_no_text_is_a_formula_to_a_spreadsheet(page: Page, tmp_path: Path) -> None:
    text = "-1+cmd and =sum and +x and @y and plain."
    lines = [
        f"T{number}\tMine {text.index(part)} {text.index(part) + len(part)}\t{part}"
        for number, part in enumerate(("-1+cmd", "=sum", "+x", "@y", "plain"), start=1)
    ]
    page.set_input_files("#files", [named("=note.txt", text), named("=note.ann", "\n".join(lines))])
    page.click("[data-source=file]")
    rows = list(csv.DictReader(io.StringIO(saved(page, "csv", tmp_path))))
    assert [row["text"] for row in rows] == ["'-1+cmd", "'=sum", "'+x", "'@y", "plain"]
    assert {row["document"] for row in rows} == {"'=note"}
    assert json.loads(saved(page, "jsonl", tmp_path))["text"] == text
    page.click("#copy")
    sync_api.expect(page.locator("#status")).to_contain_text("table is copied")
    copied = page.evaluate("navigator.clipboard.readText()").split("\n")[1:]
    assert [row.split("\t")[1] for row in copied] == ["'-1+cmd", "'=sum", "'+x", "'@y", "plain"]


def test_scores_are_rounded_once_and_as_python_does_it(page: Page) -> None:
    scores = (
        [number / 2000 for number in range(2001)] + [number / 64 for number in range(65)] + [0.7449, 0.74951, 0.745]
    )
    assert page.evaluate("(scores) => scores.map(twoDigits)", scores) == [f"{score:.2f}" for score in scores]


def test_the_grid_has_the_scores_of_the_table(page: Page) -> None:
    find(page, "Pain in left arm and shoulder.")
    page.locator("#blocks details summary").first.click()
    sync_api.expect(page.locator("#blocks .grid-panel")).to_have_count(4)
    grid = [button.inner_text() for button in page.locator(".grid-mentions button").all()]
    rows = page.locator("#rows tr").evaluate_all(
        "rows => rows.map((row) => [...row.cells].map((cell) => cell.innerText))"
    )
    assert len(grid) > 5
    assert sorted(grid) == sorted(
        f"{type} {text} {score}".replace("shoulder.", "shoulder .") for type, text, _, score in rows
    )


def test_links_carry_texts(page: Page, address: str) -> None:
    page.get_by_role("link", name="coordination").click()
    sync_api.expect(page.locator("#text")).to_have_value(re.compile("^Loss of rod and cone photoreceptors, "))
    find(page)
    page.click("#share")
    sync_api.expect(page.locator("#status")).to_contain_text("link is copied")
    link = page.evaluate("navigator.clipboard.readText()")
    other = page.context.new_page()
    other.goto(link)
    sync_api.expect(other.locator("#text")).to_have_value(TEXT)
    sync_api.expect(other.locator("#rows tr").first).to_be_visible()
    page.click("#copy")
    sync_api.expect(page.locator("#status")).to_contain_text("table is copied")
    assert "\t" in page.evaluate("navigator.clipboard.readText()")


def test_errors_are_said_where_they_are_seen(page: Page) -> None:
    page.click("#find")
    sync_api.expect(page.locator("#error")).to_have_text("There is no text yet.")
    page.fill("#text", "a " * 400)
    page.click("#find")
    sync_api.expect(page.locator("#error")).to_contain_text("800 characters, expected at most 500")
    page.set_input_files("#files", [{"name": "x.txt", "mimeType": "", "buffer": b"\xff\xfe\x00"}])
    sync_api.expect(page.locator("#error")).to_contain_text("no text in UTF-8")
    page.goto(f"{page.url.split('#')[0]}#text=%E0%A4%A")
    sync_api.expect(page.locator("#error")).to_contain_text("link is broken")
    find(page)
    assert page.inner_text("#error") == ""


def test_a_service_that_wants_a_token_gets_it(browser: Any, recognizer: Recognizer) -> None:
    with running(Service(recognizer=recognizer, token="hush")) as address:
        page = browser.new_page()
        page.goto(address)
        page.fill("#text", TEXT)
        page.click("#find")
        sync_api.expect(page.locator("#error")).to_contain_text("wants its token")
        page.fill("#token", "hush")
        page.keyboard.press("Enter")
        sync_api.expect(page.locator("#status")).to_contain_text("read in")
        page.close()


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (1200, "dark")])
def test_it_fits_a_phone_and_the_dark(browser: Any, address: str, width: int, scheme: str) -> None:
    context = browser.new_context(viewport={"width": width, "height": 700}, color_scheme=scheme)
    page = context.new_page()
    page.goto(address)
    find(page)
    page.locator("#blocks details summary").first.click()
    sync_api.expect(page.locator("#blocks .grid-panel")).to_have_count(4)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    fore, back = (page.evaluate(f"getComputedStyle(document.body).{name}") for name in ("color", "backgroundColor"))
    bright = [sum(map(float, one[4:-1].split(",")[:3])) > 384 for one in (fore, back)]
    assert bright == [scheme == "dark", scheme == "light"]
    context.close()


def test_a_service_that_has_gone_is_said(browser: Any, recognizer: Recognizer) -> None:
    with running(replace(Service(recognizer=recognizer), name="gone")) as address:
        page = browser.new_page()
        page.goto(address)
    page.fill("#text", TEXT)
    page.click("#find")
    sync_api.expect(page.locator("#error")).to_contain_text("does not answer")
    page.close()
