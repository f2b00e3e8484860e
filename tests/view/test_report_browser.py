"""The report in a real browser: what is drawn, the filters and the keys."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gridner import Document, write
from gridner.cli import app
from gridner.view.report import Report
from gridner.view.report import page as html_page
from support.browser import OPTIONS, sync_api, which
from support.small import entity

CHROMIUM = which()
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium to look at the page with")


def corpus(folder: Path) -> tuple[Path, Path, Path]:
    """Gold and two systems: A finds what has a gap in the first text, B what has none in the second."""
    first, second = "Pain in left arm and shoulder.", "Rash on hands; no fever, and <b>itching</b> of the skin."
    whole, parted = entity("Sign", (0, 16)), entity("Sign", (0, 7), (21, 29), score=0.9)
    rash, fever = entity("Sign", (0, 13), score=0.8), entity("Fever", (18, 23), score=0.3)
    gold = [Document("one", first, (whole, parted)), Document("two", second, (rash,))]
    a = [Document("one", first, (parted,)), Document("two", second, (fever,))]
    b = [Document("one", first, (whole,)), Document("two", second, (rash,))]
    more = [Document(f"more-{n}", f"Nothing here, number {n}.") for n in range(300)]
    for name, documents in (("gold", gold), ("a", a), ("b", b)):
        write([*documents, *more], folder / f"{name}.jsonl")
    return folder / "gold.jsonl", folder / "a.jsonl", folder / "b.jsonl"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[sync_api.Page]":
    folder = tmp_path_factory.mktemp("report")
    done = CliRunner().invoke(
        app, ["report", *map(str, corpus(folder)), "--output", str(folder / "report.html"), "--rounds", "10"]
    )
    assert done.exit_code == 0, done.output
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        context = browser.new_context(offline=True)
        opened = context.new_page()
        said: list[str] = []
        opened.on("console", lambda message: said.append(message.text))
        opened.on("pageerror", lambda error: said.append(str(error)))
        opened.goto((folder / "report.html").as_uri())
        yield opened
        assert not said  # neither errors nor anything that the policy had to stop
        browser.close()


def opened(page: "sync_api.Page", path: Path, report: Report) -> "sync_api.Page":
    path.write_text(html_page("report", report.data(rounds=5)), encoding="utf-8")
    other = page.context.new_page()
    other.goto(path.as_uri())
    return other


def shown(page: "sync_api.Page") -> int:
    """How many sentences are."""
    return int(page.inner_text("#count").rpartition(" sentence")[0].split()[-1])


@pytest.fixture(autouse=True)
def reset(page: "sync_api.Page") -> None:
    page.click("button[type=reset]")
    sync_api.expect(page.locator("#count")).to_have_text("302 sentences of 302")
    page.evaluate("document.getElementById('list').scrollIntoView()")


def test_scores_and_sentences_are_there(page: "sync_api.Page") -> None:
    assert "discontinuous only" in page.inner_text("#scores")
    assert "95 % bootstrap intervals over sentences, 10 resamples, seed 0" in page.inner_text("#scores")
    assert "overlap: none – – – 0 right 0 missed 0 wrong – – – 0 right 0 missed 0 wrong – 0" in " ".join(
        page.inner_text("#scores").split()
    )
    table = [" ".join(row.split()) for row in page.locator("#scores tbody tr").all_inner_texts()]
    assert table[-2] == "mean of types (macro) 25.0 80.0 +55.0"  # A: Sign 50 and Fever 0; B has Sign alone
    assert table[-1] == "relaxed: a common word 50.0 66.7 57.1 100.0 100.0 100.0 +42.9 3"
    assert (
        page.locator("#scores thead").inner_text().split()
        == "exact match A P A R A F1 A entities B P B R B F1 B entities B − A gold".split()
    )
    assert page.evaluate("[...document.querySelectorAll('.wide')].every((one) => one.scrollWidth <= one.clientWidth)")
    assert page.is_visible("#plots svg")
    first = page.locator("#list li").first
    sync_api.expect(first.locator(".where")).to_have_text("one")
    words = first.locator(".g-block").evaluate(
        "(block) => { const copy = block.cloneNode(true);"
        " copy.querySelectorAll('[aria-hidden]').forEach((one) => one.remove()); return copy.textContent; }"
    )
    assert words == (  # what is read aloud
        "Pain in left arm and shoulder. "
        "(Sign A ✓ 0.90 B missed: Pain in … shoulder; Sign A missed B ✓: Pain in left arm)"
    )
    assert first.locator(".g-gap").count() > 0
    assert first.locator(".missed").count() == 2  # one by either system
    assert page.locator("#list b").count() == 0  # what the text says is text
    solid = first.locator(".g-cell", has_text="shoulder").bounding_box()
    bar = first.locator(".g-cell", has_text="shoulder").locator(".g-bar").first.bounding_box()
    assert bar["y"] > solid["y"]  # below its word, and as wide
    assert abs(bar["width"] - solid["width"]) < 1


def test_filters_choose(page: "sync_api.Page") -> None:
    for value, expected in (
        ("error", 2),
        ("error0", 2),
        ("error1", 1),
        ("missed0", 2),
        ("missed-right0", 0),
        ("missed-wrong0", 2),
        ("wrong0", 1),
        ("wrong-wrong0", 1),
        ("confused0", 0),
        ("a-b", 1),
        ("b-a", 2),
    ):
        page.select_option("#f-error", value)
        assert shown(page) == expected, value
    page.select_option("#f-error", "")
    page.select_option("#f-kind", "discontinuous")
    assert shown(page) == 1
    page.select_option("#f-kind", "")
    page.select_option("#f-type", label="Fever")
    assert shown(page) == 1
    page.fill("#f-search", "left arm")
    assert shown(page) == 0
    page.select_option("#f-type", "")
    assert shown(page) == 1
    for wanted, expected in (("  LEFT   arm ", 1), ("more-29", 11), ("Nothing here", 300)):  # a text or a document
        page.fill("#f-search", wanted)
        assert shown(page) == expected, wanted


def test_what_is_searched_for_is_marked_but_not_the_labels_between(page: "sync_api.Page") -> None:
    marked = "[...CSS.highlights.get('found')].map((r) => r.startContainer.data.slice(r.startOffset, r.endOffset))"
    for wanted, expected in (
        ("  IN   left ", "in left"),
        ("on hands; no f", "on hands; no f"),
        ("<b>itching</b>", "<b>itching</b>"),
        ("number 7.", "number 7."),
        ("(", ""),
        ("", ""),
    ):
        page.fill("#f-search", wanted)
        if expected:
            sync_api.expect(page.locator("#list .where")).to_have_count(1)
        assert "".join(page.evaluate(marked)) == expected, wanted


def test_keys_step_through_what_is_shown(page: "sync_api.Page") -> None:
    page.select_option("#f-error", "error0")
    page.evaluate("document.activeElement.blur()")
    for key, expected in (("j", "one"), ("j", "two"), ("j", "two"), ("k", "one"), ("k", "one")):
        page.keyboard.press(key)
        assert page.inner_text("li.now .where") == expected
    page.keyboard.press("/")
    page.keyboard.type("jk")
    assert page.input_value("#f-search") == "jk"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") != "f-search"
    assert page.input_value("#f-search") == "jk"  # what is shown is still what it says
    page.fill("#f-search", "")
    page.focus("#f-error")
    page.keyboard.press("j")
    assert page.inner_text("li.now .where") == "one"
    assert page.input_value("#f-error") == "error0"  # the key is not for the list of choices


def test_the_filters_do_not_cover_the_sentence_that_a_key_steps_to(page: "sync_api.Page") -> None:
    for width in (1200, 800, 320):
        page.set_viewport_size({"width": width, "height": 700})
        page.evaluate("document.activeElement.blur()")
        page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")  # laid out
        for _ in range(5):
            page.keyboard.press("j")
        page.wait_for_function(
            """() => document.querySelector("li.now").getBoundingClientRect().top
                >= Math.max(0, document.querySelector("#filters").getBoundingClientRect().bottom) - 1"""
        )
    page.set_viewport_size({"width": 1200, "height": 700})


def test_only_what_is_near_the_screen_is_drawn(page: "sync_api.Page") -> None:
    def drawn() -> int:
        return int(page.evaluate("[...document.querySelectorAll('#list li')].filter((one) => one.firstChild).length"))

    sync_api.expect(page.locator("#list li").first.locator(".where")).to_have_count(1)
    assert 2 <= drawn() < 60
    page.locator("#list li").last.scroll_into_view_if_needed()
    sync_api.expect(page.locator("#list li").last.locator(".where")).to_have_count(1)
    sync_api.expect(page.locator("#list li").first.locator(".where")).to_have_count(0)
    assert drawn() < 100


def test_no_label_leaves_the_page(page: "sync_api.Page") -> None:
    for width in (320, 1200):
        page.set_viewport_size({"width": width, "height": 700})
        page.locator("#list li").first.scroll_into_view_if_needed()
        sync_api.expect(page.locator("#list li").first.locator(".g-label").first).to_be_attached()
        ends = page.locator(".g-label").evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().right)")
        assert ends
        assert max(ends) <= width
        assert page.evaluate("document.documentElement.scrollWidth") <= width  # nothing to scroll sideways


def on_paper(page: "sync_api.Page", width: int = 700) -> None:
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.set_viewport_size({"width": width, "height": 900})


def off_paper(page: "sync_api.Page") -> None:
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    page.set_viewport_size({"width": 1200, "height": 700})


def test_a_printed_report_is_whole_and_no_label_is_cut(page: "sync_api.Page") -> None:
    page.select_option("#f-error", "error")
    on_paper(page)
    assert page.locator("#list .where").count() == 2
    assert page.evaluate("[...document.querySelectorAll('.wide > *')].every((one) => one.scrollWidth <= innerWidth)")
    for label in page.locator(".g-label").all():
        assert label.evaluate("(one) => one.scrollWidth <= one.clientWidth + 1 && !one.classList.contains('g-short')")
        assert label.bounding_box()["x"] + label.bounding_box()["width"] <= 700
    off_paper(page)
    page.select_option("#f-error", "")
    page.locator("#list li").last.scroll_into_view_if_needed()
    sync_api.expect(page.locator("#list li").last.locator(".where")).to_have_text("more-299")
    sync_api.expect(page.locator("#list li").first.locator(".where")).to_have_count(0)


def test_printing_many_sentences_asks_first(page: "sync_api.Page") -> None:
    page.evaluate("void (window.print = () => { window.printed = (window.printed ?? 0) + 1; })")
    asked: list[str] = []

    def answer(dialog: "sync_api.Dialog") -> None:
        asked.append(dialog.message)
        if len(asked) == 1:
            dialog.dismiss()
        else:
            dialog.accept()

    page.on("dialog", answer)
    page.click("#print")
    assert page.evaluate("window.printed") is None
    page.keyboard.press("Control+p")
    assert page.evaluate("window.printed") == 1
    assert asked == ["Print 302 sentences? Filters make the list shorter."] * 2
    on_paper(page)  # with the browser's own menu: what is left out is said
    assert page.locator("#list .where").count() == 300
    assert "The first 300 of 302 sentences" in page.inner_text("#left-out")
    off_paper(page)
    page.select_option("#f-error", "error")
    page.click("#print")
    assert page.evaluate("window.printed") == 2
    assert len(asked) == 2
    page.remove_listener("dialog", answer)


def test_counts_lead_to_the_sentences_that_they_count(page: "sync_api.Page") -> None:
    for table in ("#scores", "#errors"):
        for link in page.locator(f"{table} a").all():
            count = int(link.inner_text().split()[0])
            link.click()
            sync_api.expect(page.locator("#count")).to_contain_text(
                f"{count} {'entity' if count == 1 else 'entities'} in "
            )
    page.get_by_role("row", name="Fever").get_by_role("link", name="1 wrong").click()
    for name, value in (
        ("error", "wrong0"),
        ("type", "Fever"),
        ("kind", ""),
    ):  # the browser tells of a new address later
        sync_api.expect(page.locator(f"#f-{name}")).to_have_value(value)
    sync_api.expect(page.locator("#list .where")).to_have_text("two")
    sync_api.expect(page.locator("#count")).to_be_focused()


def test_filters_live_in_the_address(page: "sync_api.Page") -> None:
    page.select_option("#f-error", "missed1")
    page.select_option("#f-kind", "discontinuous")
    page.fill("#f-search", "left arm")
    other = page.context.new_page()
    other.goto(page.url)
    assert [other.input_value(f"#f-{name}") for name in ("error", "type", "kind", "search")] == [
        "missed1",
        "",
        "discontinuous",
        "left arm",
    ]
    assert shown(other) == 1
    other.goto(f"{page.url.partition('#')[0]}#show=nonsense&type=None")
    assert shown(other) == 302
    other.close()


def test_right_missed_and_wrong_differ_in_shape(page: "sync_api.Page") -> None:
    page.select_option("#f-error", "error0")
    shapes = {
        kind: page.locator(f"#list .g-bar.g-{kind}:not(.g-gap)").first.evaluate(
            "(bar) => { const style = getComputedStyle(bar, '::before');"
            " return [style.borderTopWidth !== '0px', style.backgroundImage.includes('gradient')]; }"
        )
        for kind in ("missed", "wrong")
    }
    assert shapes == {"missed": [True, False], "wrong": [False, True]}


def test_the_top_says_what_made_the_report(page: "sync_api.Page") -> None:
    about = page.inner_text("#about")
    assert "302 documents, 302 sentences" in about
    assert "lowest score 0.30" in about
    assert re.search(r"gridner \d+\.\d+", about)
    assert re.search(r"\d{4}-\d\d-\d\d", about)


def test_error_classes_have_an_example_and_intervals_are_drawn(page: "sync_api.Page") -> None:
    row = page.locator("#errors .errors").first.get_by_role("row", name="wrong, and begins or ends elsewhere")
    assert row.locator(".example").inner_text() == "Fever: fever"
    cell = page.locator("#scores tbody tr").first.locator("td").first
    low, high = cell.locator("small").inner_text().split("–")
    style = cell.locator(".range").evaluate("(one) => one.style.insetInline")
    start, end = (float(one.strip(" %")) for one in style.split())
    assert start == pytest.approx(float(low), abs=0.06)
    assert 100 - end == pytest.approx(float(high), abs=0.06)


def test_the_first_column_stays_on_a_phone(page: "sync_api.Page") -> None:
    page.set_viewport_size({"width": 320, "height": 700})
    wide = page.locator("#scores")
    wide.evaluate("(one) => { one.scrollLeft = 200; }")
    head = page.locator("#scores tbody th").first.bounding_box()
    assert head["x"] == pytest.approx(wide.bounding_box()["x"], abs=2)
    page.set_viewport_size({"width": 1200, "height": 700})


def test_curves_have_a_point_for_each_score(page: "sync_api.Page", tmp_path: Path) -> None:
    text = "Pain. Rash. Ache. Itch. Cold. Gout."
    at = [(start, start + 4) for start in range(0, len(text), 6)]
    gold = Document("one", text, tuple(entity("Sign", place) for place in at[::2]))
    for scores, points, drawn in (([1.0] * 6, 1, 2), ([0.0] * 6, 1, 2), ([0.9, 0.8] * 3, 2, 1), ([3.0, 0.5] * 3, 2, 1)):
        answer = Document(
            "one", text, tuple(entity("Sign", place, score=score) for place, score in zip(at, scores, strict=True))
        )
        report = Report(("a",))
        report.add(gold, [answer])
        other = opened(page, tmp_path / "curves.html", report)
        assert other.locator("#plots figure").count() == drawn
        assert other.locator("#plots figure").first.locator("circle").count() == points
        other.close()


def test_curves_say_what_is_not_in_them(page: "sync_api.Page", tmp_path: Path) -> None:
    text = "Pain. Rash. Ache. Itch. Cold. Gout."
    at = [(start, start + 4) for start in range(0, len(text), 6)]
    gold = Document("one", text, tuple(entity("Sign", place) for place in at))
    some = [entity("Sign", place, score=0.9 if n < 2 else None) for n, place in enumerate(at)]
    odd = [entity("Sign", place, score=3.0) for place in at]
    sure = [entity("Sign", place, score=0.9) for place in at]
    report = Report(("a", "b"))
    report.add(gold, [Document("one", text, tuple(some)), Document("one", text, tuple(odd))])
    other = opened(page, tmp_path / "report.html", report)
    assert other.inner_text("#plots .said") == (
        "Of A, 2 of 6 predictions have a score; only these are drawn. "
        "Some scores of B are below 0 or above 1, so what they mean is not drawn. "
        "What a score means is drawn for tenths with at least 5 entities; 2 in others are left out."
    )
    assert other.locator("#plots figure").count() == 1
    other.close()
    report = Report(("a", "b"))
    report.add(gold, [Document("one", text, tuple(odd)), Document("one", text, tuple(sure))])
    other = opened(page, tmp_path / "report.html", report)
    assert other.locator("#plots figure").count() == 2  # what the scores of B mean
    assert "A are below" in other.inner_text("#plots .said")
    other.close()


def test_what_is_found_too_is_not_confused(page: "sync_api.Page", tmp_path: Path) -> None:
    sign, fever = entity("Sign", (0, 4)), entity("Fever", (0, 4))
    report = Report(("a", "b"))
    report.add(
        Document("one", "Pain.", (sign,)), [Document("one", "Pain.", (sign, fever)), Document("one", "Pain.", (fever,))]
    )
    other = opened(page, tmp_path / "report.html", report)
    assert other.inner_text("#confused tbody").split() == "Sign taken for Fever 0 1".split()
    for value, expected in (("confused0", 0), ("confused1", 1)):
        other.select_option("#f-error", value)
        assert shown(other) == expected
    other.close()


def test_text_from_right_to_left_is_laid_out_so_whatever_a_label_says(page: "sync_api.Page", tmp_path: Path) -> None:
    text = "500 מ״ג אקמול " * 12 + "אקמול"
    report = Report(("a",))
    gold = Document("one", text, tuple(entity("Dose", (n * 14, n * 14 + 7)) for n in range(12)), sentences=None)
    report.add(gold, [Document("one", text)])
    other = opened(page, tmp_path / "report.html", report)
    block = other.locator(".g-block").first
    assert block.evaluate("(one) => getComputedStyle(one).direction") == "rtl"
    other.emulate_media(media="print")
    other.set_viewport_size({"width": 700, "height": 900})
    other.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    lefts = other.locator(".g-label").evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().left)")
    assert lefts
    assert min(lefts) >= 0
    other.close()


def test_the_grid_of_a_sentence_opens(page: "sync_api.Page", tmp_path: Path) -> None:
    text = "Pain in left arm and shoulder."
    gold = Document("one", text, (entity("Sign", (0, 16)), entity("Sign", (0, 7), (21, 29))))
    window = {
        "words": ["Pain", "in", "left", "arm", "and", "<b>shoulder</b>", "."],
        "tags": {
            "NNW": [[0, 1, 0.9], [1, 2, 0.8], [2, 3, 0.95], [1, 5, 0.7], [3, 4, 0.1]],
            "PNW": [[1, 0, 0.9], [2, 1, 0.8], [3, 2, 0.95], [5, 1, 0.6]],
            "HTW:Sign": [[0, 3, 0.97], [0, 5, 0.9]],
            "THW:Sign": [[3, 0, 0.97], [5, 0, 0.4]],
        },
        "mentions": [["Sign", [0, 1, 2, 3], 0.8], ["Sign", [0, 1, 5], 0.6]],
    }
    report = Report(("a",))
    report.add(gold, [gold], [[window]])
    (tmp_path / "grid.html").write_text(html_page("grid", report.data(rounds=5)))
    other = page.context.new_page()
    said: list[str] = []
    other.on("console", lambda message: said.append(message.text))
    other.on("pageerror", lambda error: said.append(str(error)))
    other.goto((tmp_path / "grid.html").as_uri())
    other.select_option("#f-error", "")
    other.keyboard.press("Escape")
    other.locator("body").click(position={"x": 2, "y": 2})
    other.keyboard.press("j")
    other.keyboard.press("g")
    sync_api.expect(other.locator(".grid-panel")).to_have_count(4)
    heat = other.locator(".grid-panel").first.locator("rect[fill-opacity]")
    assert heat.count() == 5
    assert other.locator(".grid-whole title").all_text_contents()[3] == "NNW: in → <b>shoulder</b>, 0.70"
    assert other.locator(".grid-whole b").count() == 0
    button = other.get_by_role("button", name="Sign Pain in … <b>shoulder</b> 0.60")
    button.click()
    lit = other.locator(".grid-path.lit")
    sync_api.expect(lit).to_have_count(4)  # in each panel
    assert lit.first.locator("rect").count() == 2  # of NNW: Pain to in, in to shoulder
    assert lit.nth(2).locator("rect").count() == 1  # of HTW: head and tail
    assert not said
    other.close()
