"""Several models of the same types as one."""

from dataclasses import replace

import numpy as np
import pytest

from gridner.corpus.gazetteer import Lexicon
from gridner.documents import Document
from gridner.errors import Notes, UsageError
from gridner.inference.averaged_models import averaged
from gridner.inference.recognizer import Recognizer
from gridner.inference.word_pieces import PieceTokenizer
from gridner.tagging.tags import TagScheme, TypeGroup
from support.command import gridner
from support.small import TEXTS, part
from support.untrained import untrained

TEXT = " ".join(TEXTS)


def model(seed: int) -> Recognizer:
    """A model with candidate words, like `untrained`, but different for each seed."""
    trained = untrained("candidates")
    random = np.random.default_rng(seed)
    for parameter in trained.model.parameters():
        parameter.data += parameter.data.new_tensor(random.normal(0, 0.05, tuple(parameter.shape)))
    assert trained.model.candidates is not None
    trained.model.candidates.offset.fill_(1 + 0.3 * seed)  # so they differ in their candidates
    recognizer: Recognizer = trained.recognizer()
    return recognizer


@pytest.fixture(scope="module")
def three() -> dict[str, Recognizer]:
    return {str(seed): model(seed) for seed in range(3)}


def test_probabilities_are_means_over_the_candidates_of_any_model(three: dict[str, Recognizer]) -> None:
    sentences = part().sentences * 12  # more than are kept at a time
    types = len(three["0"].types)
    links = [np.zeros((len(sentence.words), len(sentence.words), 1)) for sentence in sentences]
    ends = [np.zeros((len(sentence.words), len(sentence.words), types)) for sentence in sentences]
    sizes: list[set[int]] = [set() for _ in sentences]
    for recognizer in three.values():
        for window in recognizer.score_windows(sentences):
            sizes[window.sentence].add(len(window.candidates))
            cells = np.ix_(window.candidates, window.candidates)
            links[window.sentence][cells] += window.relations.links / 3
            ends[window.sentence][cells] += window.relations.ends / 3
    assert any(len(of_sentence) > 1 for of_sentence in sizes)  # the models differ in their candidates
    seen = []
    for window in averaged(three).score_windows(sentences):
        seen.append(window.sentence)
        cells = np.ix_(window.candidates, window.candidates)
        np.testing.assert_allclose(window.relations.links, links[window.sentence][cells], atol=1e-5)
        np.testing.assert_allclose(window.relations.ends, ends[window.sentence][cells], atol=1e-5)
    assert sorted(seen) == list(range(len(sentences)))


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_models_may_have_different_tags(three: dict[str, Recognizer], order: tuple[int, int]) -> None:
    models = [(three["0"], untrained("w2ner").recognizer())[number] for number in order]
    (sentence,) = part().sentences[:1]
    size = len(sentence.words)
    ends, links = np.zeros((size, size, len(models[0].types))), np.zeros((size, size, 1))
    tags = np.zeros((size, size, len(models[0].scheme.labels)))
    for number, model in enumerate(models):
        (window,) = model.score_windows([sentence])
        cells = np.ix_(window.candidates, window.candidates)
        ends[cells] += window.relations.ends / 2
        links[cells] += window.relations.links / 2
        if number == 0:
            tags[cells] = window.tags
    (window,) = averaged(dict(zip("ab", models, strict=True))).score_windows([sentence])
    cells = np.ix_(window.candidates, window.candidates)
    np.testing.assert_allclose(window.relations.ends, ends[cells], atol=1e-5)
    np.testing.assert_allclose(window.relations.links, links[cells], atol=1e-5)
    np.testing.assert_allclose(window.tags, tags[cells], atol=1e-5)


def test_a_model_and_itself_are_that_model(three: dict[str, Recognizer]) -> None:
    one = three["0"]
    twice = averaged({"a": one, "b": model(0)})
    assert one(TEXT).entities
    assert twice(TEXT).entities == one(TEXT).entities
    for entity, other in zip(twice(TEXT).entities, one(TEXT).entities, strict=True):
        assert entity.score == pytest.approx(other.score, abs=1e-5)


def test_names_of_one_model_count_for_all(three: dict[str, Recognizer]) -> None:
    named = replace(three["1"], lexicon=Lexicon([("Sign", ["nothing", "to", "report"])]))
    sentence = next(one for one in part().sentences if one.words[0].text == "Nothing")
    (window,) = averaged({**three, "1": named}).score_windows([sentence])
    assert [tuple(window.candidates[row] for row in name.words) for name in window.names] == [(0, 1, 2)]


def test_a_sentence_that_is_cut_differently_is_read_by_the_first_and_noted(three: dict[str, Recognizer]) -> None:
    first, second = three["0"], three["1"]
    short = replace(second, tokenizer=PieceTokenizer(second.tokenizer.tokenizer, max_pieces=12))
    document = Document("long", " ".join(["pain in left arm and shoulder"] * 8))
    notes = Notes()
    (found,) = averaged({"a": first, "b": short}).pipe([document], notes=notes)
    assert found.entities == first(document.text).entities
    assert notes.places("sentence that the models cut differently, read by the first alone") == ["long: 0-239"]


def test_models_that_cannot_be_averaged_are_refused(three: dict[str, Recognizer]) -> None:
    with pytest.raises(UsageError, match="one model to average, expected at least two"):
        averaged({"0": three["0"]})
    other = replace(three["1"], scheme=TagScheme(("Cell",)))
    with pytest.raises(UsageError, match="other: types Cell, expected those of 0 to average them: Drug, Sign"):
        averaged({"0": three["0"], "other": other})
    groups = TagScheme(("Drug", "Sign"), groups=(TypeGroup("a", ("Drug",)), TypeGroup("b", ("Sign",))))
    with pytest.raises(
        UsageError, match="other: types a: Drug; b: Sign, expected those of 0 to average them: Drug, Sign"
    ):
        averaged({"0": three["0"], "other": replace(three["1"], scheme=groups)})
    done = gridner("predict", "Pain.", "--average")
    assert done.returncode == 2
    assert "one model to average, expected at least two" in done.stderr
