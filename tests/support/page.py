"""The page of the service in a browser, for its tests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.browser import OPTIONS, sync_api, which

TEXT = "Pain in left arm 😢 and shoulder.\nשלום: <b>pain</b> in arm & legs."
Page = Any


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser."""
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=which(), args=OPTIONS)
        yield opened
        opened.close()


@contextmanager
def opened(browser: Any, address: str, **options: Any) -> Iterator[Page]:
    """The page at an address; at the end there must have been no errors and nothing that the policy had to stop."""
    context = browser.new_context(accept_downloads=True, **options)
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
    page = context.new_page()
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("console", lambda message: said.append(message.text))
    page.goto(address)
    sync_api.expect(page.locator("#about-model .types strong").first).to_be_visible()
    yield page
    assert not [one for one in said if "status of 4" not in one]
    context.close()


def find(page: Page, text: str = TEXT) -> None:
    """Read a text."""
    if page.locator("#unfold").is_visible():
        page.click("#clear")
    page.fill("#text", text)
    page.keyboard.press("Control+Enter")
    sync_api.expect(page.locator("#status")).to_contain_text("read in")


def named(name: str, content: str | bytes) -> dict[str, Any]:
    """A file to open."""
    return {"name": name, "mimeType": "", "buffer": content.encode() if isinstance(content, str) else content}


def open_files(page: Page, *files: dict[str, Any]) -> None:
    """Open files, and wait until they are read."""
    page.set_input_files("#files", list(files))
    sync_api.expect(page.locator("#status")).to_contain_text("read in")


def entities(page: Page) -> int:
    """How many are drawn."""
    return int(page.inner_text("#h-result").split(" ")[0].replace(",", ""))


def drawn_text(page: Page) -> str:
    """The text that is seen, without labels."""
    lines = page.locator("#blocks .g-block").evaluate_all(
        "(blocks) => blocks.map((block) => { const copy = block.cloneNode(true);"
        " copy.querySelectorAll('[aria-hidden], .g-said').forEach((one) => one.remove()); return copy.textContent; })"
    )
    return "\n".join(lines)


def saved(page: Page, format: str, folder: Path) -> Path:
    """Save what is shown, and return where."""
    with page.expect_download() as waiting:
        page.click(f"[data-format={format}]")
    path = folder / str(waiting.value.suggested_filename)
    waiting.value.save_as(path)
    return path


def saved_lines(page: Page, folder: Path) -> list[dict[str, Any]]:
    """Save as JSON lines, and return them."""
    return [json.loads(line) for line in saved(page, "jsonl", folder).read_text(encoding="utf-8").splitlines()]


def copied(page: Page, kind: str) -> str:
    """Copy what is shown."""
    page.click(f"[data-copy={kind}]")
    sync_api.expect(page.locator("#status")).to_contain_text("opied")
    return str(page.evaluate("navigator.clipboard.readText()"))


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until an element has the focus."""
    for _ in range(80):
        if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not reach {selector}")
