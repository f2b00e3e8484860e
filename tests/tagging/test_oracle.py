import tracemalloc
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gridner import Document, Entity, Fragment, Notes, evaluate
from gridner.corpus.statistics import PAPER, statistics, summary
from gridner.tagging.decoding import Decoded, decode
from gridner.tagging.oracle import oracle, through_grid
from gridner.tagging.tags import TagScheme
from gridner.text import Mention, Sentence, Word


def entity(type: str, *pairs: tuple[int, int]) -> Entity:
    return Entity(type, tuple(Fragment(start, end) for start, end in pairs))


TEXT = "Pain in left arm and shoulder. It is perinatal."
ARM, SHOULDER, NATAL = entity("ADR", (0, 16)), entity("ADR", (0, 7), (21, 29)), entity("X", (41, 46))


def test_what_the_grid_can_say_comes_back() -> None:
    document = Document("a", TEXT, (ARM, SHOULDER))
    assert set(oracle(document).entities) == {ARM, SHOULDER}


def test_what_words_cut_is_missed() -> None:
    document = Document("a", TEXT, (ARM, NATAL))
    score = evaluate([document], [oracle(document)]).score()
    assert (score.tp, score.fp, score.fn) == (1, 0, 1)


def test_ambiguous_links_cost_precision() -> None:
    # words 0,1,3 and 1,2,3: the links also join 0,1,2,3 and 1,3
    document = Document("a", "aa bb cc dd", (entity("X", (0, 5), (9, 11)), entity("X", (3, 11))))
    score = evaluate([document], [oracle(document)]).score()
    assert (score.tp, score.fp, score.fn) == (2, 2, 0)


def test_a_sentence_of_any_length_can_be_judged() -> None:
    text = "a " * 50_000
    document = Document("a", text, (entity("X", (0, 1), (99_998, 99_999)),))
    assert oracle(document).entities == document.entities


def dense(sentence: Sentence) -> Decoded:
    """The same by way of the whole grid."""
    scheme = TagScheme(tuple(sorted({mention.type for mention in sentence.mentions})))
    return decode(scheme.relations(scheme.encode(sentence.mentions, len(sentence.words))), scheme.types)


WORDS = tuple(Word(f"w{n}", 3 * n, 3 * n + 2) for n in range(10))
MENTIONS = st.builds(
    lambda words, kind: Mention(kind, tuple(sorted(words))),
    st.sets(st.integers(0, 9), min_size=1, max_size=5),
    st.sampled_from("AB"),
)


@given(st.lists(MENTIONS, min_size=1, max_size=8, unique=True))
def test_the_cells_that_hold_a_tag_say_what_the_whole_grid_says(mentions: list[Mention]) -> None:
    sentence = Sentence("d", WORDS, tuple(mentions))
    few, whole = through_grid(sentence), dense(sentence)
    assert (few.capped_cells, few.capped_mentions) == (whole.capped_cells, whole.capped_mentions)
    if not few.capped_cells:
        assert few.mentions == whole.mentions
    assert all(mention.score == 1 for mention in few.mentions)


def test_a_sentence_with_many_entities_needs_no_grid() -> None:
    text = "ab " * 8_000
    gold = tuple(entity("X", (3 * n, 3 * n + 2), (3 * n + 6, 3 * n + 8)) for n in range(0, 7_990, 4))
    tracemalloc.start()
    found = statistics([Document("a", text, gold)])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.entities == len(gold)
    assert peak < 60 * 2**20  # the grid of its 4,000 words would have 256 MB


def test_reached_caps_are_noted() -> None:
    text = " ".join(f"w{n}" for n in range(12))
    starts = [text.index(f"w{n}") for n in range(12)]
    words = [(start, start + len(f"w{n}")) for n, start in enumerate(starts)]
    pairs = [entity("X", words[a], words[b]) for a in range(12) for b in range(a + 2, 12)]
    notes = Notes()
    oracle(Document("a", text, tuple(pairs)), notes=notes)
    assert notes["sentence where the decoder's caps were reached"] == 1


def test_statistics_of_a_document() -> None:
    notes = Notes()
    gold = Document("a", TEXT, (ARM, ARM, SHOULDER, NATAL))
    found = statistics([gold, replace(gold, id="b", entities=())], notes)
    assert (found.documents, found.sentences, found.words) == (2, 4, 22)
    assert (found.entities, found.repeated, found.discontinuous, found.overlapped) == (3, 1, 1, 2)
    assert found.types == {"ADR": 2, "X": 1}
    assert found.overlaps == {"left": 1}
    assert found.fragments == {1: 2, 2: 1}
    assert found.gaps == {3: 1}
    assert found.cut == {"begins or ends inside a word": 1}
    assert notes["entity that begins or ends inside a word"] == 1
    score = found.oracle.score()
    assert (score.tp, score.fp, score.fn) == (2, 0, 1)


def test_a_distribution_is_summed_up() -> None:
    found = statistics([Document("a", "One. Two three. Four five six seven.")])
    assert summary(found.sentence_words) == {"mean": 10 / 3, "median": 3, "p95": 5, "max": 5}
    assert summary(found.gaps) == {}


def test_the_papers_splits_add_up_but_for_one_misprint() -> None:
    sums = {
        corpus: tuple(sum(splits[name][column] for name in ("train", "dev", "test")) for column in range(3))
        for corpus, splits in PAPER.items()
    }
    assert sums["cadec"] == PAPER["cadec"]["all"]
    assert sums["share13"] == PAPER["share13"]["all"]
    assert sums["share14"] == (34618, 19047, 1650)  # Table 1 prints 34,614 sentences in all
