from collections.abc import Iterator
from dataclasses import replace

import pytest

from gridner.config import DecodingConfig
from gridner.corpus.gazetteer import Lexicon
from gridner.documents import Document, Entity, Fragment
from gridner.errors import Notes, UsageError
from gridner.inference.recognizer import Recognizer
from gridner.scoring.evaluation import evaluate
from gridner.tagging.oracle import oracle
from gridner.tagging.tags import TagScheme, TagSet
from gridner.text.alignment import align
from support.small import Gold, documents, part, word_pieces


def recognizer(
    *, tags: TagSet = "NNW+PNW+HTW+THW", one_label: bool = False, candidates: bool = False, **decoding: object
) -> Recognizer:
    sentences = part().sentences
    pieces, scheme = word_pieces(sentences), TagScheme(("Sign",), tags)
    engine = Gold(sentences, pieces, scheme, one_label=one_label, candidates=candidates)
    settings = DecodingConfig(**decoding)  # type: ignore[arg-type]
    return Recognizer(engine=engine, tokenizer=pieces, scheme=scheme, decoding=settings, one_label=one_label)


@pytest.mark.parametrize(("tags", "one_label"), [("NNW+PNW+HTW+THW", False), ("NNW+THW", False), ("NNW+THW", True)])
def test_right_scores_give_what_the_tags_can_say(tags: TagSet, one_label: bool) -> None:
    bare = [replace(document, entities=()) for document in documents()]
    found = list(recognizer(tags=tags, one_label=one_label).pipe(bare))
    expected = [oracle(document) for document in documents()]
    assert [set(document.entities) for document in found] == [set(document.entities) for document in expected]
    assert evaluate(documents(), found).score().recall == 1
    assert all(entity.score is not None and 0.5 < entity.score < 1 for one in found for entity in one.entities)


def test_a_grid_over_candidate_words_finds_what_the_whole_grid_finds() -> None:
    few, every = recognizer(candidates=True), recognizer()
    assert list(few.pipe(documents())) == list(every.pipe(documents()))
    sentences = part().sentences
    sizes = [[len(window.candidates) for window in one.score_windows(sentences)] for one in (few, every)]
    assert 0 in sizes[0]  # "Nothing to report."
    assert sum(sizes[0]) < sum(sizes[1]) == sum(len(sentence.words) for sentence in sentences)


def test_words_of_names_are_candidates_whatever_the_network_says() -> None:
    lexicon = Lexicon.from_text("Sign\tnothing to report\n", where="names")
    named = replace(recognizer(candidates=True), lexicon=lexicon)
    sentence = next(one for one in part().sentences if one.words[0].text == "Nothing")
    (window,) = named.score_windows([sentence])
    assert window.candidates == (0, 1, 2)
    assert [name.words for name in window.names] == [(0, 1, 2)]


@pytest.mark.parametrize("cells", [1, 60, 10_000])
def test_batches_do_not_change_what_is_found(cells: int) -> None:
    whole = recognizer()
    expected = list(whole.pipe(documents()))
    parted = replace(recognizer(), cells=cells)
    assert list(parted.pipe(documents())) == expected
    assert [next(iter(parted.pipe([document]))) for document in documents()] == expected


def test_a_text_becomes_a_document() -> None:
    found = recognizer()("Severe muscle and joint pain.")
    assert [found.text[at.start : at.end] for at in found.entities[0].fragments] in (
        ["Severe muscle", "pain"],
        ["joint pain"],
    )
    assert len(found.entities) == 2
    assert recognizer()("   ").entities == ()


def test_a_long_sentence_is_read_in_windows_and_each_mention_comes_once() -> None:
    filler = " ".join(f"w{number}" for number in range(40))
    text = f"{filler} left and right arm {filler}"
    start = len(filler) + 1
    entities = (
        Entity("Sign", (Fragment(start, start + 4), Fragment(start + 15, start + 18))),
        Entity("Sign", (Fragment(start + 9, start + 18),)),
    )
    document = Document("long", text.replace("w0", "x0", 1), entities)
    sentences = align(document).sentences
    pieces, scheme = word_pieces(sentences), TagScheme(("Sign",))
    engine = Gold(sentences, pieces, scheme)
    settings = DecodingConfig(max_words=20, overlap=8)
    own = Recognizer(engine=engine, tokenizer=pieces, scheme=scheme, decoding=settings)
    found = list(own.pipe([document]))
    assert sum(engine.sizes) > 5
    assert sorted(found[0].entities, key=lambda entity: entity.fragments) == sorted(entities, key=lambda e: e.fragments)


def test_thresholds_of_links_and_ends_cut_apart() -> None:
    everything = list(recognizer().pipe(documents()))
    assert list(recognizer(link_threshold=0.99).pipe(documents())) != everything  # scores are 0.982
    only_words = [entity for one in recognizer(link_threshold=0.99).pipe(documents()) for entity in one.entities]
    assert [entity.fragments for entity in only_words] == [(Fragment(8, 14),)]  # a mention of one word has no link
    assert not [entity for one in recognizer(end_threshold=0.99).pipe(documents()) for entity in one.entities]
    assert list(recognizer(link_threshold=0.2, end_threshold=0.9).pipe(documents())) == everything


def test_a_cap_that_is_reached_is_said() -> None:
    notes = Notes()
    list(recognizer(limit=1).pipe(documents(), notes=notes))
    assert notes["sentence where the decoder's caps were reached"] == 5


@pytest.mark.parametrize("batch_size", [1, 2, 3, 512])
def test_documents_come_in_their_order_as_soon_as_they_are_answered(batch_size: int) -> None:
    """No more is read ahead than a batch of sentences and the document it ends in."""
    read: list[str] = []

    def source() -> Iterator[Document]:
        for document in [Document("empty", ""), *documents(), Document("blank", " \n ")]:
            read.append(document.id)
            yield document

    expected = list(recognizer().pipe(documents()))
    found = []
    for document in recognizer().pipe(source(), batch_size=batch_size):
        found.append(document)
        assert len(read) <= len(found) + batch_size + 1
    assert [document.id for document in found] == read
    assert found[1:-1] == expected
    assert found[0].entities == found[-1].entities == ()


def test_a_batch_has_at_least_one_sentence() -> None:
    with pytest.raises(UsageError, match="batch_size is 0"):
        list(recognizer().pipe(documents(), batch_size=0))
