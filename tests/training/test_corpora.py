"""One model from several corpora: each teaches only what it marks, and is scored on that."""

import csv
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from gridner import evaluate
from gridner.config import Config, config_from
from gridner.corpus.gazetteer import Lexicon
from gridner.corpus.splits import Corpus, Part, part_of
from gridner.documents import Document, Entity, Fragment
from gridner.errors import Notes, OutputError, UsageError
from gridner.inference.checkpoint import read_checkpoint
from gridner.inference.loading import load
from gridner.inference.tune_model import tune_model
from gridner.model.toe import Batch
from gridner.model.trained_model import TrainedModel
from gridner.tagging.tags import TagScheme, TypeGroup
from gridner.training import TrainingTask, train_once
from gridner.training.diagnostics import tune_candidate_offset
from gridner.training.examples import TrainingSet, examples_of, gold_words
from gridner.training.initialization import fresh
from gridner.training.objective import Objective
from gridner.training.task import check_parts
from support.small import documents, part, tiny_config, word_pieces
from support.training import weights

DRUGS = ("Aspirin helps the left arm.", "Take aspirin or ibuprofen today.", "No ibuprofen with muscle pain.", "Rest.")


def drugs(*, name: str = "train") -> Part:
    """Notes where drugs are marked, and signs are not."""
    found = []
    for number, text in enumerate(DRUGS):
        places = [(text.lower().find(drug), len(drug)) for drug in ("aspirin", "ibuprofen")]
        entities = tuple(Entity("Drug", (Fragment(at, at + size),)) for at, size in places if at >= 0)
        found.append(Document(f"note-{number}", text, entities))
    return part_of(found, notes=Notes(), name=name)


def config(model: dict[str, object] | None = None, **settings: object) -> Config:
    data = tiny_config(**settings).to_dict()
    data["model"] |= model or {}
    return config_from(data, "tests")


LOSSES = [1.1323, 1.09707]  # of one corpus, as they were before there were groups
W2NER: dict[str, object] = {"architecture": "w2ner", "trem": False, "tags": "NNW+THW"}


def joint(output: Path, *, model: dict[str, object] | None = None, **settings: object) -> TrainingTask:
    other = Corpus("drugs", drugs(), drugs(), drugs())
    return TrainingTask(
        config=config(model, **settings), train=part(), dev=part(), name="signs", more=(other,), output=output
    )


def test_one_corpus_has_the_files_and_tensors_that_it_always_had(tmp_path: Path) -> None:
    task = TrainingTask(
        config=config({"candidates": True}), train=part(), dev=part(), test=part(), output=tmp_path / "m"
    )
    assert task.scheme == TagScheme(("Sign",))
    train_once(task)
    assert {path.name for path in (tmp_path / "m").iterdir()} == {
        *("README.md", "curves.png", "dev.jsonl", "gridner.json", "log.csv", "model.safetensors", "test.jsonl"),
        "tokenizer.json",
    }
    about = json.loads((tmp_path / "m" / "gridner.json").read_text())
    assert about["format"] == 2
    assert "groups" not in about
    assert "weights" not in about["training"]
    assert set(about["training"]["scores"]) == {"dev", "test"}
    assert set(about["training"]["identity"]["data"]) == {"train", "dev", "test"}
    shapes = {name: tensor.shape for name, tensor in load_file(tmp_path / "m" / "model.safetensors").items()}
    assert shapes["predictor.grid_out.weight"] == (4, 8)  # NNW, PNW, HTW:Sign, THW:Sign
    assert shapes["candidates.out.weight"] == (1, 64)
    assert shapes["candidates.offset"] == ()
    with open(tmp_path / "m" / "log.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[:6] == ["epoch", "loss", "seconds", "all P", "all R", "all F1"]
    assert [float(row["loss"]) for row in rows] == pytest.approx(LOSSES, rel=1e-3)


@pytest.mark.parametrize("model", [{}, {"candidates": True}, W2NER], ids=["toe", "candidates", "w2ner"])
def test_a_sentence_teaches_nothing_about_the_types_of_other_corpora(model: dict[str, object], tmp_path: Path) -> None:
    task = joint(tmp_path, model=model)
    scheme = task.scheme
    sentences = [sentence for corpus in task.corpora for sentence in corpus.train.sentences]
    start = fresh(task.config, scheme, sentences, seed=1, notes=Notes())
    objective = Objective(task.config, scheme, start.pieces)
    data = TrainingSet(task.corpora, pieces=start.pieces, config=task.config, notes=Notes())
    for group in (0, 1):
        start.model.zero_grad()
        some = [example for example in data.examples if example.group == group]
        objective(start.model, some, torch.device("cpu")).backward()  # type: ignore[no-untyped-call]
        foreign = np.flatnonzero(~scheme.group_labels[group])
        assert len(foreign) == 4 if not model.get("architecture") else 2
        predictor = start.model.predictor
        for layer in (predictor.grid_out, predictor.from_subject, predictor.from_object, predictor.bilinear):
            assert layer.weight.grad is not None
            rows = layer.weight.grad.view(predictor.grid_out.out_features, -1)
            assert not rows[foreign].any()
            assert rows[np.flatnonzero(scheme.group_labels[group])].any()
        if start.model.candidates is not None:
            of_groups = start.model.candidates.out.weight.grad
            assert of_groups is not None
            assert not of_groups[1 - group].any()
            assert of_groups[group].any()


@pytest.mark.parametrize("model", [{}, {"candidates": True}, W2NER], ids=["toe", "candidates", "w2ner"])
def test_a_type_keeps_its_score_when_a_corpus_without_it_is_added(model: dict[str, object], tmp_path: Path) -> None:
    """Most words of the second corpus are those of the first, unmarked: taken for gold, it would unteach them."""
    silent = [replace(one, entities=()) for one in documents()]
    other = part_of(
        [*drugs().documents, *(replace(one, id=f"s-{one.id}") for one in silent)], notes=Notes(), name="train"
    )
    settings = {"epochs": 50, "rate": 5e-3, "batch_size": 4}
    sure = {**model, "width": 32, "word_dropout": 0.0, "grid_dropout": 0.0, "predictor_dropout": 0.0}
    alone = TrainingTask(config=config(sure, **settings), train=part(), dev=part(), output=tmp_path / "alone")
    both = replace(alone, name="signs", more=(Corpus("drugs", other, other),), output=tmp_path / "both")
    before = train_once(alone)["scores"]["dev"]["exact"]["all"]["f1"]
    after = train_once(both)["scores"]
    assert before > 0.9
    assert after["dev-signs"]["exact"]["all"]["f1"] >= before - 0.1
    assert after["dev-drugs"]["exact"]["all"]["f1"] > 0.9


def test_every_corpus_has_its_scores_its_files_and_its_place_in_the_card(tmp_path: Path) -> None:
    facts = train_once(joint(tmp_path / "m", tune_thresholds=True))
    assert list(facts["scores"]) == ["dev-signs", "dev-drugs", "test-drugs"]
    names = {path.name for path in (tmp_path / "m").iterdir()}
    assert {"dev-signs.jsonl", "dev-drugs.jsonl", "test-drugs.jsonl"} <= names
    assert "dev.jsonl" not in names
    checkpoint, _ = read_checkpoint(tmp_path / "m")
    assert checkpoint.groups == (TypeGroup("signs", ("Sign",)), TypeGroup("drugs", ("Drug",)))
    assert checkpoint.types == ("Drug", "Sign")
    card = (tmp_path / "m" / "README.md").read_text()
    assert "| signs | 1 | Sign 11 |" in card
    assert "| drugs | 1 | Drug 4 |" in card
    assert "## Scores on dev-drugs" in card
    with open(tmp_path / "m" / "log.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        mean = (float(row["signs all F1"]) + float(row["drugs all F1"])) / 2
        assert float(row["all F1"]) == pytest.approx(mean, abs=1e-5)
        assert row["discontinuous F1"] == row["signs discontinuous F1"]  # the other has no gaps
    for line in (tmp_path / "m" / "dev-drugs.jsonl").read_text().splitlines():
        assert {entity["type"] for entity in json.loads(line)["entities"]} <= {"Drug"}
    recognizer = load(tmp_path / "m", threshold=0.01)
    assert recognizer.scheme == checkpoint.scheme
    assert isinstance(recognizer(DRUGS[0]), Document)


def test_a_run_of_several_corpora_goes_on_only_with_the_same(tmp_path: Path) -> None:
    task = joint(tmp_path / "m")
    train_once(task)
    train_once(replace(task, output=tmp_path / "again"))
    assert weights(tmp_path / "m") == weights(tmp_path / "again")
    other = task.more[0]
    swapped = replace(
        task,
        name=other.name,
        train=other.train,
        dev=other.dev,
        test=other.test,
        more=(replace(other, name="signs", train=task.train, dev=task.dev, test=None),),
    )
    with pytest.raises(OutputError, match=r"data\.corpora"):
        train_once(swapped, resume=True)
    with pytest.raises(OutputError, match=r"data\.weights"):
        train_once(replace(task, weight=2.0), resume=True)


def test_a_weight_says_how_often_an_epoch_sees_a_corpus() -> None:
    corpora = [Corpus("signs", part(), weight=2.0), Corpus("drugs", drugs(), weight=0.5)]
    pieces = word_pieces([*part().sentences, *drugs().sentences])
    data = TrainingSet(corpora, pieces=pieces, config=tiny_config(), notes=Notes())
    signs, some = data.corpora
    epochs = [[example for step in data.epoch(1, number) for example in step] for number in range(6)]
    assert data.epoch(1, 3) == data.epoch(1, 3)
    for examples in epochs:
        counts = Counter(examples)
        assert all(counts[example] == 2 for example in signs.examples)
        assert sum(counts[example] for example in some.examples) == 2
        assert max(counts[example] for example in some.examples) == 1
        assert len(examples) == data.count == 2 * len(signs.examples) + 2
    assert len({frozenset(example for example in one if example.group == 1) for one in epochs}) > 1


def test_candidates_are_chosen_for_each_group_on_its_own_dev(tmp_path: Path) -> None:
    task = joint(tmp_path, model={"candidates": True})
    sentences = [sentence for corpus in task.corpora for sentence in corpus.train.sentences]
    start = fresh(task.config, task.scheme, sentences, seed=1, notes=Notes())
    head = start.model.candidates
    assert head is not None
    assert head.offset.shape == (2,)
    examples = []
    for group, corpus in enumerate(task.corpora):
        marked = [sentence for sentence in corpus.train.sentences if sentence.mentions]
        settings = task.config.decoding
        examples += examples_of(marked, pieces=start.pieces, settings=settings, notes=Notes(), group=group)
    tuned = tune_candidate_offset(start.model, head, examples, start.pieces, 0.8)
    offsets = head.offset.clone()
    of_group = {group: [one for one in examples if one.group == group] for group in (0, 1)}
    for of_one in of_group.values():
        tune_candidate_offset(start.model, head, of_one, start.pieces, 0.8)  # sets the offset of this group alone
    shift = offsets - head.offset
    assert shift.min() >= 0
    assert shift.allclose(shift[:1], atol=1e-5)
    assert tuned["candidate recall"] >= 0.8
    for rise, enough in ((0.0, True), (0.01, False)):  # no group loses more than it may, and no offset can rise further
        recalls = []
        for of_one in of_group.values():
            kept = total = 0
            for example in of_one:
                batch = Batch(*map(torch.from_numpy, start.pieces.collate([example.words])))
                odds = head(start.model.encoder(*batch))[0]
                gold = torch.from_numpy(gold_words([example])[0])
                chosen = (odds > offsets + rise).any(dim=-1)
                kept, total = kept + int(chosen[gold].sum()), total + int(gold.sum())
            recalls.append(kept / total)
        assert (min(recalls) >= 0.8) is enough


def test_names_are_judged_by_the_corpora_that_mark_their_type(tmp_path: Path) -> None:
    task = replace(
        joint(tmp_path / "m", epochs=1), own_names=True, lexicon=Lexicon([("Place", ["here"]), ("Drug", ["insulin"])])
    )
    notes = Notes()
    train_once(task, notes=notes)
    kept = list(read_checkpoint(tmp_path / "m")[0].lexicon)
    assert ("Drug", ["aspirin"]) in kept
    assert ("Sign", ["nausea"]) in kept
    assert notes["lexicon: name of a type that the corpus does not have, left out"] == 1


def test_what_belongs_to_a_label_goes_on_with_its_name(tmp_path: Path) -> None:
    train_once(joint(tmp_path / "old", model={"candidates": True}, epochs=1))
    still = {"rate": 1e-12, "encoder_rate": 1e-12, "epochs": 1}
    other = replace(joint(tmp_path / "new", model={"candidates": True}, **still), init=tmp_path / "old")
    first = Corpus("signs", part(), part())
    turned = replace(other, name="drugs", train=drugs(), dev=drugs(), more=(first,))
    train_once(turned)
    one = replace(other, name="", output=tmp_path / "one", more=())
    train_once(one)
    old, new, alone = (TrainedModel.load(tmp_path / name) for name in ("old", "new", "one"))
    before = old.checkpoint.scheme.labels
    assert new.checkpoint.scheme.labels[:2] == ("NNW@drugs", "NNW@signs")
    for model, name_of in ((new, str), (alone, lambda label: f"{label}@signs" if label[1:3] == "NW" else label)):
        rows = [before.index(name_of(label)) for label in model.checkpoint.scheme.labels]
        found = model.model.predictor.grid_out.weight
        assert found.allclose(old.model.predictor.grid_out.weight[rows], atol=1e-6)
    assert new.model.candidates is not None
    assert old.model.candidates is not None
    assert new.model.candidates.out.weight.allclose(old.model.candidates.out.weight.flip(0), atol=1e-6)


def test_links_without_a_group_start_those_of_every_group(tmp_path: Path) -> None:
    train_once(replace(joint(tmp_path / "old", epochs=1), more=(), name=""))
    train_once(replace(joint(tmp_path / "new", epochs=1, rate=1e-12, encoder_rate=1e-12), init=tmp_path / "old"))
    old, new = (TrainedModel.load(tmp_path / name).model.predictor.grid_out.weight for name in ("old", "new"))
    assert new[:2].allclose(old[:1], atol=1e-6)
    assert new[2:4].allclose(old[1:2], atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": "drugs"}, "corpus drugs: two of this name"),
        ({"name": "a b"}, "corpus 'a b': expected a name"),
        ({"dev": None}, "dev: none for signs, expected dev documents for every corpus or for none"),
        ({"dev": drugs(name="dev")}, "dev-signs: type Drug in document note-0, expected those of train-signs: Sign"),
        ({"weight": 0.0}, "weight 0 of signs, expected more than 0"),
        ({"train": part_of([Document("a", "none")], notes=Notes(), name="train")}, "train-signs: no entities in 1"),
    ],
)
def test_corpora_that_do_not_fit_together_are_refused(tmp_path: Path, changes: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        check_parts(replace(joint(tmp_path), **changes), Notes())  # type: ignore[arg-type]


def test_dev_documents_that_another_corpus_trains_on_are_said(tmp_path: Path) -> None:
    notes = Notes()
    held = replace(drugs().documents[0], id="held", text=documents()[5].text, entities=())
    dev = part_of([*drugs().documents[1:], held], notes=Notes(), name="dev")
    other = Corpus("drugs", part_of(drugs().documents[:1], notes=Notes(), name="train"), dev)
    check_parts(replace(joint(tmp_path), dev=part(3), train=part(6), more=(other,)), notes)
    assert notes.places("dev-drugs: document that is also in train") == ["held"]


def test_a_model_of_several_corpora_is_tuned_on_all_of_them(tmp_path: Path) -> None:
    train_once(joint(tmp_path / "m", epochs=1))
    corpora = {"signs": documents(), "drugs": list(drugs().documents)}
    notes = Notes()
    (tmp_path / "names.tsv").write_text("Sign\tbrand new ache\nDrug\ttoday\n")  # "today" is no drug in the corpus
    tuned = tune_model(
        corpora,
        tmp_path / "t",
        model=tmp_path / "m",
        test=corpora,
        lexicon=str(tmp_path / "names.tsv"),
        names_from=[corpora["drugs"]],
    )
    assert list(tuned.before) == ["dev-signs", "dev-drugs"]
    assert list(tuned.after) == ["dev-signs", "dev-drugs", "test-signs", "test-drugs"]
    checkpoint, _ = read_checkpoint(tmp_path / "t")
    assert list(checkpoint.training["scores"]) == list(tuned.after)
    names = {(type, " ".join(name)) for type, name in checkpoint.lexicon}
    assert names == {("Sign", "brand new ache"), ("Drug", "aspirin"), ("Drug", "ibuprofen")}
    for name, gold in corpora.items():
        own = {"signs": "Sign", "drugs": "Drug"}[name]
        found = [json.loads(line) for line in (tmp_path / "t" / f"test-{name}.jsonl").read_text().splitlines()]
        assert {entity["type"] for document in found for entity in document["entities"]} <= {own}
        expected = evaluate(gold, [only(document, own) for document in load(tmp_path / "t").pipe(gold)])
        assert tuned.after[f"test-{name}"].score() == expected.score()
    tune_model(corpora["drugs"], tmp_path / "one", model=tmp_path / "m", notes=notes)
    assert not any("count as wrong" in note for note, _, _ in notes)  # signs are of another corpus


def only(document: Document, type: str) -> Document:
    """The document with its entities of one type."""
    return replace(document, entities=tuple(entity for entity in document.entities if entity.type == type))
