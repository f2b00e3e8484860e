"""Drawings in HTML, and the report's page."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gridner import Document, Entity, Fragment
from gridner.errors import UsageError
from gridner.scoring.matching import ComparedEntity
from gridner.text.alignment import sentences_of
from gridner.view.cells import cells
from gridner.view.html import hidden_block, script
from gridner.view.report import Report, _entities, page
from gridner.view.report_file import distinct_names, write_report
from support.command import gridner
from support.small import documents, entity

TEXT = "pain in left arm and shoulder"


class Reader(HTMLParser):
    """What a browser would make of a page: the text that is shown, and every tag."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text, self.tags, self.attributes = "", [], []  # type: ignore[var-annotated]
        self.style = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self.style = tag in ("style", "script")

    def handle_endtag(self, tag: str) -> None:
        self.style = False

    def handle_data(self, data: str) -> None:
        if not self.style:
            self.text += data


@st.composite
def blocks(draw: st.DrawFn) -> tuple[str, list[Entity]]:
    text = draw(st.text(alphabet="ab \n😀ש", min_size=1, max_size=30))
    found = []
    for _ in range(draw(st.integers(0, 4))):
        cuts = sorted(draw(st.sets(st.integers(0, len(text)), min_size=2, max_size=6)))
        pairs = [Fragment(a, b) for a, b in zip(cuts[::2], cuts[1::2], strict=False)]
        found.append(Entity("T", tuple(pairs)))
    return text, found


@given(blocks())
def test_cells_make_up_the_text_and_bars_the_entities(block: tuple[str, list[Entity]]) -> None:
    text, entities = block
    drawn = list(cells(text, Fragment(0, len(text)), entities))
    assert "".join(cell.text for cell in drawn) == text.replace("\n", " ")
    place = 0
    solid: dict[int, set[int]] = {number: set() for number in range(len(entities))}
    under: dict[int, set[int]] = {number: set() for number in range(len(entities))}
    for cell in drawn:
        here = range(place, place + len(cell.text))
        assert len({bar.lane for bar in cell.bars}) == len(cell.bars)  # one lane an entity
        for bar in cell.bars:
            under[bar.entity] |= set(here)
            solid[bar.entity] |= set(here) if bar.solid else set()
            assert bar.first == (here.start == entities[bar.entity].start)
            assert bar.last == (here.stop == entities[bar.entity].end)
        place = here.stop
    for number, one in enumerate(entities):
        assert solid[number] == {at for part in one.fragments for at in range(part.start, part.end)}
        assert under[number] == set(range(one.start, one.end))


@given(blocks())
def test_hidden_words_keep_the_shape_of_the_entities(block: tuple[str, list[Entity]]) -> None:
    text, entities = block
    shown, fragments = hidden_block(text, Fragment(0, len(text)), entities, "•••")
    assert set(shown) <= {"•", " "}
    for one, hidden in zip(entities, fragments, strict=True):
        assert 1 <= len(hidden) <= len(one.fragments)
        for part in hidden:
            assert shown[part.start : part.end]


def test_modules_become_one_script_without_imports() -> None:
    joined = script(("elements.js", "draw.js"))
    assert "const make =" in joined
    assert not re.search(r"^\s*(import|export)\b", joined, re.MULTILINE)


def test_a_notebook_shows_a_document() -> None:
    document = Document("note", TEXT, (entity("Sign", (0, 16)), entity("Sign", (0, 7), (21, 29), score=0.93)))
    shown = Reader(document._repr_html_())
    assert "Sign 0.93" in shown.text
    drawn, _, said = shown.text.partition(" (")
    assert drawn.replace("Sign 0.93", "").replace("Sign", "") == f"note{TEXT}"
    assert said == "Sign 0.93: pain in … shoulder; Sign: pain in left arm)"  # for those who hear it
    assert ("class", "g-bar g-gap") in shown.attributes
    assert not {"script", "img", "link", "iframe"} & set(shown.tags)


def test_a_notebook_shows_the_text_of_a_document_without_entities() -> None:
    shown = Reader(Document("note", f"{TEXT}. <b>Nothing</b> else.")._repr_html_()).text
    assert f"{TEXT}." in shown
    assert "<b>Nothing</b> else." in shown


def test_nothing_in_a_text_becomes_markup() -> None:
    odd = "<script>alert(\"1\")</script> & 'x' </style>"
    document = Document('<b id="x">', odd, (entity('T"><img src=x>', (0, 8), (10, 15), score=0.5),))
    shown = Reader(document._repr_html_())
    assert odd in shown.text.replace('T"><img src=x> 0.50', "")
    assert set(shown.tags) == {"div", "style", "span", "bdi"}
    report = Report(("</script><b>",))
    report.add(document, [document])
    whole = page("</title><i>", report.data(rounds=20))
    tags = set(Reader(whole).tags)
    assert not tags & {"b", "i", "img"}
    assert whole.count("</script>") == 2
    assert data_of(whole)["types"] == ['T"><img src=x>']


def data_of(whole: str) -> dict[str, Any]:
    found = re.search(r'id="data">(.*?)</script>', whole, re.DOTALL)
    assert found
    return json.loads(found[1])  # type: ignore[no-any-return]


def test_a_report_has_what_is_right_missed_and_wrong() -> None:
    gold = Document("d", TEXT, (entity("Sign", (0, 16)), entity("Sign", (0, 7), (21, 29))))
    first = Document("d", TEXT, (entity("Sign", (0, 16), score=0.9), entity("Sign", (21, 29), score=0.4)))
    second = Document("d", TEXT, (entity("Sign", (0, 7), (21, 29)),))
    report = Report(("a", "b"))
    report.add(gold, [first, second])
    (sentence,) = report.sentences
    assert sentence["s"] == TEXT
    assert [one["f"] for one in sentence["e"]] == [[[0, 7], [21, 29]], [[0, 16]], [[21, 29]]]
    by_extent = [(one["h"], one.get("g"), one.get("o"), one.get("s"), one["x"]) for one in sentence["e"]]
    assert by_extent == [
        (1 | 4, 1, "left", None, [0, 1]),  # pain in … shoulder: B alone has it
        (1 | 2, None, "overlapped", [0.9, None], [1, 0]),
        (2, None, None, [0.4, None], [0, 0]),  # shoulder: A is wrong
    ]
    assert [one.score().tp for one in report.evaluations] == [1, 1]


def test_a_wrong_entity_has_the_overlap_that_it_has_in_each_system() -> None:
    wrong = entity("Sign", (0, 4), (21, 29))
    gold = Document("d", TEXT, ())
    report = Report(("a", "b"))
    report.add(gold, [Document("d", TEXT, (wrong, entity("Sign", (0, 7)))), Document("d", TEXT, (wrong,))])
    found = {one["h"]: one.get("o") for one in report.sentences[0]["e"]}
    assert found == {2 | 4: ["left", "none"], 2: ["overlapped", None]}
    for number, overlap in enumerate(("left", "none")):
        assert report.evaluations[number].score(f"overlap:{overlap}").fp == 1


def test_types_that_only_the_grid_has_are_known() -> None:
    report = Report(("a",))
    document = Document("d", TEXT)
    report.add(document, [document], [[{"words": TEXT.split(), "tags": {"NNW": [], "HTW:Sign": []}, "mentions": []}]])
    assert list(report.types) == ["Sign"]


def test_a_name_that_is_not_utf_8_is_shown_as_well_as_can_be(tmp_path: Path) -> None:
    write_report(tmp_path / "p.html", documents(), {"s\udcff.jsonl": documents()}, title="t\udcff", rounds=2)
    whole = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert "<title>t?</title>" in whole
    assert data_of(whole)["systems"] == ["s?.jsonl"]


def test_entities_that_differ_in_their_middle_alone_come_in_a_fixed_order() -> None:
    parts = [(Fragment(0, 4), Fragment(start, start + 1), Fragment(23, 24)) for start in range(5, 22)]
    items = [ComparedEntity("Sign", fragments, (), 0) for fragments in parts]
    assert [item.fragments for item in _entities([items, []], [{}])] == parts


def test_a_report_of_two_systems_says_whether_they_differ() -> None:
    texts = [f"Pain in arm {number}." for number in range(8)]
    report = Report(("a", "b"))
    for text in texts:
        gold = Document(text, text, (entity("Sign", (0, 4)),))
        report.add(gold, [replace(gold, entities=()), gold])
    found = report.data(rounds=5)["differences"]
    assert set(found) == set(report.evaluations[0].slices)
    difference, p = found["all"]
    assert difference == 1
    assert p == pytest.approx(2 / 2**8, abs=0.005)
    assert found["discontinuous"] == [0, 1]
    alone = Report(("a",))
    assert alone.data()["differences"] == {}


@pytest.mark.parametrize(
    ("a", "b", "names"),
    [
        ("runs/toe/dev.jsonl", "runs/w2ner/dev.jsonl", ["toe", "w2ner"]),
        ("toe.jsonl", "other/w2ner.jsonl", ["toe.jsonl", "w2ner.jsonl"]),
        ("dev.jsonl", "mine/dev.jsonl", ["dev.jsonl", "mine/dev.jsonl"]),
        ("a/seed-1/dev.jsonl", "b/c/seed-1/dev.jsonl", ["a", "b/c"]),
    ],
)
def test_two_systems_are_named_by_what_differs(a: str, b: str, names: list[str]) -> None:
    assert distinct_names(Path(a), Path(b)) == names


def test_a_system_is_not_compared_with_itself(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the same as the other predictions"):
        distinct_names(tmp_path / "a", tmp_path / "b" / ".." / "a")


def test_evaluate_writes_the_report_too(tmp_path: Path) -> None:
    from gridner import write

    write(documents(), tmp_path / "gold")
    page = tmp_path / "page.html"
    call = ("evaluate", str(tmp_path / "gold"), str(tmp_path / "gold"), "--rounds", "5", "--report", str(page))
    done = gridner(*call)
    assert done.returncode == 0, done.stderr
    assert len(data_of(page.read_text())["sentences"]) == 7
    assert gridner(*call, "--no-text", "--force").returncode == 0
    shared = data_of(page.read_text())
    assert not shared["text"]
    assert not any(letter.isalpha() for one in shared["sentences"] for letter in one["s"])
    assert gridner(*call[:-2], "--no-text").returncode == 2
    page.write_text("mine")
    assert gridner(*call).returncode == 2
    assert page.read_text() == "mine"


def test_a_report_has_the_types_that_are_confused() -> None:
    gold = Document("d", TEXT, (entity("Sign", (0, 7), (21, 29)), entity("Part", (12, 16))))
    answer = Document("d", TEXT, (entity("Part", (0, 7), (21, 29)), entity("Part", (12, 16)), entity("Sign", (0, 4))))
    report = Report(("a",))
    report.add(gold, [answer])
    types = list(report.types)
    wrong = {
        types[one["t"]]: [types[of] for of, _ in one.get("c", [])] for one in report.sentences[0]["e"] if one["h"] == 2
    }
    assert wrong == {"Part": ["Sign"], "Sign": []}


def test_twice_the_wrong_entities_cost_a_report_twice_as_many_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0
    equal = Fragment.__eq__

    def counting(one: Fragment, other: object) -> bool:
        nonlocal compared
        compared += 1
        return equal(one, other)

    monkeypatch.setattr(Fragment, "__eq__", counting)
    comparisons = []
    for count in (100, 200):
        compared = 0
        text = "pain in " * count
        gold = Document("d", text, tuple(entity("Sign", (8 * n, 8 * n + 4)) for n in range(count)))
        answer = Document("d", text, tuple(entity("Part", (8 * n, 8 * n + 7)) for n in range(count)))
        Report(("a",)).add(gold, [answer])
        comparisons.append(compared)
    assert comparisons[1] <= 3 * comparisons[0]


def test_the_score_of_what_is_predicted_twice_is_the_highest_in_any_order() -> None:
    twice = (entity("Sign", (0, 16), score=0.9), entity("Sign", (0, 16), score=0.1))
    for some in (twice, twice[::-1]):
        report = Report(("a",))
        report.add(Document("d", TEXT), [Document("d", TEXT, some)])
        assert [one["s"] for one in report.sentences[0]["e"]] == [[0.9]]


@given(st.floats(0, 1))
@example(0.745004)
@example(0.74499)
def test_a_score_is_shown_with_the_digits_of_the_score_itself(score: float) -> None:
    report = Report(("a",))
    report.add(Document("d", TEXT), [Document("d", TEXT, (entity("Sign", (0, 16), score=score),))])
    ((shown,),) = (one["s"] for one in report.sentences[0]["e"])
    assert f"{shown:.2f}" == f"{score:.2f}"
    assert shown == pytest.approx(score, abs=1e-4)


def test_a_document_without_sentences_is_drawn_as_it_is_scored() -> None:
    gold = Document("d", TEXT, (entity("Sign", (0, 16)),), sentences=())
    report = Report(("a",))
    report.add(gold, [replace(gold, entities=())])
    assert [one["s"] for one in report.sentences] == [TEXT]
    assert [one["h"] for one in report.sentences[0]["e"]] == [1]
    assert report.evaluations[0].score().fn == 1
    empty = Report(("a",))
    empty.add(Document("d", ""), [Document("d", "")])
    assert empty.sentences == []


def test_white_space_does_not_tell_how_long_hidden_words_are() -> None:
    columns = "Name:      Jo      BP\nName:      Barbara BP"
    report = Report(("a",), with_text=False)
    report.add(Document("d", columns, (entity("Sign", (19, 21)),)), [Document("d", columns)])
    said = "".join(one["s"] for one in report.sentences)
    assert set(said.replace("•••", "")) == {" "}
    assert "  " not in said


def test_a_report_without_text_has_none() -> None:
    given = documents()
    report = Report(("A",), with_text=False)
    for document in given:
        seen = [
            [{"words": [word.text for word in sentence.words], "tags": {"NNW": [[0, 1, 0.9]]}, "mentions": []}]
            for sentence in sentences_of(document)
        ]
        report.add(document, [document], seen)
    whole = page("report", report.data(rounds=20))
    data = data_of(whole)
    said = json.dumps(
        [data["documents"], data["systems"], [(one["s"], one["n"]) for one in data["sentences"]]], ensure_ascii=False
    )
    assert "•••" in said
    for document in given:
        assert document.id not in said
        for word in document.text.split():
            if len(word) > 4 and word.isalpha():
                assert word not in said


def test_the_command_writes_one_file_that_fetches_nothing(tmp_path: Path) -> None:
    from gridner import write

    write(documents(), tmp_path / "gold")
    write(documents(), tmp_path / "found.jsonl")
    options = ("report", tmp_path / "gold", tmp_path / "found.jsonl", "--pred-format", "jsonl", "--format", "brat")
    done = gridner(*options, "--output", tmp_path / "report.html")
    assert done.returncode == 0, done.stderr
    whole = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"""(src|href|url)\s*[=(]\s*["']?(https?:)?//""", whole)
    assert "default-src &#x27;none&#x27;" in whole
    assert len(data_of(whole)["sentences"]) > 5
    assert gridner(*options, "--no-text", "--title", "", "--output", tmp_path / "shared.html").returncode == 0
    assert "<title>A gridner report</title>" in (tmp_path / "shared.html").read_text(encoding="utf-8")
    again = gridner(*options, "--output", tmp_path / "report.html")
    assert again.returncode == 2
    assert "exists already" in again.stderr


def test_predictions_of_another_corpus_are_refused(tmp_path: Path) -> None:
    from gridner import write

    write(documents(), tmp_path / "gold")
    write([Document("other", "text here")], tmp_path / "other.jsonl")
    (tmp_path / "none.jsonl").write_text("")
    for name in ("other.jsonl", "none.jsonl"):
        done = gridner(
            "report", tmp_path / "gold", tmp_path / name, "--pred-format", "jsonl", "-o", tmp_path / "r.html"
        )
        assert done.returncode == 2
        assert len(done.stderr.strip().splitlines()) == 1
        assert not (tmp_path / "r.html").exists()
