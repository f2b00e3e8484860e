import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridner import Document, Entity, Fragment, InvalidError
from gridner.documents import covered_text, extent, join_fragments
from gridner.errors import plural


def entity(*pairs: tuple[int, int], type: str = "ADR") -> Entity:
    return Entity(type, tuple(Fragment(start, end) for start, end in pairs))


@pytest.mark.parametrize(("start", "end"), [(3, 3), (4, 3), (-1, 2), (0.0, 2), ("0", 2), (True, 2), (0, None)])
def test_a_fragment_is_two_integers_in_order(start: object, end: object) -> None:
    with pytest.raises(InvalidError, match="fragment"):
        Fragment(start, end)  # type: ignore[arg-type]


@pytest.mark.parametrize("pairs", [((5, 8), (0, 3)), ((0, 5), (3, 8)), ((0, 5), (0, 5))])
def test_fragments_of_an_entity_are_sorted_and_disjoint(pairs: tuple[tuple[int, int], ...]) -> None:
    with pytest.raises(InvalidError, match="sorted and disjoint"):
        entity(*pairs)


@pytest.mark.parametrize("fragments", [(), [Fragment(0, 1)], ((0, 1),), None])
def test_an_entity_has_a_tuple_of_fragments(fragments: object) -> None:
    with pytest.raises(InvalidError):
        Entity("ADR", fragments)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["", " ADR", "ADR ", "A\tB", "A\nB", None, 3])
def test_a_type_is_printable_text(name: object) -> None:
    with pytest.raises(InvalidError, match="entity type"):
        Entity(name, (Fragment(0, 1),))  # type: ignore[arg-type]


@pytest.mark.parametrize("score", [float("nan"), float("inf"), "0.5", True, 10**400])
def test_a_score_is_a_finite_number(score: object) -> None:
    with pytest.raises(InvalidError, match="score"):
        Entity("ADR", (Fragment(0, 1),), score)  # type: ignore[arg-type]


@pytest.mark.parametrize("meta", [None, 5, [("a", 1)]])
def test_meta_is_a_mapping(meta: object) -> None:
    with pytest.raises(InvalidError, match="meta"):
        Entity("ADR", (Fragment(0, 1),), meta=meta)  # type: ignore[arg-type]
    with pytest.raises(InvalidError, match="meta"):
        Document("a", "text", meta=meta)  # type: ignore[arg-type]


def test_only_entities_are_entities() -> None:
    with pytest.raises(InvalidError, match="expected an Entity"):
        Document("a", "text", ("ADR",))  # type: ignore[arg-type]


def test_score_id_and_meta_are_not_compared() -> None:
    plain = entity((0, 4))
    rich = Entity("ADR", (Fragment(0, 4),), 0.5, "T1", {"cui": "C1"})
    assert plain == rich
    assert hash(plain) == hash(rich)
    assert plain != entity((0, 4), type="Drug")


def test_an_entity_past_the_end_of_the_text_is_named() -> None:
    with pytest.raises(InvalidError, match=r"document a: ADR 0-3;5-9 is past the end of the text \(8 characters\)"):
        Document("a", "pain arm", (entity((0, 3), (5, 9)),))


@pytest.mark.parametrize("text", ["a\ud800b", "\udfff"])
def test_a_lone_surrogate_is_not_text(text: str) -> None:
    with pytest.raises(InvalidError, match="lone surrogate"):
        Document("a", text)


@pytest.mark.parametrize("identifier", ["", "a\nb", "a\x00", "\ud800", None])
def test_a_document_id_is_printable_text(identifier: object) -> None:
    with pytest.raises(InvalidError, match="document id"):
        Document(identifier, "text")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "sentences",
    [
        ((),),
        [(Fragment(0, 4),)],
        ([Fragment(0, 4)],),
        ((Fragment(0, 4), Fragment(3, 8)),),
        ((Fragment(5, 8),), (Fragment(0, 4),)),
        ((Fragment(0, 9),),),
    ],
)
def test_own_words_are_sorted_disjoint_and_inside_the_text(sentences: object) -> None:
    with pytest.raises(InvalidError, match="document a"):
        Document("a", "pain arm", sentences=sentences)  # type: ignore[arg-type]


def test_nothing_can_be_changed_after_it_is_built() -> None:
    document = Document("a", "pain", (entity((0, 4)),))
    with pytest.raises(AttributeError):
        document.text = "arm"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        document.entities[0].fragments[0].start = 2  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "pairs", "expected"),
    [
        ("left arm", ((0, 4), (5, 8)), ((0, 8),)),
        ("left\r\n\t arm", ((0, 4), (8, 11)), ((0, 11),)),
        ("left\u00a0arm", ((0, 4), (5, 8)), ((0, 8),)),
        ("leftarm", ((0, 4), (4, 7)), ((0, 7),)),
        ("left, arm", ((0, 4), (6, 9)), ((0, 4), (6, 9))),
        ("left\u200barm", ((0, 4), (5, 8)), ((0, 4), (5, 8))),
    ],
)
def test_fragments_parted_only_by_white_space_are_one(
    text: str, pairs: tuple[tuple[int, int], ...], expected: tuple[tuple[int, int], ...]
) -> None:
    assert join_fragments(text, entity(*pairs).fragments) == entity(*expected).fragments


def test_an_extent_has_no_white_space_at_its_edges() -> None:
    assert extent("a pain \nb", entity((1, 8))) == (Fragment(2, 6),)
    assert extent("pain  and arm", entity((0, 6), (9, 13))) == (Fragment(0, 4), Fragment(10, 13))


def test_an_entity_of_white_space_keeps_its_extent() -> None:
    assert extent("a  b", entity((1, 3))) == (Fragment(1, 3),)


@given(st.text(alphabet="ab \n\u00a0\u200d😀", min_size=1, max_size=30), st.data())
def test_an_extent_covers_the_same_characters_but_white_space(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), min_size=2, max_size=8)))
    pairs = list(zip(cuts[::2], cuts[1::2], strict=False))
    found = entity(*pairs)
    normal = extent(text, found)

    def visible(fragments: tuple[Fragment, ...]) -> set[int]:
        return {at for f in fragments for at in range(f.start, f.end) if not text[at].isspace()}

    assert visible(normal) == visible(found.fragments)
    assert extent(text, Entity("ADR", normal)) == normal


def test_covered_text_shows_the_gap() -> None:
    assert covered_text("pain in arm", entity((0, 4), (8, 11)).fragments) == "pain … arm"


def test_counts_agree_with_their_nouns() -> None:
    found = [plural(count, noun) for count, noun in ((1, "sentence"), (0, "entity"), (1, "entity"), (1200, "document"))]
    assert found == ["1 sentence", "0 entities", "1 entity", "1,200 documents"]
