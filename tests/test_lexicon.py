from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridner.augment import renamed
from gridner.documents import Document
from gridner.errors import FormatError, Notes
from gridner.lexicon import Lexicon, read_lexicon
from gridner.sentences import align
from strategies import documents
from test_augment import phrases, sentence, text

NAMES = Lexicon([("Cell", "Sertoli cell"), ("Cell", "neuron"), ("Cell", "T-cell"), ("Sign", "ache")])


def file(folder: Path, content: str) -> Path:
    path = folder / "names.tsv"
    path.write_text(content, encoding="utf-8")
    return path


def test_a_mention_gets_a_name_of_as_many_words() -> None:
    seen = {text(renamed(sentence("the rod cell dies", ("Cell", (1, 2))), NAMES, 1.0, Random(n))) for n in range(20)}
    assert seen == {"the Sertoli cell dies"}
    assert text(renamed(sentence("a T - cell", ("Cell", (1, 2, 3))), NAMES, 1.0, Random(1))) == "a T - cell"


def test_a_plural_stays_a_plural() -> None:
    assert text(renamed(sentence("rod cells die", ("Cell", (0, 1))), NAMES, 1.0, Random(1))) == "Sertoli cells die"
    assert text(renamed(sentence("gliosis rose", ("Sign", (0,))), NAMES, 1.0, Random(1))) == "ache rose"


def test_only_flat_mentions_that_stand_alone_get_another_name() -> None:
    gap = sentence("rod and cone cells", ("Cell", (0, 3)), ("Cell", (2, 3)))
    nested = sentence("rod cell", ("Cell", (0, 1)), ("Sign", (0,)))
    for one in (gap, nested):
        assert renamed(one, NAMES, 1.0, Random(1)) is one


def test_the_share_says_how_many() -> None:
    one = sentence("rod cell", ("Cell", (0, 1)))
    random = Random(1)
    changed = sum(renamed(one, NAMES, 0.3, random) is not one for _ in range(1000))
    assert 250 < changed < 350


@given(documents(), st.floats(0, 1), st.randoms(use_true_random=False))
def test_words_outside_of_mentions_and_the_places_of_mentions_stay(
    document: Document, share: float, random: Random
) -> None:
    names = Lexicon((entity.type, "new " * size) for entity in document.entities for size in (1, 2, 3))
    for one in align(document).sentences:
        made = renamed(one, names, share, random)
        assert made.mentions == one.mentions
        marked = {word for mention in one.mentions for word in mention.words}
        for place, (new, old) in enumerate(zip(made.words, one.words, strict=True)):
            assert new.text in ({old.text, "new", "news"} if place in marked else {old.text})


def test_names_that_the_corpus_leaves_unmarked_are_left_out_and_counted() -> None:
    lexicon = Lexicon([("Cell", "cell"), ("Cell", "rod cell"), ("Cell", "neuron"), ("Drug", "aspirin")])
    corpus = [
        sentence("a cell and a rod cell", ("Cell", (4, 5))),
        sentence("the Neuron , a neuron", ("Cell", (1,))),
    ]
    notes = Notes()
    kept = lexicon.suited(corpus, notes=notes)
    assert kept.about()["names"] == {"Cell": 2}
    assert notes.places("lexicon: name that train mostly leaves unmarked, left out") == ["Cell: cell"]
    assert notes.places("lexicon: name of a type that train does not have, left out") == ["Drug: aspirin"]
    assert phrases(renamed(corpus[1], kept, 1.0, Random(1))) == {"neuron"}


def test_a_file_is_read(tmp_path: Path) -> None:
    read = read_lexicon(file(tmp_path, "# names\nCell\tSertoli cell\n\nCell\tSertoli cell\r\nSign\t ache \n"))
    assert read.about()["names"] == {"Cell": 1, "Sign": 1}
    assert read.about() == read_lexicon(file(tmp_path, "Sign\tache\nCell\tSertoli cell\n")).about()
    assert read.about() != NAMES.about()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Cell Sertoli cell\n", "names.tsv:1: 'Cell Sertoli cell', expected a type, a tab and a name"),
        ("Cell\ta\nCell\t \n", r"names.tsv:2: 'Cell\t ', expected a type, a tab and a name"),
        ("Cell\ta\tb\n", r"names.tsv:1: 'Cell\ta\tb', expected a type, a tab and a name"),
        ("\tname\n", "names.tsv:1: entity type ''"),
        ("# nothing\n\n", "names.tsv: no names, expected lines with a type, a tab and a name"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        read_lexicon(file(tmp_path, content))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"absent\.tsv: cannot be read"):
        read_lexicon(tmp_path / "absent.tsv")
