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
    wrong = [files[0], {**files[1], "buffer": b"T1\tMine 6 99\tPain\n"}]
    page.set_input_files("#files", wrong)
    sync_api.expect(page.locator("#error")).to_contain_text("past the end of the text")


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
