from pathlib import Path

import pytest

from gridner.cli.train_corpora import CorpusPaths, NamedPath, corpus_paths
from gridner.errors import UsageError


def sources(
    *train: str, dev: tuple[str, ...] = (), test: tuple[str, ...] = (), weights: tuple[float, ...] = ()
) -> CorpusPaths:
    return corpus_paths(train, dev, test, weights, default_share=0.1)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("craft/train", "craft"),
        ("data/tac-adr/train.jsonl", "tac-adr"),
        ("../chia-train.jsonl", "chia"),
        ("train_chia.jsonl", "chia"),
        ("my corpus/Training", "my-corpus"),
        ("craft.v2/train", "craft.v2"),
        ("craft/", "craft"),
    ],
)
def test_a_corpus_is_called_by_what_tells_most_in_its_path(path: str, name: str) -> None:
    assert NamedPath(path).corpus_name == name


def test_a_name_can_be_given_unless_it_is_a_path(tmp_path: Path) -> None:
    assert sources("x=craft/train", "chia/train").train == {"x": "craft/train", "chia": "chia/train"}
    (tmp_path / "a=b").mkdir()
    assert sources(f"{tmp_path}/a=b").train == {"a-b": f"{tmp_path}/a=b"}


def test_names_made_from_paths_are_made_unique() -> None:
    assert list(sources("a/craft/train", "b/craft/train", "craft-2=c").train) == ["craft", "craft-3", "craft-2"]


def test_dev_and_test_belong_to_the_corpus_in_the_same_place_or_of_their_name() -> None:
    found = sources("a/train", "b/train", dev=("a/dev", "b/dev"), test=("b=x",), weights=(1, 0.5))
    assert found.dev == {"a": "a/dev", "b": "b/dev"}
    assert found.test == {"b": "x"}
    assert found.weights == {"a": 1, "b": 0.5}
    assert sources("a/train", "b/train", dev=("b=x", "a=y")).dev == {"b": "x", "a": "y"}
    assert sources("a/c/train", "b/c/train", dev=("a/c/dev", "b/c/dev")).dev == {"c": "a/c/dev", "c-2": "b/c/dev"}


def test_a_share_is_held_out_of_every_corpus() -> None:
    assert sources("a/train", "b/train").dev_share == 0.1
    assert sources("a/train", "b/train", dev=("0.2",)).dev_share == 0.2
    none = sources("a/train", "b/train", dev=("none",))
    assert (none.dev_share, none.dev) == (None, {})


@pytest.mark.parametrize(
    ("dev", "test", "weights", "said"),
    [
        (("a/dev",), (), (), "--dev 1 times for 2 --train, expected one for each, in the same order"),
        (("a=a/dev",), (), (), "--dev: none for b, expected one for each"),
        (("a/dev", "b/dev", "c/dev"), (), (), "--dev 3 times for 2 --train"),
        (("c=c/dev", "a/dev"), (), (), "--dev c=c/dev: no --train of that name, expected a, b"),
        (("b/dev", "a/dev"), (), (), "--dev b/dev in the place of a, expected the order of --train"),
        (("a/dev", "0.1"), (), (), "--dev 0.1 beside others"),
        (("none", "b/dev"), (), (), "--dev none beside others"),
        (("a/dev", "a=x"), (), (), "--dev: a/dev and x for a"),
        ((), ("x",), (), "--test 1 times for 2 --train"),
        ((), (), (1.0,), "--weight 1 times for 2 --train"),
    ],
)
def test_what_belongs_to_no_corpus_is_refused(
    dev: tuple[str, ...], test: tuple[str, ...], weights: tuple[float, ...], said: str
) -> None:
    with pytest.raises(UsageError) as error:
        sources("a/train", "b/train", dev=dev, test=test, weights=weights)
    assert said in str(error.value)


def test_a_name_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="two of this name"):
        sources("x=a", "x=b")
