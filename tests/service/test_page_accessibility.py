"""No state of the page violates a rule of axe, contrast included, in light and dark and on a phone."""

from collections.abc import Iterator
from typing import Any

import pytest

from gridner.service.app import Service
from support.accessibility import violations
from support.browser import sync_api
from support.page import Page, find, named, open_files, opened
from support.serving import running, slow

TEXT = "HISTORY\n\n  - Pain in left arm 😢 and shoulder.\n\nשלום: pain in arm & legs."


@pytest.fixture(params=[(1200, "light"), (1200, "dark"), (360, "light")], ids=["light", "dark", "phone"])
def shown(request: pytest.FixtureRequest, browser: Any, address: str) -> Iterator[Page]:
    width, scheme = request.param
    with opened(browser, address, viewport={"width": width, "height": 800}, color_scheme=scheme) as page:
        yield page


def test_no_state_of_one_document_violates_a_rule(shown: Page) -> None:
    page = shown
    assert violations(page) == []  # nothing is pasted yet
    page.click("#find")
    assert violations(page) == []  # an error
    find(page, TEXT)
    assert violations(page) == []
    page.locator("#legend button").first.click()
    page.locator("#rows tr").first.click()
    assert violations(page) == []  # a type is off, an entity is chosen
    page.click("#grid-toggle")
    sync_api.expect(page.locator("#grid .grid-panel")).to_have_count(4)
    page.select_option("#group", "text")
    assert violations(page) == []
    page.click("#unfold")
    page.fill("#text", "Something else.")
    assert violations(page) == []  # stale
    page.locator("#threshold").fill("1")
    assert violations(page) == []  # nothing found


def test_no_state_of_several_documents_violates_a_rule(shown: Page) -> None:
    page = shown
    files = [named(f"{n}.txt", "Pain in left arm and shoulder.") for n in range(3)]
    open_files(
        page, *files, named("0.ann", "T1\tSign 0 4\tPain\n"), named("long.txt", "a " * 400), named("x.pdf", b"\xff")
    )
    page.locator("#skipped summary").click()
    assert violations(page) == []
    for view in ("annotated", "compare", "review"):
        page.click(f"[data-view={view}]")
        assert violations(page) == [], view
    page.locator("#rows tr").first.click()
    assert violations(page) == []
    page.keyboard.press("r")
    page.focus("#reading")
    page.keyboard.press("ArrowRight")
    assert violations(page) == []  # words are selected


def test_reading_violates_no_rule(browser: Any) -> None:
    with running(Service(recognizer=slow())) as address, opened(browser, address) as page:
        page.set_input_files("#files", [named(f"{n}.txt", "No pain.") for n in range(3)])
        sync_api.expect(page.locator("#progress")).to_be_visible()
        assert violations(page) == []
