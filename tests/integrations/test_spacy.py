"""gridner in pipelines of spaCy."""

import importlib
import pickle
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

pytest.importorskip("spacy")

import spacy
from spacy import displacy
from spacy.language import Language
from spacy.pipeline import Sentencizer
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from gridner.documents import Document, Entity, Fragment
from gridner.errors import FormatError, Notes, OutputError, UsageError
from gridner.inference.engine import Engine, GridBatch, WordVectors
from gridner.inference.loading import load
from gridner.inference.word_pieces import PieceBatch
from gridner.integrations.spacy import Component, Handler, Settings
from gridner.integrations.spacy_docs import WIDENED, document_of, entities_of, put
from gridner.text.alignment import sentences_of
from gridner.text.splitting import tokenize
from support.docs_pages import entry_point, run, run_section
from support.small import TEXTS
from support.strategies import TYPES, fragments, texts

BLANK = spacy.blank("en")
SENTENCIZER = Sentencizer()


def pipeline(model: Path, *before: str, **config: Any) -> tuple[Language, Any]:
    nlp = spacy.blank("en")
    for name in before:
        nlp.add_pipe(name)
    return nlp, nlp.add_pipe("gridner", config={"model": str(model), "threads": 1, **config})


def set_handler(nlp: Any, handler: Handler) -> None:
    """spaCy's own types say that handlers never return; spaCy itself lets them."""
    nlp.set_error_handler(handler)


def found(doc: Doc) -> list[tuple[str, tuple[Fragment, ...], object]]:
    return [(one.type, one.fragments, pytest.approx(one.score, abs=1e-4)) for one in doc._.gridner]


def spans(doc: Doc, key: str = "gridner") -> list[tuple[str, str, int, int]]:
    return [(span.id_, span.label_, span.start_char, span.end_char) for span in doc.spans[key]]


def test_entities_are_those_of_the_recognizer(exported: Path) -> None:
    nlp, component = pipeline(exported)
    recognizer = load(exported, threads=1)
    discontinuous = 0
    for text in TEXTS:
        doc = nlp(text)
        expected = recognizer(text).entities
        assert doc._.gridner == expected
        assert [one.score for one in doc._.gridner] == pytest.approx([one.score for one in expected], abs=1e-4)
        for entity in doc._.gridner:
            own = [span for span in doc.spans["gridner"] if span.id_ == entity.id]
            assert [(span.start_char, span.end_char) for span in own] == [(at.start, at.end) for at in entity.fragments]
            assert {span.label_ for span in own} == {entity.type}
            discontinuous += len(own) > 1
        assert len(doc.spans["gridner"]) == sum(len(entity.fragments) for entity in doc._.gridner)
    assert discontinuous
    assert not doc.ents
    assert not component.notes
    assert nlp("")._.gridner == ()
    assert nlp(" \n ")._.gridner == ()
    assert BLANK("pain")._.gridner == ()


@st.composite
def found_in_texts(draw: st.DrawFn) -> tuple[str, list[Entity]]:
    """A text, and entities in it that neither begin nor end with a space, as those that are found."""
    text = draw(texts())
    pieces = fragments(len(text)).filter(
        lambda found: not any(" " in (text[at.start], text[at.end - 1]) for at in found)
    )
    solid = len(text.replace(" ", "")) > 0
    many = draw(st.lists(pieces, max_size=4)) if solid else []
    return text, [Entity(draw(st.sampled_from(TYPES)), found, draw(st.none() | st.floats(0, 1))) for found in many]


@given(found_in_texts())
def test_spans_are_the_tokens_under_the_fragments_and_entities_keep_their_characters(
    case: tuple[str, list[Entity]],
) -> None:
    text, entities = case
    doc, notes = BLANK.make_doc(text), Notes()
    put(doc, entities, "gridner", where="doc 1", notes=notes)
    assert list(entities_of(doc)) == entities
    parts = [part for entity in entities for part in entity.fragments]
    widened = 0
    for part, span in zip(parts, doc.spans["gridner"], strict=True):
        under = [token.i for token in doc if token.idx < part.end and token.idx + len(token) > part.start]
        assert [token.i for token in span] == under
        widened += (span.start_char, span.end_char) != (part.start, part.end)
    assert notes[WIDENED] == widened
    packed = DocBin(store_user_data=True, docs=[doc]).to_bytes()
    (unpacked,) = DocBin().from_bytes(packed).get_docs(Vocab())
    for again in (unpacked, Doc(Vocab()).from_bytes(doc.to_bytes()), pickle.loads(pickle.dumps(doc))):
        assert entities_of(again) == entities_of(doc)
        assert [(one.score, one.id) for one in entities_of(again)] == [(one.score, one.id) for one in entities_of(doc)]
        assert spans(again) == spans(doc)


@given(texts(), st.sampled_from(["gridner", "spacy"]), st.booleans())
def test_tokens_and_sentences_are_whose_they_are_asked_to_be(text: str, tokens: Any, own: bool) -> None:
    doc = BLANK.make_doc(text)
    if own:
        SENTENCIZER(doc)
    document = document_of(doc, "doc 1", tokens=tokens, sentences="spacy" if own else "gridner")
    sentences = sentences_of(document)
    words = [(word.start, word.end) for sentence in sentences for word in sentence.words]
    if tokens == "spacy":
        assert words == [(token.idx, token.idx + len(token)) for token in doc if not token.is_space]
    if own:
        inside = [(sent.start_char, sent.end_char) for sent in doc.sents]
        assert all(any(a <= one.start and one.end <= b for a, b in inside) for one in sentences)
        if tokens == "gridner":
            assert words == [(at.start, at.end) for a, b in inside for at in tokenize(text, a, b)]
    elif tokens == "gridner":
        assert sentences == sentences_of(Document("doc 1", text))


def test_a_fragment_inside_a_token_is_widened_and_counted(exported: Path) -> None:
    text = "Took 5mg/day of post-natal/pre-natal (care)x."
    nlp, component = pipeline(exported)
    nlp.tokenizer = lambda text: Doc(nlp.vocab, words=text.split(" "))
    doc = nlp(text)
    parts = [part for entity in doc._.gridner for part in entity.fragments]
    odd = [
        part for part, span in zip(parts, doc.spans["gridner"], strict=True) if span.text != text[part.start : part.end]
    ]
    assert odd
    assert component.notes[WIDENED] == len(odd)
    assert component.notes.places(WIDENED)[0].startswith(f"doc 1: {odd[0]} '{text[odd[0].start : odd[0].end]}' to '")
    assert doc._.gridner == load(exported, threads=1)(text).entities
    other, quiet = pipeline(exported, tokens="spacy")
    other.tokenizer = lambda text: Doc(other.vocab, words=text.split(" "))
    assert other(text)._.gridner
    assert not quiet.notes[WIDENED]


class Counting:
    """An engine that counts its batches."""

    workers = 1

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.sizes: list[int] = []

    def encode(self, batch: PieceBatch) -> WordVectors:
        self.sizes.append(len(batch.lengths))
        return self.engine.encode(batch)

    def tag(self, grid: GridBatch) -> NDArray[np.floating]:
        return self.engine.tag(grid)


def test_pipe_batches_and_keeps_the_order(exported: Path) -> None:
    nlp, component = pipeline(exported)
    alone = [nlp(text) for text in TEXTS]
    engine = Counting(component.recognizer.engine)
    component.recognizer.engine = engine
    many = list(nlp.pipe(TEXTS * 3))
    assert [doc.text for doc in many] == list(TEXTS * 3)
    assert list(map(found, many)) == [found(doc) for doc in alone * 3]
    assert len(engine.sizes) < len(many)
    assert [context for _, context in nlp.pipe(((text, text) for text in TEXTS), as_tuples=True)] == list(TEXTS)
    read = []

    def stream() -> Iterator[str]:
        for text in TEXTS:
            read.append(text)
            yield text

    next(nlp.pipe(stream(), batch_size=2))
    assert len(read) < len(TEXTS)  # no more than a batch ahead


def test_docs_that_fail_go_to_the_error_handler_alone(exported: Path) -> None:
    nlp, _ = pipeline(exported, sentences="spacy")
    with pytest.raises(UsageError, match="no sentence boundaries; add a sentencizer, parser or senter before"):
        nlp("Pain in left arm. It is bad.")
    with pytest.raises(UsageError, match="no sentence boundaries"):
        list(nlp.pipe(["Pain in left arm. It is bad."]))
    handled: list[tuple[str, list[str], str]] = []

    def keep(name: str, _: object, docs: list[Doc], error: Exception) -> None:
        handled.append((name, [doc.text for doc in docs], str(error)))

    set_handler(nlp, keep)
    assert [doc.text for doc in nlp.pipe(["one", "two words", "", "three"])] == ["one", "", "three"]
    ((name, failed, said),) = handled
    assert (name, failed) == ("gridner", ["two words"])
    assert "no sentence boundaries" in said


def test_a_failure_of_the_network_costs_one_doc(exported: Path) -> None:
    nlp, component = pipeline(exported)
    whole = list(nlp.pipe(TEXTS))
    inner: Engine = component.recognizer.engine

    class Failing:
        workers = 1

        def encode(self, batch: PieceBatch) -> WordVectors:
            if 6 in batch.lengths:  # words of the third and fourth text
                raise MemoryError("too much")
            return inner.encode(batch)

        def tag(self, grid: GridBatch) -> NDArray[np.floating]:
            return inner.tag(grid)

    lengths = [[len(one.words) for one in sentences_of(Document("x", text))] for text in TEXTS]
    good = [number for number, found in enumerate(lengths) if 6 not in found]
    assert 0 < len(good) < len(TEXTS)
    component.recognizer.engine = Failing()
    handled: list[str] = []
    set_handler(nlp, lambda _, __, docs, error: handled.extend(doc.text for doc in docs))
    assert list(map(found, nlp.pipe(TEXTS))) == [found(whole[number]) for number in good]
    assert handled == [text for number, text in enumerate(TEXTS) if number not in good]


def test_settings_choose(exported: Path, tmp_path: Path) -> None:
    text = " ".join(TEXTS)
    every = pipeline(exported)[0](text)
    few = pipeline(exported, threshold=0.9)[0](text)
    assert 0 < len(few._.gridner) < len(every._.gridner)
    drugs = pipeline(exported, types=["Drug"], spans_key="drugs")[0](text)
    assert {span.label_ for span in drugs.spans["drugs"]} == {"Drug"}
    assert "gridner" not in drugs.spans
    (tmp_path / "names.tsv").write_text("Drug\tleft\n")
    named = pipeline(exported, lexicon=str(tmp_path / "names.tsv"))[0](text)
    assert sum(one.score or 0 for one in named._.gridner) > sum(one.score or 0 for one in every._.gridner)
    lines = pipeline(exported, "sentencizer", sentences="spacy", tokens="spacy")[0]
    assert lines.pipe_names == ["sentencizer", "gridner"]
    assert lines(text)._.gridner


def test_two_components_share_a_doc(exported: Path) -> None:
    nlp, _ = pipeline(exported)
    nlp.add_pipe("gridner", "again", config={"model": str(exported), "spans_key": "again", "threshold": 0.9})
    doc = nlp(TEXTS[0])
    ids = [entity.id for entity in doc._.gridner]
    assert len(set(ids)) == len(ids)
    assert {id for id, *_ in spans(doc)} | {id for id, *_ in spans(doc, "again")} == set(ids)
    assert len(nlp.get_pipe("again")(doc)._.gridner) == len(ids)  # what a component found before is replaced


@pytest.fixture
def moved(exported: Path, tmp_path: Path) -> Path:
    """A model folder that a test may remove."""
    shutil.copytree(exported, tmp_path / "model")
    (tmp_path / "model" / "notes.txt").write_text("of somebody's own")
    return tmp_path / "model"


def test_a_saved_pipeline_needs_nothing_else(moved: Path, tmp_path: Path) -> None:
    names = tmp_path / "names.tsv"
    names.write_text("Drug\tleft\n")
    nlp, _ = pipeline(moved, threshold=0.4, lexicon=str(names))
    expected = list(map(found, nlp.pipe(TEXTS)))
    nlp.to_disk(tmp_path / "saved")
    nlp.to_disk(tmp_path / "saved")  # over itself
    data, config = nlp.to_bytes(), nlp.config
    shutil.rmtree(moved)
    names.unlink()
    assert not (tmp_path / "saved" / "gridner" / "model" / "notes.txt").exists()

    shutil.move(tmp_path / "saved", tmp_path / "elsewhere")
    loaded = spacy.load(tmp_path / "elsewhere")
    assert list(map(found, loaded.pipe(TEXTS))) == expected
    loaded.to_disk(tmp_path / "elsewhere")  # where it came from
    assert list(map(found, spacy.load(tmp_path / "elsewhere").pipe(TEXTS))) == expected
    strict = spacy.load(tmp_path / "elsewhere", config={"components": {"gridner": {"threshold": 0.9}}})
    assert sum(map(len, map(found, strict.pipe(TEXTS)))) < sum(map(len, expected))

    of_config = type(nlp).from_config(config).from_bytes(data)
    assert list(map(found, of_config.pipe(TEXTS))) == expected
    plain = spacy.blank("en")
    component: Any = plain.add_pipe("gridner")
    plain.from_bytes(data)
    assert component.settings.threshold == 0.4
    assert list(map(found, plain.pipe(TEXTS))) == expected
    folder = Path(component._model).parent
    assert folder.is_dir()
    plain.remove_pipe("gridner")
    del component
    assert not folder.exists()


def test_another_model_may_be_given_to_a_saved_pipeline(moved: Path, exported: Path, tmp_path: Path) -> None:
    nlp, component = pipeline(moved)
    nlp.to_disk(tmp_path / "saved")
    other: Any = spacy.load(tmp_path / "saved", config={"components": {"gridner": {"model": str(exported)}}})
    assert other.get_pipe("gridner")._model == str(exported)
    same: Any = spacy.load(tmp_path / "saved")
    assert same.get_pipe("gridner")._model == str(tmp_path / "saved" / "gridner" / "model")
    component.to_disk(tmp_path / "light", exclude=["model"])
    assert [path.name for path in (tmp_path / "light").rglob("*") if path.is_file()] == ["settings.json"]
    assert Component().from_disk(tmp_path / "light")._model == str(moved)


def test_a_copy_for_another_process_finds_the_same(exported: Path) -> None:
    nlp, component = pipeline(exported)
    doc = nlp(TEXTS[0])
    again = pickle.loads(pickle.dumps(component))
    assert found(again(BLANK.make_doc(TEXTS[0]))) == found(doc)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")  # spaCy forks
def test_processes_find_the_same(exported: Path) -> None:
    nlp, _ = pipeline(exported)
    expected = [found(nlp(text)) for text in TEXTS]
    docs = list(nlp.pipe(TEXTS, n_process=2, batch_size=2))
    assert [doc.text for doc in docs] == list(TEXTS)
    assert list(map(found, docs)) == expected


def test_displacy_draws_the_spans(exported: Path) -> None:
    doc = pipeline(exported)[0](TEXTS[0])
    drawn = displacy.render(doc, style="span", options={"spans_key": "gridner"}, jupyter=False)
    for entity in doc._.gridner:
        assert entity.type in drawn
    assert "shoulder" in drawn


def test_a_part_of_a_doc_is_an_error_and_not_a_wrong_answer(exported: Path) -> None:
    doc = pipeline(exported)[0](TEXTS[0])
    assert doc._.gridner
    with pytest.raises(UsageError, match=r"doc\._\.gridner: the doc has another text"):
        _ = doc[2:].as_doc(copy_user_data=True)._.gridner


def test_bad_settings_are_one_clear_error(exported: Path, tmp_path: Path) -> None:
    for config, said in (
        ({"threshold": 1.5}, "threshold is 1.5, expected 0 to 1"),
        ({"batch_size": 0}, "batch_size is 0, expected at least 1"),
        ({"threads": 0}, "threads is 0, expected at least 1"),
        ({"types": []}, "types is an empty list"),
        ({"spans_key": ""}, "spans_key is empty"),
    ):
        with pytest.raises(UsageError, match=said):
            pipeline(exported, **config)
    with pytest.raises(UsageError, match="tokens is 'words', expected 'gridner' or 'spacy'"):
        Settings(tokens="words")  # type: ignore[arg-type]
    nlp, component = pipeline(exported, types=["Cell"])
    with pytest.raises(UsageError, match="type Cell, expected those that the model finds: Drug, Sign"):
        nlp("pain")
    nlp, component = pipeline(tmp_path)
    attempts: list[Callable[[], object]] = [lambda: nlp("pain"), nlp.to_bytes, lambda: list(nlp.pipe(["pain"]))]
    for attempt in attempts:
        with pytest.raises(FormatError, match="not a gridner model"):
            attempt()
    set_handler(nlp, lambda *_: None)
    with pytest.raises(FormatError, match="not a gridner model"):  # which is the fault of no doc
        list(nlp.pipe(["pain"]))
    with pytest.raises(FormatError, match=r"expected settings\.json in it"):
        component.from_disk(tmp_path)
    (tmp_path / "settings.json").write_text("{")
    with pytest.raises(FormatError, match="save the pipeline again"):
        Component().from_disk(tmp_path)
    (tmp_path / "settings.json").write_text('{"colour": "blue"}')
    with pytest.raises(FormatError, match="unknown setting 'colour'"):
        component.from_disk(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        pipeline(exported)[1].to_disk(tmp_path / "file" / "gridner")
    with pytest.raises(FormatError, match=r"names\.tsv: no such file"):
        pipeline(exported, lexicon=str(tmp_path / "names.tsv"))[1].to_bytes()


def test_a_missing_spacy_is_said_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "spacy"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "gridner.integrations.spacy")
    with pytest.raises(UsageError, match=r"spacy is missing; install it with: pip install 'gridner\[spacy\]'"):
        importlib.import_module("gridner.integrations.spacy")


def test_an_installed_gridner_needs_no_import(tmp_path: Path) -> None:
    entry_point(tmp_path)
    said = run("import spacy; nlp = spacy.blank('de'); nlp.add_pipe('gridner'); print(nlp.pipe_names)", tmp_path)
    assert said == "['gridner']\n"


def test_the_examples_of_the_docs_run(tmp_path: Path) -> None:
    entry_point(tmp_path)
    first, settings, saving = run_section("spaCy", tmp_path)
    assert "Condition ['Pain in', 'shoulder']" in first
    assert "Condition Pain in left arm" in first
    assert "Condition" in settings
    loose, strict = map(int, saving.split())
    assert loose > strict


def test_several_models_are_combined_and_saved_without_their_files(exported: Path, tmp_path: Path) -> None:
    other = shutil.copytree(exported, tmp_path / "other")
    nlp = spacy.blank("en")
    component: Any = nlp.add_pipe("gridner", config={"model": [str(exported), str(other)], "threads": 1})
    doc = nlp(TEXTS[0])
    assert doc._.gridner
    assert all(entity.meta == {"models": [exported.name, "other"]} for entity in doc._.gridner)
    with pytest.raises(UsageError, match="2 models, but a pipeline can be saved with one"):
        component.to_disk(tmp_path / "saved")
    component.to_disk(tmp_path / "saved", exclude=["model"])
    assert found(Component().from_disk(tmp_path / "saved")(nlp.make_doc(TEXTS[0]))) == found(doc)
