"""The models that come with gridner."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import gridner
from gridner.documents import Document
from gridner.inference.checkpoint import read_checkpoint
from gridner.inference.installed_models import DEFAULT_MODEL, OWN_MODELS, find_model
from gridner.inference.recognizer import Recognizer
from support.small import documents

SHIPPED = find_model("medical")
MODELS = sorted(path.parent for path in OWN_MODELS.glob("*/README.md"))
MOST_OF_ALL = 90_000_000  # bytes, so that the wheel stays below 100 MB
MOST = 45_000_000  # bytes
TEXTS = [
    "Pain in left arm and shoulder since Tuesday.",
    "The most common adverse reactions were nausea, vomiting, and abdominal pain.",
    "Patients with severe hepatic or renal impairment were excluded.",
    "Loss of rod and cone photoreceptors was seen in the mutant retina.",
    "Bipolar and amacrine cells die by apoptosis.",
    "We thank the members of the laboratory for their help.",
]


@pytest.fixture(scope="module")
def recognizer() -> Recognizer:
    return gridner.load("medical", threads=1)


def found(document: Document) -> set[tuple[str, tuple[str, ...]]]:
    return {
        (entity.type, tuple(document.text[part.start : part.end] for part in entity.fragments))
        for entity in document.entities
    }


def test_it_is_small_and_in_8_bits() -> None:
    assert sum(path.stat().st_size for path in SHIPPED.iterdir()) <= MOST
    checkpoint, _ = read_checkpoint(SHIPPED)
    assert checkpoint.int8
    assert {"AdverseReaction", "Condition", "Drug", "BiologicalProcess", "Cell", "Disease"} < set(checkpoint.types)


def test_all_models_together_fit_into_the_wheel() -> None:
    assert sum(path.stat().st_size for folder in MODELS for path in folder.iterdir()) <= MOST_OF_ALL
    assert OWN_MODELS / DEFAULT_MODEL in MODELS


@pytest.mark.parametrize("folder", MODELS, ids=lambda folder: folder.name)
def test_a_model_says_what_it_is_for_and_what_its_types_mean(folder: Path) -> None:
    checkpoint, _ = read_checkpoint(folder)
    about = checkpoint.about
    assert all((about.description, about.language, about.license))
    assert all(one.description and one.example and one.corpus for one in checkpoint.described_types)


@pytest.mark.parametrize("folder", MODELS, ids=lambda folder: folder.name)
def test_a_card_has_scores_and_failures_and_names_its_sources(folder: Path) -> None:
    card = (folder / "README.md").read_text(encoding="utf-8")
    for said in ("## Scores", "discontinuous", "## Where it fails", "gridner train", "ATTRIBUTION.md"):
        assert said in card, said
    for path in (folder / "README.md", folder / "gridner.json", folder / "ATTRIBUTION.md"):
        assert not re.search(r"(?<![\w.])/(home|tmp|work|root|usr)/", path.read_text(encoding="utf-8")), path
    assert all(path.suffix in (".md", ".json", ".onnx", ".tsv") for path in folder.iterdir())


def test_it_finds_entities_in_pieces(recognizer: Recognizer) -> None:
    assert found(recognizer(TEXTS[0])) >= {("Condition", ("Pain in left arm",)), ("Condition", ("Pain in", "shoulder"))}
    assert found(recognizer(TEXTS[1])) >= {
        ("AdverseReaction", (name,)) for name in ("nausea", "vomiting", "abdominal pain")
    }
    assert found(recognizer(TEXTS[2])) >= {
        ("Condition", ("hepatic", "impairment")),
        ("Condition", ("renal impairment",)),
    }
    assert found(recognizer(TEXTS[3])) >= {("Cell", ("rod", "photoreceptors")), ("Cell", ("cone photoreceptors",))}
    assert found(recognizer(TEXTS[4])) >= {("Cell", ("Bipolar", "cells")), ("BiologicalProcess", ("apoptosis",))}
    assert not recognizer(TEXTS[5]).entities


def test_cells_are_neither_reactions_nor_drugs_with_confidence(recognizer: Recognizer) -> None:
    for text in TEXTS[3:5]:
        clinical = {"AdverseReaction", "Condition", "Drug", "Device"}
        assert not clinical & {entity.type for entity in recognizer(text).entities if (entity.score or 0.0) >= 0.5}


def test_it_finds_what_patients_write(recognizer: Recognizer) -> None:
    text = "My legs and arms ached and I could not sleep after starting Lipitor."
    assert found(recognizer(text)) >= {
        ("AdverseReaction", ("legs", "ached")),
        ("AdverseReaction", ("arms ached",)),
        ("AdverseReaction", ("could not sleep",)),
        ("Drug", ("Lipitor",)),
    }


def test_an_abbreviation_is_found_where_the_text_defines_it(recognizer: Recognizer) -> None:
    text = "Otitis media (OM) is common. In mice, chronic OM is rare."
    assert found(recognizer(text)) >= {("Disease", (name,)) for name in ("Otitis media", "OM", "chronic OM")}


def test_what_it_finds_depends_on_the_text_alone(recognizer: Recognizer) -> None:
    given = [Document(str(number), text) for number, text in enumerate(TEXTS)] + documents()
    alone = [next(recognizer.pipe([document])) for document in given]
    for size, order in ((512, 1), (3, -1), (1, 1)):
        together = list(recognizer.pipe(given[::order], batch_size=size))[::order]
        for one, other in zip(alone, together, strict=True):
            assert found(one) == found(other)
            for a, b in zip(one.entities, other.entities, strict=True):
                assert a.score == pytest.approx(b.score, abs=1e-3)


def test_the_threshold_trades_both_ways() -> None:
    text = " ".join(TEXTS)
    low, middle, high = (gridner.load("medical", threads=1, threshold=least)(text) for least in (0.02, 0.5, 0.95))
    assert len(low.entities) > len(middle.entities) > len(high.entities)


def test_the_command_line_needs_no_model() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gridner", "predict", TEXTS[0], "--threads", "1"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert TEXTS[0] in done.stdout
    code = "import gridner, sys; gridner.load()('rod cells'); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "transformers"} & set(loaded)


def test_every_article_of_the_corpus_is_named() -> None:
    attribution = (SHIPPED / "ATTRIBUTION.md").read_text(encoding="utf-8")
    assert attribution.count("| train |") == 39
