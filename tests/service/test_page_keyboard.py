"""Whatever the mouse can press, the keyboard can reach, in every state of the page."""

from support.browser import sync_api
from support.page import Page, find, named, open_files, tab_to

# What the mouse can press: elements that show a hand, without those inside or around one that takes the focus.
PRESSABLE = """() => {
  const seen = (e) => e.checkVisibility({visibilityProperty: true}) && e.getClientRects().length > 0;
  const control = 'button, a[href], input, select, textarea, summary, [tabindex]';
  const group = '#rows tr, #document-list button';  // arrow keys go from one to the next
  const hand = (e) => getComputedStyle(e).cursor === 'pointer';
  const found = [...document.body.querySelectorAll('*')].filter((e) => seen(e) && !e.disabled && !e.closest(group));
  const pressed = found.filter((e) => e.matches(control) || (hand(e) && !hand(e.parentElement)));
  return pressed
    .filter((e) => e.matches(control) || !(e.closest(control) || e.querySelector(control) || e.closest('label')))
    .map((e) => e.dataset.probe ??= String(Math.random()));
}"""
NAME = """(probe) => document.querySelector(`[data-probe="${probe}"]`).outerHTML.slice(0, 160)"""


def unreachable(page: Page) -> list[str]:
    """The controls that Tab does not reach. Of a group with arrow keys, Tab reaches one."""
    wanted = set(page.evaluate(PRESSABLE))
    page.evaluate("document.activeElement.blur()")
    for _ in range(len(wanted) + 5):
        page.keyboard.press("Tab")
        wanted.discard(page.evaluate("document.activeElement.dataset.probe ?? ''"))
    return [page.evaluate(NAME, probe) for probe in sorted(wanted)]


def test_arrow_keys_go_through_all_rows(page: Page) -> None:
    find(page)
    rows = page.locator("#rows tr").count()
    tab_to(page, "#rows tr")
    visited = {page.evaluate("document.activeElement.sectionRowIndex")}
    for _ in range(rows - 1):
        page.keyboard.press("ArrowDown")
        visited.add(page.evaluate("document.activeElement.sectionRowIndex"))
    assert visited == set(range(rows))


def test_one_document(page: Page) -> None:
    assert unreachable(page) == []
    find(page)
    assert unreachable(page) == []
    page.click("#grid-toggle")
    sync_api.expect(page.locator("#grid .grid-panel").first).to_be_visible()
    assert unreachable(page) == []


def test_several_documents(page: Page) -> None:
    files = [named(f"{n}.txt", "Pain in left arm and shoulder.") for n in range(3)]
    open_files(page, *files, named("0.ann", "T1\tSign 0 4\tPain\n"))
    for view in ("found", "annotated", "compare", "review"):
        page.click(f"[data-view={view}]")
        assert unreachable(page) == [], view
