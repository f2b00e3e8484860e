"""No state of a report violates a rule of axe."""

from pathlib import Path
from typing import Any

import pytest

from gridner import Document
from gridner.view.report import Report, page
from support.accessibility import violations
from support.browser import sync_api
from support.small import entity

TEXT = "Pain in left arm and shoulder."


@pytest.mark.parametrize("systems", [1, 2])
@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (1200, "dark"), (360, "light")])
def test_a_report_violates_no_rule(browser: Any, tmp_path: Path, systems: int, width: int, scheme: str) -> None:
    whole, parted = entity("Sign", (0, 16), score=0.7), entity("Sign", (0, 7), (21, 29), score=0.9)
    window = {
        "words": ["Pain", "in", "left", "arm", "and", "shoulder", "."],
        "tags": {"NNW": [[0, 1, 0.9]], "PNW": [[1, 0, 0.9]], "HTW:Sign": [[0, 3, 0.97]], "THW:Sign": [[3, 0, 0.97]]},
        "mentions": [["Sign", [0, 1, 2, 3], 0.8]],
    }
    report = Report(("a", "b")[:systems])
    answers = [Document("one", TEXT, (whole, entity("Drug", (17, 20), score=0.5))), Document("one", TEXT, (parted,))]
    for name in ("one", "two"):
        report.add(Document(name, TEXT, (whole, parted)), answers[:systems], [[window]])
    (tmp_path / "report.html").write_text(page("report", report.data(rounds=5)), encoding="utf-8")
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    shown = context.new_page()
    shown.goto((tmp_path / "report.html").as_uri())
    shown.evaluate("document.getElementById('list').scrollIntoView()")
    sync_api.expect(shown.locator("#list .where").first).to_be_visible()
    assert violations(shown) == []
    shown.locator("body").press("j")
    shown.locator("body").press("g")
    sync_api.expect(shown.locator(".grid-panel")).to_have_count(4)
    assert violations(shown) == []
    context.close()
