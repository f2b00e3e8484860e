"""Where things lie on the page: lanes packed per visual line, labels that never meet, paper, phones, right to left."""

import itertools
import json
import random
from typing import Any

import pytest

from gridner.service.app import Service
from support.browser import sync_api
from support.page import Page, drawn_text, entities, find, named, open_files, opened
from support.serving import quick, running

TEXT = "Pain in left arm and shoulder, swelling of face and lips, itching, burning of eyes and ears; rash. " * 6
GEOMETRY = """() => [...document.querySelectorAll('#blocks .g-bar')].map((bar) => {
  const label = bar.querySelector('.g-label'), range = document.createRange();
  const box = (one) => one.getBoundingClientRect().toJSON();
  range.selectNodeContents(bar.parentElement.firstChild);
  const lane = Number(bar.style.getPropertyValue('--lane'));
  return { key: bar.dataset.key, lane, word: box(range), bar: box(bar), label: label && box(label) };
}).filter(({ bar }) => bar.width)"""  # a space at the end of a line has none


@pytest.fixture
def shown(browser: Any) -> Any:
    """The page of a service that finds only "pain", so that annotations decide what is drawn."""
    with running(Service(recognizer=quick())) as address, opened(browser, address) as page:
        yield page


def annotate(page: Page, text: str, *found: tuple[str, list[list[int]]]) -> None:
    line = {"id": "note", "text": text, "entities": [{"type": type, "fragments": parts} for type, parts in found]}
    open_files(page, named("note.jsonl", json.dumps(line)))
    page.click("[data-view=annotated]")


def scattered(text: str, count: int) -> list[tuple[str, list[list[int]]]]:
    """Entities with and without gaps all over a text, the same each time."""
    chance = random.Random(1)
    words = [(at, at + len(word)) for at, word in _words(text)]
    found: set[tuple[str, tuple[tuple[int, int], ...]]] = set()
    while len(found) < count:
        first = chance.randrange(len(words) - 6)
        chosen = [words[first + by] for by in sorted({0, chance.randrange(1, 3), chance.randrange(3, 6)})]
        type = chance.choice(["Sign", "Drug", "AVeryLongTypeName"])
        found.add((type, tuple(chosen[: chance.randrange(1, 4)])))
    return [(type, [list(pair) for pair in parts]) for type, parts in sorted(found, key=lambda one: one[1])]


def _words(text: str) -> list[tuple[int, str]]:
    found, at = [], 0
    for word in text.split(" "):
        if word:
            found.append((at, word))
        at += len(word) + 1
    return found


def lines_of(geometry: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each visual line and entity its extent, lane and label."""
    found: dict[tuple[int, str], dict[str, Any]] = {}
    for one in geometry:
        place = found.setdefault(
            (round(one["word"]["top"] / 8), one["key"]),
            {"lane": one["lane"], "left": 1e9, "right": -1e9, "label": None, "line": round(one["word"]["top"] / 8)},
        )
        assert place["lane"] == one["lane"]
        place["left"], place["right"] = min(place["left"], one["bar"]["left"]), max(place["right"], one["bar"]["right"])
        place["label"] = one["label"] or place["label"]
    return list(found.values())


def apart(one: dict[str, float], other: dict[str, float]) -> bool:
    return one["right"] <= other["left"] + 0.5 or other["right"] <= one["left"] + 0.5


@pytest.mark.parametrize("width", [1200, 420])
def test_lanes_are_packed_per_line_and_labels_never_meet(shown: Page, width: int) -> None:
    shown.set_viewport_size({"width": width, "height": 900})
    annotate(shown, TEXT, *scattered(TEXT, 40))
    sync_api.expect(shown.locator("#blocks .g-bar").first).to_be_visible()
    geometry = shown.evaluate(GEOMETRY)
    assert len({one["key"] for one in geometry}) == 40
    items = lines_of(geometry)
    for _, some in itertools.groupby(sorted(items, key=lambda one: one["line"]), key=lambda one: one["line"]):
        line = list(some)
        for one, other in itertools.combinations(line, 2):
            if one["lane"] == other["lane"]:
                assert apart(one, other)
                for label, bar in ((one["label"], other), (other["label"], one)):
                    assert label is None or apart(label, bar)
                assert not (one["label"] and other["label"]) or apart(one["label"], other["label"])
        for one in line:
            if all(apart(one, other) for other in line if other is not one):
                assert one["lane"] == 0 or _pushed(one, line)  # only what overlaps lies lower
    tops = sorted({round(one["word"]["top"]) for one in geometry})
    for one in geometry:
        below = next((top for top in tops if top > one["word"]["top"] + 4), 1e9)
        assert one["word"]["bottom"] - 2 <= one["bar"]["top"] < below  # under its word, above the next line
        if one["label"]:
            assert one["label"]["bottom"] <= below
            assert one["label"]["right"] <= width
    assert shown.evaluate("document.documentElement.scrollWidth") <= width


def _pushed(one: dict[str, Any], line: list[dict[str, Any]]) -> bool:
    """Whether in each lane above something, with the least that its label needs, is nearer than a label's gap."""
    return all(
        any(
            other["lane"] == lane
            and other["left"] - 6 < one["right"]
            and one["left"] < max(other["right"], other["left"] + 32) + 6
            for other in line
        )
        or one["right"] - one["left"] < 32
        for lane in range(one["lane"])
    )


def test_hidden_entities_take_no_room(shown: Page) -> None:
    annotate(shown, TEXT, *scattered(TEXT, 40))
    high = shown.locator("#blocks").bounding_box()["height"]
    for button in shown.locator("#legend button").all():
        button.click()
    low = shown.locator("#blocks").bounding_box()["height"]
    assert shown.locator("#blocks .g-bar").count() == 0
    assert low < high / 1.5
    shown.locator("#legend button", has_text="Drug").click()
    assert low < shown.locator("#blocks").bounding_box()["height"] < high


def test_line_breaks_and_indents_of_the_text_stay(shown: Page) -> None:
    text = "HISTORY\r\n\r\n  - pain in arm\n\tand\u202e legs\n\n\nEND"
    open_files(shown, named("note.txt", text))
    assert drawn_text(shown).split("\n") == ["HISTORY", "", "  - pain in arm", "\tand\ufffd legs", "", "", "END"]
    lefts = [
        shown.locator("#blocks .g-block")
        .nth(n)
        .evaluate(
            "(block) => { const range = document.createRange(), node = block.firstChild;"
            " range.setStart(node, node.data.search(/\\S/)); range.setEnd(node, node.length);"
            " return range.getBoundingClientRect().left; }"
        )
        for n in (0, 2)
    ]
    assert lefts[0] < lefts[1]


def test_labels_of_text_from_right_to_left_are_at_their_bar(shown: Page) -> None:
    text = "500 מ״ג אקמול פעמיים ביום בגלל כאב ראש " * 4
    annotate(shown, text, ("Dose", [[0, 7]]), ("Sign", [[31, 38]]), ("Sign", [[31, 34], [70, 77]]))
    assert shown.locator("#blocks .g-block").first.evaluate("(one) => getComputedStyle(one).direction") == "rtl"
    labels = [one for one in shown.evaluate(GEOMETRY) if one["label"]]
    assert len(labels) == 3
    for one in labels:
        assert one["label"]["right"] == pytest.approx(one["bar"]["right"], abs=1)


def test_paper_has_whole_labels_inside_its_edges(shown: Page) -> None:
    annotate(shown, TEXT, *scattered(TEXT, 40))
    shown.emulate_media(media="print")
    shown.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    shown.set_viewport_size({"width": 700, "height": 900})
    assert not shown.locator(".controls").is_visible()
    assert not shown.locator("#input").is_visible()
    for label in shown.locator("#blocks .g-label").all():
        assert label.evaluate("(one) => one.scrollWidth <= one.clientWidth + 1")
        box = label.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 17.5 / 2.54 * 96 + 1
    items = lines_of(shown.evaluate(GEOMETRY))
    for one, other in itertools.combinations((one for one in items if one["label"]), 2):
        if (one["line"], one["lane"]) == (other["line"], other["lane"]):
            assert apart(one["label"], other["label"])
    shown.evaluate("window.dispatchEvent(new Event('afterprint'))")
    shown.emulate_media(media="screen")
    assert shown.locator(".controls").is_visible()


def test_rows_are_cards_on_a_phone(browser: Any, address: str) -> None:
    with opened(browser, address, viewport={"width": 360, "height": 700}) as page:
        find(page)
        row = page.locator("#rows tr").first
        assert row.evaluate("(one) => getComputedStyle(one).display") == "grid"
        boxes = [cell.bounding_box() for cell in row.locator("td").all()]
        assert all(box["x"] >= 0 and box["x"] + box["width"] <= 360 for box in boxes)
        assert entities(page) > 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_packing_uses_few_lanes_and_nothing_in_a_lane_meets(page: Page) -> None:
    chance = random.Random(2)
    for _ in range(20):
        items = [{"left": (left := chance.randrange(200)), "right": left + chance.randrange(1, 60)} for _ in range(15)]
        lanes = page.evaluate(
            "async (items) => { const found = (await import('/page/lanes.js')).packed(items);"
            " return items.map((item) => found.get(item)); }",
            items,
        )
        for (one, lane), (other, same) in itertools.combinations(zip(items, lanes, strict=True), 2):
            assert lane != same or one["right"] < other["left"] or other["right"] < one["left"]
        deepest = max(sum(one["left"] <= at < one["right"] + 5 for one in items) for at in range(270))
        assert max(lanes) + 1 <= deepest
