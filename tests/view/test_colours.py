"""A type has one colour wherever it is shown, and every colour can be read."""

import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from gridner import Document, load
from gridner.view import terminal
from gridner.view.draw import COLOURS, colour_of
from gridner.view.html import asset
from gridner.view.report import Report, page
from gridner.view.terminal import print_document
from support.browser import OPTIONS, sync_api, which
from support.small import entity

TEXT = "pain in left arm and shoulder"
TOGETHER = [  # types of common corpora
    ("ADR", "Disease", "Drug", "Finding", "Symptom"),
    ("ADR", "Anatomy", "Disorder", "Drug"),
    ("AdverseReaction", "Animal", "DrugClass", "Factor", "Negation", "Severity"),
    ("Condition", "Device", "Drug", "Measurement", "Observation", "Procedure"),
    ("Cell", "CellLine", "Chemical", "Disease", "Gene", "Species", "Variant"),
    ("LOC", "MISC", "ORG", "PER"),
    ("problem", "test", "treatment"),
]
Colour = tuple[float, float, float]


def rgb(code: str) -> Colour:
    """The channels of a colour, linear."""
    code = code if len(code) == 7 else "#" + "".join(2 * digit for digit in code[1:])
    found = [int(code[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in found)
    return red, green, blue


def luminance(colour: Colour) -> float:
    red, green, blue = colour
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """The contrast of WCAG."""
    darker, lighter = sorted(luminance(rgb(colour)) for colour in (one, other))
    return (lighter + 0.05) / (darker + 0.05)


def distance(one: str, other: str) -> float:
    """How different two colours look (in Oklab; 0.02 can just be told apart)."""

    def lab(code: str) -> Colour:
        red, green, blue = rgb(code)
        long, middle, short = (
            (0.4122 * red + 0.5363 * green + 0.0514 * blue) ** (1 / 3),
            (0.2119 * red + 0.6807 * green + 0.1074 * blue) ** (1 / 3),
            (0.0883 * red + 0.2817 * green + 0.6300 * blue) ** (1 / 3),
        )
        return (
            0.2105 * long + 0.7936 * middle - 0.0041 * short,
            1.9780 * long - 2.4286 * middle + 0.4506 * short,
            0.0259 * long + 0.7828 * middle - 0.8087 * short,
        )

    return math.dist(lab(one), lab(other))


def themes() -> list[tuple[list[str], dict[str, str]]]:
    """The colours of types and the other ones, light and dark."""
    pairs = re.findall(r"--g\d+: light-dark\((#\w+), (#\w+)\)", asset("draw.css"))
    others = [dict(re.findall(r"--(\w+): (#\w+)", rule)) for rule in re.findall(r":root \{(.*?)\}", asset("base.css"))]
    return list(zip(map(list, zip(*pairs, strict=True)), others, strict=True))


def test_there_is_a_colour_for_each_number() -> None:
    for colours, _ in themes():
        assert len(colours) == len(set(colours)) == COLOURS
    assert len(terminal.COLOURS) == COLOURS
    assert f"COLOURS = {COLOURS}," in asset("elements.js")


@pytest.mark.parametrize("theme", [0, 1])
def test_every_colour_can_be_read(theme: int) -> None:
    colours, others = themes()[theme]
    backs = [others["back"], others["hover"], *(["#fff"] if theme == 0 else ["#111", "#1e1e1e"])]  # notebooks
    for colour in [*colours, others["good"], others["bad"]]:
        for back in backs:
            assert contrast(colour, back) >= 4.5
    for colour in terminal.COLOURS:
        assert contrast(colour, "#000") >= 4.5
        assert contrast(colour, "#fff") >= 4.5


@pytest.mark.parametrize("theme", [0, 1])
def test_right_and_wrong_look_like_no_type(theme: int) -> None:
    colours, others = themes()[theme]
    for colour in colours:
        assert min(distance(colour, others["good"]), distance(colour, others["bad"])) >= 0.1
    for one, other in combinations(colours, 2):
        assert distance(one, other) >= 0.06


@pytest.mark.parametrize("types", [("BiologicalProcess", "Cell", "Disease"), *TOGETHER])
def test_types_of_one_corpus_have_different_colours(types: tuple[str, ...]) -> None:
    assert len(set(map(colour_of, types))) == len(types)


def test_the_default_model_uses_all_colours_and_those_of_its_main_types_once() -> None:
    uses = Counter(map(colour_of, load(threads=1).types))
    assert len(uses) == COLOURS
    main = [colour_of("AdverseReaction"), colour_of("Condition")]
    assert [uses[colour] for colour in main] == [1, 1]
    for colours, _ in themes():
        assert distance(*(colours[colour] for colour in main)) >= 0.1


@given(st.text(min_size=1), st.lists(st.text(min_size=1)))
def test_a_colour_depends_on_nothing_but_the_type(type: str, others: list[str]) -> None:
    before = colour_of(type)
    for other in others:
        colour_of(other)
    assert colour_of(type) == before
    assert 0 <= before < COLOURS


def test_notebooks_and_the_terminal_have_the_same_colours_whatever_the_order() -> None:
    first, second = entity("Drug", (0, 4)), entity("Disease", (12, 16))
    for entities in ((first, second), (second, first), (second,)):
        document = Document("note", TEXT, entities)
        shown = document._repr_html_()
        console = Console(force_terminal=True, color_system="truecolor", width=80)
        with console.capture() as styled:
            print_document(document, console)
        for one in entities:
            assert f"--g{colour_of(one.type)})" in shown
            red, green, blue = (
                int(terminal.COLOURS[colour_of(one.type)][place : place + 2], 16) for place in (1, 3, 5)
            )
            assert f"38;2;{red};{green};{blue}m" in styled.get()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if which() is None:
        pytest.skip("there is no Chromium to ask")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=which(), args=OPTIONS)
        yield opened
        opened.close()


def test_scripts_agree_with_python(browser: Any) -> None:
    types = ["Drug", "Disease", "Sign or Symptom", "é", "日本語", "😢", *(f"T{number}" for number in range(200))]
    types += [type for group in TOGETHER for type in group]
    shown = browser.new_page()
    module = f"data:text/javascript,{quote(asset('elements.js'))}"
    found = shown.evaluate("async ([at, types]) => types.map((await import(at)).colourOf)", [module, types])
    shown.close()
    assert found == [f"var(--g{colour_of(type)})" for type in types]


def test_a_report_has_the_same_colours_whatever_the_order(browser: Any, tmp_path: Path) -> None:
    first, second = entity("Drug", (0, 4)), entity("Disease", (12, 16))
    for entities in ((first,), (second,), (second, first)):
        document = Document("note", TEXT, entities)
        report = Report(("a",))
        report.add(document, [Document("note", TEXT)])
        (tmp_path / "report.html").write_text(page("report", report.data(rounds=5)), encoding="utf-8")
        shown = browser.new_page()
        shown.goto((tmp_path / "report.html").as_uri())
        bars = shown.locator(".g-bar:has(.g-label)")
        sync_api.expect(bars).to_have_count(len(entities))
        found = {
            bar.locator("bdi").inner_text().split()[0]: bar.evaluate("bar => bar.style.getPropertyValue('--colour')")
            for bar in bars.all()
        }
        shown.close()
        assert found == {one.type: f"var(--g{colour_of(one.type)})" for one in entities}
