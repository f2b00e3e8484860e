from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridner.corpus.flattening import flattened
from gridner.documents import Document, Entity, Fragment
from gridner.errors import FormatError, Notes, OutputError
from gridner.formats import read, write
from gridner.formats._support.word_lists import document_from_words
from gridner.text.alignment import Mention, align
from support.formats import counted, put, through
from support.strategies import ODD_TYPES, corpora, word_records

# The first lines of CoNLL-2003's eng.train, which is IOB1; and the same sentence in other ways to tag it.
CONLL_2003 = """-DOCSTART- -X- O O

EU NNP I-NP I-ORG
rejects VBZ I-VP O
German JJ I-NP I-MISC
call NN I-NP O
to TO I-VP O
boycott VB I-VP O
British JJ I-NP I-MISC
lamb NN I-NP O
. . O O

Peter NNP I-NP I-PER
Blackburn NNP I-NP I-PER

-DOCSTART- -X- O O

BRUSSELS NNP I-NP I-LOC
"""
Records = list[tuple[list[str], list[tuple[str, tuple[int, ...]]]]]


def read_text(tmp_path: Path, content: str, notes: Notes | None = None) -> list[Document]:
    put(tmp_path, {"a.conll": content})
    return list(read(tmp_path / "a.conll", notes=notes))


def found(document: Document) -> list[tuple[str, str]]:
    return [(one.type, document.text[one.start : one.end]) for one in document.entities]


def flat(records: Records) -> Records:
    """The records with those of their mentions that are continuous and apart."""
    kept: Records = []
    for words, mentions in records:
        taken: set[int] = set()
        good = []
        for kind, index in mentions:
            if index[-1] - index[0] == len(index) - 1 and not taken & set(index):
                taken |= set(index)
                good.append((kind, index))
        kept.append((words, sorted(good, key=lambda one: one[1])))
    return kept


@given(st.lists(st.lists(word_records(), min_size=1, max_size=3).map(flat), min_size=1, max_size=3))
def test_documents_that_came_from_conll_come_back_exactly(corpus: list[Records]) -> None:
    documents = [
        document_from_words(
            f"d {number}", [(words, [Mention(*one) for one in mentions]) for words, mentions in records]
        )
        for number, records in enumerate(corpus)
    ]
    back, notes = through(documents, "conll")
    assert back == documents
    assert not notes


@given(corpora(types=ODD_TYPES))
def test_flattened_documents_come_back_with_the_mentions_that_align_gives(corpus: list[Document]) -> None:
    documents = [flattened(document, bridge=0, notes=Notes()) for document in corpus]
    written = [document for document in documents if align(document).sentences]
    if not written:
        return
    back, notes = through(documents, "conll")
    changed = "word that conll does not take, written with _" in counted(notes)
    for document, again in zip(written, back, strict=True):
        before, after = align(document).sentences, align(again).sentences
        assert again.id == document.id
        assert [set(one.mentions) for one in after] == [set(one.mentions) for one in before]
        words = [[[word.text for word in one.words] for one in sentences] for sentences in (before, after)]
        assert changed or words[0] == words[1]


def test_conll_2003_is_read(tmp_path: Path) -> None:
    first, second = read_text(tmp_path, CONLL_2003)
    assert (first.id, second.id) == ("1", "2")
    assert first.text == "EU rejects German call to boycott British lamb .\nPeter Blackburn"
    assert found(first) == [("ORG", "EU"), ("MISC", "German"), ("MISC", "British"), ("PER", "Peter Blackburn")]
    assert [len(words) for words in first.sentences or ()] == [9, 2]
    assert found(second) == [("LOC", "BRUSSELS")]


@pytest.mark.parametrize(
    ("tags", "entities"),
    [
        ("B-A I-A B-A O", ["a b", "c"]),
        ("I-A I-A B-A O", ["a b", "c"]),  # IOB1: B only parts neighbours
        ("I-A I-A I-B O", ["a b", "c"]),
        ("B-A E-A S-A O", ["a b", "c"]),
        ("B-A L-A U-A O", ["a b", "c"]),
        ("B-A M-A E-A S-A", ["a b c", "d"]),
        ("E-A E-A O O", ["a", "b"]),
        ("B-A B-A O I-A", ["a", "b", "d"]),
        ("O O O O", []),
        ("O O B-A I-A", ["c d"]),
    ],
)
@pytest.mark.parametrize("gap", [" ", "\t", " x "])
def test_ways_to_tag(tmp_path: Path, tags: str, entities: list[str], gap: str) -> None:
    lines = [f"{word}{gap}{tag}" for word, tag in zip("abcd", tags.split(), strict=True)]
    (document,) = read_text(tmp_path, "\n".join(lines))
    assert [said for _, said in found(document)] == entities


def test_sentences_are_documents_where_nothing_starts_one(tmp_path: Path) -> None:
    put(tmp_path, {"in/a.conll": "\n\na O\n\n \n\nb O\r\n\r\n", "in/b.bio": "\ufeffc B-X-Y\n"})
    documents = list(read(tmp_path / "in"))
    assert [(one.id, one.text) for one in documents] == [("a:1", "a"), ("a:2", "b"), ("b:1", "c")]
    assert found(documents[2]) == [("X-Y", "c")]


def test_remarks_and_documents_without_words_are_counted(tmp_path: Path) -> None:
    notes = Notes()
    content = "-DOCSTART-\n\n-DOCSTART- -X- O\n\n# id 4ab domain=en\n# O\nx B-A\n\n-DOCSTART-\ty\tO\n"
    (document,) = read_text(tmp_path, content, notes)
    assert (document.id, document.text) == ("1", "# x")
    assert counted(notes) == {"document without words, left out": 2, "remark before a sentence, left out": 1}


def test_remarks_that_name_a_document_start_it_unless_they_say_it_again(tmp_path: Path) -> None:
    notes = Notes()
    content = (
        "# newdoc id = note 1\n# sent_id = 1\nx B-A\n\n# newdoc id = note 1\ny O\n\n"
        "# doc_id = é\nz O\n\n-DOCSTART-\n# doc_id = 7\nw O\n\n# doc_id = empty\n# doc_id = 8\nv O\n"
    )
    documents = read_text(tmp_path, content, notes)
    assert [(document.id, document.text) for document in documents] == [
        ("note 1", "x\ny"),
        ("é", "z"),
        ("7", "w"),
        ("8", "v"),
    ]
    assert counted(notes) == {"remark before a sentence, left out": 1, "document without words, left out": 1}


def test_what_is_written(tmp_path: Path) -> None:
    document = Document("note 1", "Mild pain. None now.", (Entity("side effect", (Fragment(0, 9),), 0.5, "T1"),))
    notes = Notes()
    assert write([document, Document("é", "a")], tmp_path / "out.conll", notes=notes) == 1
    assert (tmp_path / "out.conll").read_text(encoding="utf-8") == (
        "-DOCSTART-\tnote 1\tO\n\nMild\tB-side effect\npain\tI-side effect\n.\tO\n\nNone\tO\nnow\tO\n.\tO\n\n"
        "-DOCSTART-\té\tO\n\na\tO\n\n"
    )
    assert counted(notes) == {
        "score, not carried by conll": 1,
        "entity id, not carried by conll": 1,
        "text between the words, not carried by conll (offsets change)": 1,
    }


GAP = Entity("ADR", (Fragment(0, 4), Fragment(8, 11)))


@pytest.mark.parametrize(
    ("entities", "said"),
    [
        (
            (GAP,),
            "document d: ADR 'Pain arm' has a gap, which conll cannot have; --fl",
        ),
        ((Entity("A", (Fragment(0, 7),)), Entity("B", (Fragment(5, 11),))), "document d: B 'in arm' overlaps another"),
        ((Entity("A", (Fragment(0, 7),)), Entity("B", (Fragment(0, 4),))), "document d: B 'Pain' overlaps another"),
        ((Entity("A", (Fragment(0, 4),)), Entity("B", (Fragment(0, 4),))), "document d: B 'Pain' overlaps another"),
    ],
)
def test_what_conll_cannot_carry_is_an_error_that_names_the_choice(
    tmp_path: Path, entities: tuple[Entity, ...], said: str
) -> None:
    with pytest.raises(OutputError, match=said) as caught:
        write([Document("d", "Pain in arm.", entities)], tmp_path / "out.conll")
    assert "--flat (with --max-gap N)" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_fragments_parted_only_by_white_space_have_no_gap(tmp_path: Path) -> None:
    document = Document("d", "Mild  pain", (Entity("A", (Fragment(0, 4), Fragment(6, 10))),))
    write([document], tmp_path / "out.conll")
    assert found(next(read(tmp_path / "out.conll"))) == [("A", "Mild pain")]


def test_words_and_ids_that_conll_does_not_take(tmp_path: Path) -> None:
    words = ("-DOCSTART-", "a\tb", "c\nd", "e f")
    text = "|".join(words)
    starts = [0, 11, 15, 19]
    own = (tuple(Fragment(at, at + len(word)) for at, word in zip(starts, words, strict=True)),)
    notes = Notes()
    write([Document("O", text, (), own)], tmp_path / "out.conll", notes=notes)
    (document,) = read(tmp_path / "out.conll")
    assert (document.id, document.text) == ("1", "_DOCSTART_ a_b c_d e f")
    assert counted(notes)["word that conll does not take, written with _"] == 3
    assert counted(notes)["document id that conll does not take, a number instead"] == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "no documents"),
        ("-DOCSTART-\n", "no documents"),
        ("pain\n", r"a\.conll:1: 'pain', expected a word and, last, O or a tag such as B-ADR"),
        ("a O\npain X-ADR\n", r"a\.conll:2: 'pain X-ADR', expected a word and, last"),
        ("pain B-\n", r"a\.conll:1: 'pain B-', expected"),
        ("pain B\n", r"a\.conll:1: 'pain B', expected"),
        ("\tO\n", r"a\.conll:1: '\\tO', expected"),
        ("-DOCSTART-\tx\tO\n\na O\n\n-DOCSTART-\tx\tO\n\na O\n", r"a\.conll:5: document x appears twice"),
    ],
)
def test_bad_input_is_named_in_a_line(tmp_path: Path, content: str, said: str) -> None:
    with pytest.raises(FormatError, match=said):
        read_text(tmp_path, content)


def test_lenient_skips_a_bad_document_alone(tmp_path: Path) -> None:
    put(tmp_path, {"a.conll": "a O\n\nb\n\nc O\n"})
    notes = Notes()
    assert [one.text for one in read(tmp_path / "a.conll", lenient=True, notes=notes)] == ["a", "c"]
    assert counted(notes) == {"bad record skipped": 1}
