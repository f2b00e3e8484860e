"""Comparing and reviewing on the page, with the mouse and with the keyboard alone."""

from pathlib import Path
from typing import Any

import pytest

from support.browser import sync_api
from support.page import Page, find, named, open_files, saved, saved_lines, tab_to

TEXT = "😀 Pain in left arm and shoulder. No nausea."


def offsets(part: str) -> list[int]:
    return [TEXT.index(part), TEXT.index(part) + len(part)]


def annotated(page: Page, *entities: tuple[str, list[list[int]]]) -> None:
    """Open the text with annotations beside what is found."""
    lines = [
        f"T{n}\t{type} {';'.join(f'{a} {b}' for a, b in parts)}\t{' '.join(TEXT[a:b] for a, b in parts)}\n"
        for n, (type, parts) in enumerate(entities, start=1)
    ]
    open_files(page, named("note.txt", TEXT), named("note.ann", "".join(lines)))


def reviewing(page: Page) -> None:
    """A review without suggestions, to begin from nothing."""
    find(page, TEXT)
    page.locator("#threshold").fill("1")
    page.click("[data-view=review]")
    sync_api.expect(page.locator(".tally")).to_have_text("0 accepted, 0 rejected, 0 to decide")


def kept(page: Page, folder: Path) -> list[tuple[str, Any]]:
    (item,) = saved_lines(page, folder)
    return [(one["type"], one["fragments"]) for one in item["entities"]]


def select(page: Page, part: str) -> None:
    """Select words with the mouse."""
    start = len(TEXT[: TEXT.index(part)].encode("utf-16-le")) // 2
    first, last = page.evaluate(
        """async (places) => {
            const { nodeAt } = await import('/page/reading.js');
            return places.map((place) => {
                const [node, at] = nodeAt(place), range = document.createRange();
                range.setStart(node, at);
                range.setEnd(node, at + 1);
                return range.getBoundingClientRect().toJSON();
            });
        }""",
        [start, start + len(part) - 1],
    )
    page.mouse.move(first["x"] + 1, first["y"] + first["height"] / 2)
    page.mouse.down()
    page.mouse.move(last["right"] - 1, last["y"] + last["height"] / 2, steps=4)
    page.mouse.up()


def test_what_is_found_is_compared_with_what_is_annotated(page: Page) -> None:
    find(page, TEXT)
    first = page.locator("#rows tr").first.locator("td").all_inner_texts()
    pairs = [[int(place) for place in one.split("–")] for one in first[2].split(", ")]
    annotated(page, (first[0], pairs), ("Mine", [offsets("nausea")]))
    page.click("[data-view=compare]")
    verdicts = page.locator("#rows td[data-name=verdict]").all_inner_texts()
    assert (verdicts.count("right"), verdicts.count("missed")) == (1, 1)
    assert page.inner_text("#comparison").split("\n")[:2] == ["1 right", "1 missed"]
    wrong = verdicts.count("wrong")
    assert f"Precision {100 / (1 + wrong):.1f}, recall 50.0, F1 {200 / (3 + wrong):.1f}" in page.inner_text(
        "#comparison"
    )
    assert page.locator("#blocks .g-bar.g-missed .g-label").inner_text() == "Mine missed"
    assert page.locator("#blocks .g-bar.g-right .g-label").count() == 1
    page.locator("#threshold").fill("1")
    assert page.locator("#rows td[data-name=verdict]").all_inner_texts() == ["missed", "missed"]


def test_suggestions_are_accepted_and_rejected_with_the_mouse(page: Page, tmp_path: Path) -> None:
    find(page, TEXT)
    page.click("[data-view=review]")
    suggested = page.locator("#rows tr").count()
    assert page.inner_text(".tally") == f"0 accepted, 0 rejected, {suggested} to decide"
    rows = page.locator("#rows tr")
    first = [rows.first.locator("td").nth(n).inner_text() for n in (0, 2)]
    rows.first.click()
    page.get_by_role("button", name="Accept", exact=True).click()  # and on to the next
    page.get_by_role("button", name="Reject", exact=True).click()
    assert page.inner_text(".tally") == f"1 accepted, 1 rejected, {suggested - 2} to decide"
    assert rows.nth(1).locator("td").last.inner_text() == "rejected"
    ((type, fragments),) = kept(page, tmp_path)
    assert [type, ", ".join(f"{a}–{b}" for a, b in fragments)] == first
    assert f"{suggested - 2} suggestions to decide and 1 rejected one are not in it" in page.inner_text("#status")
    page.get_by_role("button", name="Undo").click()
    assert page.inner_text(".tally") == f"1 accepted, 0 rejected, {suggested - 1} to decide"
    page.get_by_role("button", name="Accept all shown").click()
    assert len(kept(page, tmp_path)) == suggested


def test_an_entity_with_a_gap_is_made_with_the_mouse(page: Page, tmp_path: Path) -> None:
    reviewing(page)
    select(page, "ain i")  # grows to whole words
    page.get_by_role("button", name="Sign").and_(page.locator("#inspector button")).click()
    assert kept(page, tmp_path) == [("Sign", [[2, 9]])]
    select(page, "shoulder")
    page.get_by_role("button", name="Add to the chosen entity").click()
    assert kept(page, tmp_path) == [("Sign", [[2, 9], offsets("shoulder")])]
    assert page.locator("#blocks .g-gap").count() > 0
    page.locator("#inspector button.type", has_text="Drug").click()
    assert kept(page, tmp_path) == [("Drug", [[2, 9], offsets("shoulder")])]
    select(page, "in le")
    page.get_by_role("button", name="Remove from it").click()
    assert kept(page, tmp_path) == [("Drug", [offsets("Pain"), offsets("shoulder")])]
    assert (tmp_path / saved(page, "brat", tmp_path).name).stat().st_size > 100


def test_all_of_it_goes_with_the_keyboard_alone(page: Page, tmp_path: Path) -> None:
    page.keyboard.press("Tab")
    while page.evaluate("document.activeElement.id") != "text":
        page.keyboard.press("Tab")
    page.keyboard.insert_text(TEXT)
    page.keyboard.press("Control+Enter")
    sync_api.expect(page.locator("#status")).to_contain_text("read in")
    page.evaluate("document.getElementById('h-result').scrollIntoView()")

    tab_to(page, "[data-view=review]")
    page.keyboard.press("Enter")
    tab_to(page, "#threshold")
    page.keyboard.press("End")
    sync_api.expect(page.locator(".tally")).to_have_text("0 accepted, 0 rejected, 0 to decide")
    tab_to(page, "#reading")
    for _ in range(2):  # the emoji is a word too
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    assert page.inner_text("#spoken") == "Pain in"
    page.keyboard.press("2")  # Sign
    for _ in range(9):
        page.keyboard.press("ArrowRight")
        if page.inner_text("#spoken") == "shoulder":
            break
    page.keyboard.press("f")
    assert page.inner_text("#spoken") == "Sign: Pain in … shoulder"
    assert kept(page, tmp_path) == [("Sign", [[2, 9], offsets("shoulder")])]
    page.focus("#reading")
    page.keyboard.press("1")
    assert kept(page, tmp_path)[0][0] == "Drug"
    page.focus("#reading")
    page.keyboard.press("u")
    page.keyboard.press("n")
    page.keyboard.press("Delete")
    assert kept(page, tmp_path) == []
    page.focus("#reading")
    page.keyboard.press("u")
    page.keyboard.press("Escape")
    assert page.locator("#blocks .chosen").count() == 0
    assert kept(page, tmp_path) == [("Sign", [[2, 9], offsets("shoulder")])]


@pytest.mark.parametrize("key", ["a", "r"])
def test_keys_decide_and_go_on_to_the_next_suggestion(page: Page, key: str) -> None:
    find(page, TEXT)
    page.click("[data-view=review]")
    suggested = page.locator("#rows tr").count()
    page.focus("#reading")
    page.keyboard.press("n")
    for _ in range(suggested):
        page.keyboard.press(key)
    accepted = suggested if key == "a" else 0
    assert page.inner_text(".tally") == f"{accepted} accepted, {suggested - accepted} rejected, 0 to decide"
    assert page.inner_text("#spoken").endswith("Nothing is left to decide.")


def test_annotations_are_where_a_review_begins(page: Page, tmp_path: Path) -> None:
    annotated(page, ("Mine", [offsets("nausea")]))
    page.click("[data-view=review]")
    assert page.inner_text(".tally").startswith("1 accepted, 0 rejected, ")
    assert kept(page, tmp_path) == [("Mine", [offsets("nausea")])]
    page.click("[data-view=annotated]")
    assert page.locator("#rows tr").count() == 1


def test_an_entity_lights_up_all_its_pieces(page: Page) -> None:
    find(page)
    parted = page.locator("#rows tr", has_text="…").first
    pieces = parted.locator("td").nth(2).inner_text().count("–")
    parted.hover()
    lit = page.locator("#blocks .g-cell.lit").all_inner_texts()
    assert lit
    assert pieces > 1
    assert page.locator("#blocks .g-bar.lit").count() > len(lit) - 1
    parted.click()
    key = page.locator("#blocks .g-bar.chosen").first.get_attribute("data-key")
    page.locator("#rows tr[aria-current]").focus()
    page.keyboard.press("ArrowDown")
    assert page.locator("#blocks .g-bar.chosen").first.get_attribute("data-key") != key
    page.locator("#blocks .g-bar:not(.g-gap)").first.click()
    chosen = page.locator("#blocks .g-bar.chosen").first.get_attribute("data-key")
    assert page.locator("#rows tr[aria-current]").get_attribute("data-key") == chosen


def test_a_word_under_several_entities_chooses_them_in_turn(page: Page) -> None:
    find(page)
    cell = page.locator("#blocks .g-cell.g-on:has(.g-bar:not(.g-gap) ~ .g-bar:not(.g-gap))").first
    box = cell.bounding_box()
    seen = set()
    for _ in range(2):
        page.mouse.click(box["x"] + 3, box["y"] + 5)
        seen.add(page.locator("#blocks .g-bar.chosen").first.get_attribute("data-key"))
    assert len(seen) == 2


def test_a_review_that_is_not_saved_is_not_lost_by_accident(page: Page, tmp_path: Path) -> None:
    find(page, TEXT)
    page.click("[data-view=review]")
    page.focus("#reading")
    page.keyboard.press("n")
    page.keyboard.press("a")
    asked: list[str] = []

    def refuse(dialog: Any) -> None:
        asked.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", refuse)
    page.click("#clear")
    page.set_input_files("#files", [named("other.txt", "Other.")])
    assert asked == ["Your review is not saved and will be lost. Go on?"] * 2
    assert page.inner_text(".tally").startswith("1 accepted")
    assert len(kept(page, tmp_path)) == 1
    page.click("#clear")  # it is saved by now
    sync_api.expect(page.locator("#result")).not_to_be_visible()
    assert len(asked) == 2


def test_what_nobody_decided_in_documents_that_were_not_opened_is_counted(page: Page, tmp_path: Path) -> None:
    open_files(page, named("a.txt", TEXT), named("b.txt", TEXT))
    page.click("[data-view=review]")
    each = int(page.inner_text(".tally").split()[4])
    assert [one["entities"] for one in saved_lines(page, tmp_path)] == [[], []]
    assert f"{2 * each} suggestions to decide" in page.inner_text("#status")
