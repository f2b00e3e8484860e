from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridner.documents import Document, Entity, Fragment
from gridner.errors import FormatError, Notes
from gridner.formats import read, write
from gridner.formats._support.word_lists import document_from_words
from gridner.text.alignment import Mention, align
from support.formats import counted, mentions, put, through
from support.strategies import ODD_TYPES, corpora, word_records

NO_ID = "document id, not carried by inline (each sentence is a document)"


def read_inline(tmp_path: Path, content: str | bytes) -> list[Document]:
    put(tmp_path, {"corpus.inline": content})
    return list(read(tmp_path / "corpus.inline"))


@given(st.lists(word_records(), min_size=1, max_size=4))
def test_documents_that_came_from_inline_come_back_exactly(
    records: list[tuple[list[str], list[tuple[str, tuple[int, ...]]]]],
) -> None:
    documents = [
        document_from_words(str(number), [(words, [Mention(type, index) for type, index in mentions])])
        for number, (words, mentions) in enumerate(records, start=1)
    ]
    back, notes = through(documents, "inline")
    assert back == documents
    assert counted(notes) == {NO_ID: len(documents)}


@given(corpora(types=ODD_TYPES))
def test_other_documents_come_back_as_the_sentences_that_align_gives(corpus: list[Document]) -> None:
    aligned = [align(document) for document in corpus]
    sentences = [sentence for one in aligned for sentence in one.sentences]
    if not sentences:
        return
    back, notes = through(corpus, "inline")
    found = counted(notes)
    assert [len(document.sentences or ((),)) for document in back] == [1] * len(sentences)
    assert [len((document.sentences or ((),))[0]) for document in back] == [len(one.words) for one in sentences]
    assert [mentions(document) for document in back] == [
        [[(mention.type.replace("|", "_"), mention.words) for mention in sentence.mentions]] for sentence in sentences
    ]
    reasons = ("entity that crosses a sentence", "entity that begins or ends inside a word")
    assert sum(found.get(f"{reason}, not written to inline", 0) for reason in reasons) == sum(
        len(one.cut) for one in aligned if one.sentences
    )


def test_the_example_of_the_module_is_read(tmp_path: Path) -> None:
    (document,) = read_inline(tmp_path, "I have pain in left arm and shoulder\n2,5 ADR|2,3,7,7 ADR\n\n")
    assert document.id == "1"
    assert document.entities == (
        Entity("ADR", (Fragment(7, 23),)),
        Entity("ADR", (Fragment(7, 14), Fragment(28, 36))),
    )


def test_the_example_of_the_module_is_written(tmp_path: Path) -> None:
    content = "I have pain in left arm and shoulder\n2,5 ADR|2,3,7,7 ADR\n\n"
    write(read_inline(tmp_path, content), tmp_path / "again.inline")
    assert (tmp_path / "again.inline").read_text(encoding="utf-8") == content


@pytest.mark.parametrize(
    "content",
    [
        "a b\n0,1 ADR",
        "a b\n0,1 ADR\n",
        "\ufeffa b\r\n0,1 ADR\r\n\r\n",
        "\n\n a\t b \n0,1 ADR \n \n\n",
        "a b\n1,1,0,0 ADR",
    ],
)
def test_line_ends_blank_lines_and_order_do_not_matter(tmp_path: Path, content: str) -> None:
    (document,) = read_inline(tmp_path, content)
    assert (document.text, document.entities) == ("a b", (Entity("ADR", (Fragment(0, 3),)),))


@pytest.mark.parametrize("content", ["a b", "a b\n", "a b\n\n", "a b\n\n\n"])
def test_a_sentence_without_mentions_is_a_document(tmp_path: Path, content: str) -> None:
    (document,) = read_inline(tmp_path, content)
    assert (document.text, document.entities) == ("a b", ())


def test_sentences_without_mentions_stand_between_others(tmp_path: Path) -> None:
    documents = read_inline(tmp_path, "a\n\n\nb\n0,0 ADR\n\nc\n\n\n")
    assert [(one.text, len(one.entities)) for one in documents] == [("a", 0), ("b", 1), ("c", 0)]


def test_a_byte_order_mark_that_is_text_stays_a_word(tmp_path: Path) -> None:
    document = Document("1", "\ufeff pain", (Entity("ADR", (Fragment(2, 6),)),))
    write([document], tmp_path / "out.inline")
    (back,) = read(tmp_path / "out.inline")
    assert (back.text, back.entities) == (document.text, document.entities)


def test_white_space_in_a_word_and_a_bar_in_a_type_are_written_with_an_underscore(tmp_path: Path) -> None:
    words = (Fragment(0, 8),)
    document = Document("1", "New York", (Entity("a|b", words),), (words,))
    notes = Notes()
    write([document], tmp_path / "out.inline", notes=notes)
    assert (tmp_path / "out.inline").read_text(encoding="utf-8") == "New_York\n0,0 a_b\n\n"
    assert notes["word or type with what parts words or types in inline, written with _"] == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a b\n0,2 ADR\n", r":2: '0,2 ADR' is outside a sentence of 2 words"),
        ("a b\n0 ADR\n", r":2: '0 ADR' has 1 indices, expected pairs"),
        ("a b\n1,0 ADR\n", r":2: '1,0 ADR', expected disjoint pairs"),
        ("a b\n0,1,1,1 ADR\n", r":2: '0,1,1,1 ADR', expected disjoint pairs"),
        ("a b\n0,1\n", r":2: '0,1', expected mentions such as"),
        ("a b\n-1,1 ADR\n", r":2: '-1,1 ADR', expected mentions such as"),
        ("a b\n0,1 ADR|\n", r":2: '', expected mentions such as"),
        ("a b\nc d\ne f\n", r":3: 'e f', expected a blank line after tokens and mentions"),
        (b"a\n\n\n\xff b\n\n\n", r":4: byte 0 is 0xff, expected UTF-8 text"),
        ("\n \n", ": no documents"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, content: str | bytes, said: str) -> None:
    with pytest.raises(FormatError, match=rf"corpus\.inline{said}"):
        read_inline(tmp_path, content)


def test_lenient_skips_a_bad_sentence_or_mention_and_goes_on_after_it(tmp_path: Path) -> None:
    put(tmp_path, {"c.inline": b"a\n0,5 ADR|0,0 ADR\n\nb\nc\nd\ne\n\n\xff\n\n\nf\n0,0 ADR\n\n"})
    notes = Notes()
    documents = list(read(tmp_path / "c.inline", lenient=True, notes=notes))
    assert [(one.id, one.text, len(one.entities)) for one in documents] == [("1", "a", 1), ("4", "f", 1)]
    assert counted(notes) == {"bad record skipped": 3}
