"""The page in a real browser: a text is read and drawn, filters act at once, errors are said where they are seen."""

from dataclasses import replace
from typing import Any

import pytest

from gridner.inference.recognizer import Recognizer
from gridner.service.app import Service
from gridner.view.draw import colour_of
from support.browser import sync_api
from support.page import TEXT, Page, drawn_text, entities, find, named, open_files, opened
from support.serving import running, slow


def test_a_text_is_drawn_as_the_library_finds_it(page: Page, recognizer: Recognizer) -> None:
    find(page)
    expected = recognizer(TEXT)
    assert entities(page) == len(expected.entities) > 3
    assert drawn_text(page) == TEXT  # with its own line breaks
    assert page.locator("#blocks b").count() == 0
    assert page.locator("#blocks .g-gap").count() > 0
    first = page.locator("#rows tr").first.locator("td").all_inner_texts()
    entity = min(expected.entities, key=lambda one: (one.start, -one.end))
    assert first[0] == entity.type
    assert first[1] == " … ".join(TEXT[part.start : part.end] for part in entity.fragments)
    assert first[2] == ", ".join(f"{part.start}–{part.end}" for part in entity.fragments)
    assert "Sign" in page.locator("#blocks .g-said").first.text_content()  # what is read aloud


def test_before_anything_is_read_the_page_says_what_the_model_finds(page: Page) -> None:
    assert page.locator("#about-model .types strong").all_inner_texts() == ["Drug", "Sign"]
    assert "no scores" in page.inner_text("#about-model")
    assert page.locator("#examples a").count() >= 1
    assert not page.locator("#model-row").is_visible()  # there is no other model
    page.locator("#examples a").first.click()
    sync_api.expect(page.locator("#status")).to_contain_text("read in")
    assert not page.locator("#about").is_visible()


def test_types_have_descriptions_and_models_a_choice_where_the_service_gives_them(browser: Any, address: str) -> None:
    model = {"name": "one", "engine": "e", "names": 0, "threshold": 0.5, "dev_f1": {"all": 81.5}}
    types = [{"name": "Sign", "description": "what hurts", "example": "pain in <b>arm</b>"}, {"name": "Drug"}]
    models = [{**model, "types": types}, {**model, "name": "two", "types": ["Cell"], "dev_f1": {}}]
    context = browser.new_context()
    page = context.new_page()
    page.route("**/v1/models", lambda route: route.fulfill(json={"models": models}))
    page.goto(address)
    sync_api.expect(page.locator("#about-model .meaning")).to_have_text("what hurts, such as pain in <b>arm</b>")
    assert "81.5" in page.inner_text(".quality")
    page.select_option("#model", "two")
    assert page.locator("#about-model .types strong").all_inner_texts() == ["Cell"]
    assert page.locator("#examples a").count() == 3
    context.close()


def test_a_text_without_entities_says_what_the_model_looks_for(page: Page) -> None:
    find(page)
    page.locator("#threshold").fill("1")
    assert page.inner_text("#empty").startswith("Nothing found with a score above 1.00.")
    assert page.locator("#empty .types strong").all_inner_texts() == ["Drug", "Sign"]
    page.click("#empty button")
    assert entities(page) > 0
    assert page.input_value("#threshold") == "0.02"


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
    assert ("files have all" in page.inner_text("#more")) == (more > 500)
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


def test_the_text_folds_when_it_is_read_and_results_go_stale_when_it_is_edited(page: Page) -> None:
    find(page)
    assert not page.locator("#text").is_visible()
    page.click("#unfold")
    assert page.evaluate("document.activeElement.id") == "text"
    page.keyboard.press("Control+End")
    page.keyboard.type(" More pain.")
    sync_api.expect(page.locator("#stale")).to_be_visible()
    page.fill("#text", TEXT)
    sync_api.expect(page.locator("#stale")).not_to_be_visible()
    page.fill("#text", f"{TEXT} More pain.")
    page.click("#again")
    sync_api.expect(page.locator("#stale")).not_to_be_visible()
    sync_api.expect(page.locator("#text")).not_to_be_visible()
    assert drawn_text(page) == f"{TEXT} More pain."


def test_what_is_typed_while_a_text_is_read_stays(browser: Any) -> None:
    reader = slow()
    with running(Service(recognizer=reader)) as address, opened(browser, address) as page:
        page.fill("#text", "No pain.")
        page.keyboard.press("Control+Enter")
        sync_api.expect(page.locator("#progress")).to_be_visible()
        page.keyboard.type(" More.")
        reader.gate.release(1000)
        sync_api.expect(page.locator("#stale")).to_be_visible()
        assert page.input_value("#text") == "No pain. More."
        assert drawn_text(page) == "No pain."


def test_the_grid_is_one_toggle_and_follows_the_chosen_entity(page: Page) -> None:
    find(page, "Pain in arm.\n\nNausea and swelling of legs.")
    assert page.locator(".grid-panel").count() == 0
    page.click("#grid-toggle")
    sync_api.expect(page.locator("#grid .grid-panel")).to_have_count(4)
    assert page.locator(".grid-panel text").first.text_content() == "Pain"
    page.locator("#rows tr", has_text="legs").first.click()
    sync_api.expect(page.locator("#grid q")).to_have_text("Nausea and swelling of legs.")
    assert page.locator(".grid-path").count() > 0
    page.click("#grid-toggle")
    assert not page.locator("#grid").is_visible()


def test_the_grid_has_the_scores_of_the_table(page: Page) -> None:
    find(page, "Pain in left arm and shoulder.")
    page.click("#grid-toggle")
    sync_api.expect(page.locator("#grid .grid-panel")).to_have_count(4)
    grid = [button.inner_text() for button in page.locator(".grid-mentions button").all()]
    rows = page.locator("#rows tr").evaluate_all(
        "rows => rows.map((row) => [...row.cells].map((cell) => cell.innerText))"
    )
    assert len(grid) > 5
    assert sorted(grid) == sorted(
        f"{type} {text} {score}".replace("shoulder.", "shoulder .") for type, text, _, score in rows
    )


def test_scores_are_rounded_once_and_as_python_does_it(page: Page) -> None:
    scores = (
        [number / 2000 for number in range(2001)] + [number / 64 for number in range(65)] + [0.7449, 0.74951, 0.745]
    )
    found = page.evaluate("async (scores) => scores.map((await import('/page/elements.js')).twoDigits)", scores)
    assert found == [f"{score:.2f}" for score in scores]


def test_links_carry_texts(page: Page) -> None:
    page.get_by_role("link", name="reactions").click()
    sync_api.expect(page.locator("#status")).to_contain_text("read in")
    assert drawn_text(page).startswith("Swelling of face and lips")
    find(page)
    page.click("[data-copy=link]")
    sync_api.expect(page.locator("#status")).to_contain_text("link is copied")
    link = page.evaluate("navigator.clipboard.readText()")
    other = page.context.new_page()
    other.goto(link)
    sync_api.expect(other.locator("#rows tr").first).to_be_visible()
    assert drawn_text(other) == TEXT


def test_a_text_that_cannot_be_read_leaves_nothing_of_the_one_before(page: Page) -> None:
    find(page)
    page.click("#unfold")
    page.fill("#text", "a " * 400)
    page.click("#find")
    sync_api.expect(page.locator("#error")).to_contain_text("expected at most 500")
    assert not page.locator("#result").is_visible()
    assert not page.locator("#listing").is_visible()
    find(page)
    assert page.locator("#listing").is_visible()


def test_errors_are_said_where_they_are_seen(page: Page) -> None:
    page.click("#find")
    sync_api.expect(page.locator("#error")).to_have_text("There is no text yet.")
    page.fill("#text", "a " * 400)
    page.click("#find")
    sync_api.expect(page.locator("#error")).to_contain_text("800 characters, expected at most 500")
    page.set_input_files("#files", [named("x.txt", b"\xff\xfe\x00")])
    sync_api.expect(page.locator("#error")).to_contain_text("x.txt (not text in UTF-8)")
    page.goto(f"{page.url.split('#')[0]}#text=%E0%A4%A")
    sync_api.expect(page.locator("#error")).to_contain_text("link is broken")
    find(page)
    assert page.inner_text("#error") == ""


def test_annotations_of_a_text_that_was_edited_are_missed_aloud(page: Page) -> None:
    open_files(page, named("note.TXT", "Pain."), named("note.ANN", "T1\tMine 0 4\tPain\n"))
    sync_api.expect(page.locator("[data-view=annotated]")).to_be_visible()
    page.click("#unfold")
    page.fill("#text", "Pain in arm.")
    page.keyboard.press("Control+Enter")
    sync_api.expect(page.locator("#error")).to_have_text("The text was edited, so note.ANN is not shown.")
    assert not page.locator("[data-view=annotated]").is_visible()


def test_a_service_that_wants_a_token_gets_it(browser: Any, recognizer: Recognizer) -> None:
    with running(Service(recognizer=recognizer, token="hush")) as address:
        page = browser.new_page()
        page.goto(address)
        sync_api.expect(page.locator("#error")).to_contain_text("needs its token")
        page.fill("#text", TEXT)
        page.fill("#token", "hush")
        page.keyboard.press("Enter")
        sync_api.expect(page.locator("#status")).to_contain_text("read in")
        sync_api.expect(page.locator("#about-model .types strong")).to_have_count(2)
        page.close()


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (1200, "dark")])
def test_it_fits_a_phone_and_the_dark(browser: Any, address: str, width: int, scheme: str) -> None:
    context = browser.new_context(viewport={"width": width, "height": 700}, color_scheme=scheme)
    page = context.new_page()
    page.goto(address)
    find(page)
    page.click("#grid-toggle")
    sync_api.expect(page.locator("#grid .grid-panel")).to_have_count(4)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    fore, back = (page.evaluate(f"getComputedStyle(document.body).{name}") for name in ("color", "backgroundColor"))
    bright = [sum(map(float, one[4:-1].split(",")[:3])) > 384 for one in (fore, back)]
    assert bright == [scheme == "dark", scheme == "light"]
    context.close()


def test_a_service_that_has_gone_is_said(browser: Any, recognizer: Recognizer) -> None:
    with running(replace(Service(recognizer=recognizer), name="gone")) as address:
        page = browser.new_page()
        page.goto(address)
        sync_api.expect(page.locator("#about-model .types strong").first).to_be_visible()
    page.fill("#text", TEXT)
    page.click("#find")
    sync_api.expect(page.locator("#error")).to_contain_text("does not answer")
    page.close()
