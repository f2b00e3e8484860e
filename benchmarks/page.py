"""Measure how long the page of the service takes to draw a document with many entities in Chromium.

    python benchmarks/page.py --entities 2000

The document comes as one paragraph and as a sentence per line, with its entities as annotations; a third of them have
a gap. Two times are printed, in milliseconds: until what is near the screen is drawn, and to draw all of it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

from playwright.sync_api import Page, expect, sync_playwright

from measure import machine, table

NEAR = """async () => {
  const began = performance.now();
  document.querySelector('[data-view=annotated]').click();
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  return performance.now() - began;
}"""
WHOLE = """() => {
  const began = performance.now();
  window.dispatchEvent(new Event('beforeprint')); // draws all paragraphs
  document.body.offsetHeight;
  return performance.now() - began;
}"""


def main() -> None:
    """Print a row for each form of the document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entities", type=int, default=2000)
    count = parser.parse_args().entities
    text = " ".join(f"rod{n} and cone photoreceptors{n} of bipolar cells{n}." for n in range(count // 6 + 2))
    rows = []
    with subprocess.Popen(
        [sys.executable, "-m", "gridner", "serve", "--port", "0", "--threads", "1"], stderr=subprocess.PIPE, text=True
    ) as service:
        assert service.stderr is not None
        address = next(word for word in service.stderr.readline().split() if word.startswith("http"))
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
            )
            for name, content in (("one paragraph", text), ("a sentence per line", text.replace(". ", ".\n"))):
                page = browser.new_page(viewport={"width": 1280, "height": 900})
                page.goto(address)
                rows.append([name, *(f"{value:.0f}" for value in measured(page, content, count))])
                page.close()
            browser.close()
        service.terminate()
    print(machine())
    print(table(["document", "near the screen, ms", "all, ms"], rows))


def measured(page: Page, text: str, count: int) -> tuple[float, float]:
    """The two times for a text with so many entities."""
    line = json.dumps({"id": "note", "text": text, "entities": list(islice(entities(text), count))})
    page.set_input_files("#files", {"name": "note.jsonl", "mimeType": "", "buffer": line.encode()})
    expect(page.locator("#status")).to_contain_text("read in", timeout=600_000)
    return page.evaluate(NEAR), page.evaluate(WHOLE)


def entities(text: str) -> Iterator[dict[str, Any]]:
    """Entities of one word, of two, and of two with a gap, in turn."""
    places, at = [], 0
    for word in text.replace("\n", " ").split(" "):
        places.append([at, at + len(word)])
        at += len(word) + 1
    for number in range(len(places) - 3):
        yield {
            "type": ("Cell", "Disease", "BiologicalProcess")[number % 3],
            "fragments": [
                [places[number]],
                [[places[number][0], places[number + 1][1]]],
                [places[number], places[number + 3]],
            ][number % 3],
        }


if __name__ == "__main__":
    main()
