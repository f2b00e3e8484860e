from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridner import files
from gridner.documents import Document, Entity, Fragment
from gridner.errors import FormatError, Notes
from gridner.formats import read, write
from gridner.formats._support import json_stream
from gridner.formats._support.word_lists import document_from_words
from gridner.text.alignment import Mention, align
from support.formats import counted, mentions, put, through
from support.strategies import ODD_TYPES, corpora, word_records

Record = tuple[list[str], list[tuple[str, tuple[int, ...]]]]
PAIN = {"sentence": ["pain", "in", "arm"], "ner": [{"index": [0, 2], "type": "ADR"}]}


def put_json(tmp_path: Path, item: Any) -> Path:
    path = tmp_path / "corpus.json"
    path.write_text(json.dumps(item), encoding="utf-8")
    return path


def as_document(document_id: str, records: list[Record]) -> Document:
    return document_from_words(
        document_id, [(words, [Mention(type, index) for type, index in mentions]) for words, mentions in records]
    )


@given(st.lists(st.lists(word_records(), min_size=1, max_size=3), min_size=1, max_size=3))
def test_documents_that_came_from_w2ner_come_back_exactly(corpus: list[list[Record]]) -> None:
    documents = [as_document(f"d{number}", records) for number, records in enumerate(corpus)]
    back, notes = through(documents, "w2ner")
    assert back == documents
    assert not notes


@given(corpora(types=ODD_TYPES))
def test_other_documents_come_back_with_the_mentions_that_align_gives(corpus: list[Document]) -> None:
    written = [document for document in corpus if align(document).sentences]
    if not written:
        return
    back, notes = through(corpus, "w2ner")
    found = counted(notes)
    cut = kept = 0
    for document, again in zip(written, back, strict=True):
        aligned = align(document)
        cut += len(aligned.cut)
        kept += sum(len(sentence.mentions) for sentence in aligned.sentences)
        assert again.id == document.id
        assert [[word.text for word in sentence.words] for sentence in align(again).sentences] == [
            [word.text for word in sentence.words] for sentence in aligned.sentences
        ]
        assert mentions(again) == [
            [(mention.type, mention.words) for mention in sentence.mentions] for sentence in aligned.sentences
        ]
    reasons = ("entity that crosses a sentence", "entity that begins or ends inside a word")
    assert sum(found.get(f"{reason}, not written to w2ner", 0) for reason in reasons) == cut
    repeated = found.get("entity that repeats another one, written once to w2ner", 0)
    assert sum(len(document.entities) for document in written) == cut + kept + repeated
    assert found.get("document without words, not written to w2ner", 0) == len(corpus) - len(written)


def test_an_array_of_records_without_ids_is_a_document_each(tmp_path: Path) -> None:
    documents = list(read(put_json(tmp_path, [PAIN, PAIN])))
    assert [document.id for document in documents] == ["1", "2"]
    assert documents[0] == Document(
        "1",
        "pain in arm",
        (Entity("ADR", (Fragment(0, 4), Fragment(8, 11))),),
        ((Fragment(0, 4), Fragment(5, 7), Fragment(8, 11)),),
    )


def test_records_that_follow_each_other_under_one_id_are_one_document(tmp_path: Path) -> None:
    records = [{"id": "a", **PAIN}, {"id": "a", **PAIN}, {"id": "b", **PAIN}]
    found = [(document.id, len(document.sentences or ())) for document in read(put_json(tmp_path, records))]
    assert found == [("a", 2), ("b", 1)]


def test_an_id_that_comes_back_later_is_an_error_also_if_what_is_between_is_not_wanted(tmp_path: Path) -> None:
    path = put_json(tmp_path, [{"id": "a", **PAIN}, {"id": "b", **PAIN}, {"id": "a", **PAIN}])
    with pytest.raises(FormatError, match="document a appears twice"):
        list(read(path, except_ids=["b"]))


def test_the_number_of_a_record_does_not_join_it_to_one_with_that_id(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="document 2 appears twice"):
        list(read(put_json(tmp_path, [{"id": "2", **PAIN}, PAIN])))


@pytest.mark.parametrize("chunk", [1, 2, 7, 1000])
@pytest.mark.parametrize(
    "content",
    [
        json.dumps([PAIN, PAIN]),
        json.dumps([PAIN, PAIN], indent=2),
        "\ufeff" + json.dumps([PAIN, PAIN]),
        " \r\n\t" + json.dumps([PAIN, PAIN]) + "\n",
        json.dumps(PAIN) + "\n" + json.dumps(PAIN),
        "\ufeff\n" + json.dumps(PAIN) + "\n\n" + json.dumps(PAIN) + "\n",
        json.dumps(PAIN, indent=2) + json.dumps(PAIN, indent=2),
    ],
    ids=["array", "indented", "mark", "white", "lines", "mark and lines", "indented values"],
)
def test_arrays_and_json_lines_are_taken_however_they_are_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, chunk: int
) -> None:
    monkeypatch.setattr(json_stream, "CHUNK", chunk)
    put(tmp_path, {"corpus.json": content})
    assert len(list(read(tmp_path / "corpus.json"))) == 2


def test_a_sentence_without_mentions_is_a_document(tmp_path: Path) -> None:
    (document,) = read(put_json(tmp_path, [{"sentence": ["fine"], "ner": []}]))
    assert (document.text, document.entities) == ("fine", ())


def test_further_keys_of_the_public_files_are_ignored(tmp_path: Path) -> None:
    assert len(list(read(put_json(tmp_path, [{**PAIN, "word": [[0, 1]], "score": 1.5e300}])))) == 1


def test_an_index_out_of_order_is_sorted_and_noted(tmp_path: Path) -> None:
    notes = Notes()
    record = {"sentence": ["pain", "in", "arm"], "ner": [{"index": [2, 0], "type": "ADR"}]}
    (document,) = read(put_json(tmp_path, [record]), notes=notes)
    assert document.entities[0].fragments == (Fragment(0, 4), Fragment(8, 11))
    assert counted(notes) == {"index out of order, sorted": 1}


def test_a_mention_twice_is_written_once_and_counted(tmp_path: Path) -> None:
    record = {"sentence": ["pain"], "ner": [{"index": [0], "type": "ADR"}] * 2}
    notes = Notes()
    write(read(put_json(tmp_path, [record])), tmp_path / "again.json", notes=notes)
    assert len(next(read(tmp_path / "again.json")).entities) == 1
    assert counted(notes) == {"entity that repeats another one, written once to w2ner": 1}


def test_a_word_with_a_space_inside_stays_one_word(tmp_path: Path) -> None:
    path = put_json(tmp_path, [{"id": "d", "sentence": ["New York", "a\nb"], "ner": [{"index": [0], "type": "GPE"}]}])
    documents = list(read(path))
    assert through(documents, "w2ner")[0] == documents


def test_the_public_implementations_can_load_what_is_written(tmp_path: Path) -> None:
    document = Document("d", "Pain in arm. More.", (Entity("ADR", (Fragment(0, 4), Fragment(8, 11)), 0.5, "T1"),))
    notes = Notes()
    write([document], tmp_path / "out.json", notes=notes)
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8")) == [
        {"id": "d", "sentence": ["Pain", "in", "arm", "."], "ner": [{"index": [0, 2], "type": "ADR"}]},
        {"id": "d", "sentence": ["More", "."], "ner": []},
    ]
    assert counted(notes) == {
        "score, not carried by w2ner": 1,
        "entity id, not carried by w2ner": 1,
        "text between the words, not carried by w2ner (offsets change)": 1,
    }


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "no records"),
        ("[]", "no records"),
        ("[1]", "record 1: 1, expected 'sentence' and 'ner' lists"),
        ('[{"sentence": "a b", "ner": []}]', "record 1: .*expected 'sentence' and 'ner' lists"),
        ('[{"sentence": ["a"]}]', "record 1: .*expected 'sentence' and 'ner' lists"),
        ('[{"sentence": [1], "ner": []}]', "record 1: a word is .*, expected text"),
        ('[{"sentence": [], "ner": []}]', "record 1: sentence 1: words are"),
        ('[{"sentence": ["a", ""], "ner": []}]', "record 1: sentence 1: words are"),
        ('[{"sentence": ["a"], "ner": [0]}]', "record 1: 0, expected an 'index' list and a 'type'"),
        (
            '[{"sentence": ["a"], "ner": [{"index": [1], "type": "A"}]}]',
            "record 1: index 1 is outside a sentence of 1 word",
        ),
        ('[{"sentence": ["a"], "ner": [{"index": [-1], "type": "A"}]}]', "record 1: mention A"),
        ('[{"sentence": ["a"], "ner": [{"index": [], "type": "A"}]}]', "record 1: mention A"),
        ('[{"sentence": ["a"], "ner": [{"index": [0, 0], "type": "A"}]}]', "record 1: mention A"),
        (
            '[{"sentence": ["a"], "ner": [{"index": [0.0], "type": "A"}]}]',
            r"record 1: index \[0.0\], expected integers",
        ),
        ('[{"sentence": ["a"], "ner": [{"index": [true], "type": "A"}]}]', "record 1: index .*expected integers"),
        ('[{"sentence": ["a"], "ner": [{"index": [0], "type": ""}]}]', "record 1: entity type ''"),
        ('[{"id": 5, "sentence": ["a"], "ner": []}]', "record 1: id is 5, expected text"),
        ('[{"sentence": ["a"], "ner": []}', "after record 1: the file ends"),
        ('[{"sentence": ["a"], "ner": []},', "after record 1: the file ends in the middle"),
        ('[{"sentence": ["a"], "ner": []} {}]', "after record 1: '{', expected ','"),
        ('[{"sentence": ["a"], "ner": []}] []', "after record 1: Extra data"),
        ('[{"sentence": ["a"], "n', "after record 0: the file ends in the middle"),
        ('[{"sentence": ["a"], "ner": [NaN]}]', "after record 0: NaN is not a JSON number"),
        (r'[{"sentence": ["a\ud800"], "ner": []}]', "record 1: .*lone surrogate"),
        (r'[{"id": "\ud800", "sentence": ["a"], "ner": []}]', "record 1: document id"),
        ("[" * 100_000, "after record 0: "),
        ('[{"sentence": ' + "[" * 400 + "]" * 400 + ', "ner": []}]', "record 1: a word is .*, expected text"),
        (b'[{"sentence": ["\xff"], "ner": []}]', "after record 0: byte 0xff, expected .*UTF-8"),
    ],
)
def test_bad_json_and_bad_records_are_named(tmp_path: Path, content: str | bytes, said: str) -> None:
    put(tmp_path, {"corpus.json": content})
    with pytest.raises(FormatError, match=rf"corpus\.json: {said}"):
        list(read(tmp_path / "corpus.json"))


def test_a_record_that_is_too_large_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 100)
    large = {"sentence": ["a" * 100], "ner": []}
    with pytest.raises(FormatError, match="after record 1: a record larger than 100 characters"):
        list(read(put_json(tmp_path, [PAIN, large])))


def test_lenient_keeps_the_good_records_before_and_after_bad_ones(tmp_path: Path) -> None:
    bad = [
        1,
        {"id": 5, **PAIN},
        {"sentence": [""], "ner": []},
        {"sentence": ["a"], "ner": [{"index": [7], "type": "A"}]},
    ]
    content = json.dumps([{"id": "a", **PAIN}, *bad, {"id": "b", **PAIN}, {"id": "b", "sentence": [], "ner": []}])
    put(tmp_path, {"corpus.json": content[:-1] + ', {"id": "c", "sent'})
    notes = Notes()
    found = [(one.id, len(one.entities)) for one in read(tmp_path / "corpus.json", lenient=True, notes=notes)]
    assert found == [("a", 1), ("5", 0), ("b", 1)]
    assert counted(notes) == {"bad record skipped": 6}


def test_files_of_a_folder_number_their_records_under_their_names(tmp_path: Path) -> None:
    put(tmp_path, {"dev.json": json.dumps([PAIN]), "test.json": json.dumps([PAIN])})
    assert [document.id for document in read(tmp_path)] == ["dev:1", "test:1"]
