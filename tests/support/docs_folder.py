"""A folder with every file that the commands of the docs name, small."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gridner import Document, Notes, read, write
from support.pretraining import encoder
from support.untrained import untrained

ROOT = Path(__file__).parents[2]
TYPES = {"ADR": "Disease", "Disorder": "Disease", "Drug": "Cell", "Anatomy": "Cell"}
KNOWTATOR = """<?xml version="1.0" encoding="UTF-8"?>
<annotations textSource="{name}.txt">
  <annotation><mention id="m1"/><span start="0" end="4"/></annotation>
  <classMention id="m1"><mentionClass id="Disease_Disorder">Disease_Disorder</mentionClass></classMention>
</annotations>
"""


def furnish(room: Path) -> None:
    """Notes, corpora in the layouts that the pages describe, predictions, lexicons, an untrained model and encoder."""
    shutil.copytree(ROOT / "examples", room / "examples")
    own = list(read(room / "examples", "brat"))
    documents = [  # with types that the model that comes with gridner has as well
        replace(document, entities=tuple(replace(entity, type=TYPES[entity.type]) for entity in document.entities))
        for document in own
    ]
    (room / "notes").mkdir()
    (room / "notes" / "one.txt").write_text("Pain in left arm and shoulder.\n")
    (room / "notes" / "two.txt").write_text("Bipolar cells die by apoptosis.\n")
    for name, part in (("train", documents[:8]), ("dev", documents[6:]), ("test", documents[6:])):
        _put(part, room / "corpus" / name, "brat")
        _put(part, room / "craft" / name, "brat")
    for corpus in ("tac-adr", "chia"):  # with types of their own
        for name, part in (("train", own[:8]), ("dev", own[6:])):
            _put(part, room / corpus / name, "brat")
    for name in ("gold", "predictions"):
        _put(documents[:4], room / name, "brat")
    _put(documents[:6], room / "round-1", "brat")
    _put(documents[:6], room / "export.json", "labelstudio")
    for name in ("a", "b", "archive", "documents"):
        _put(documents[:4], room / f"{name}.jsonl", "jsonl")
    for name in ("names", "drugs", "new-cells"):
        (room / f"{name}.tsv").write_text("Disease\tjoint pain\nCell\tastrocyte\n")
    untrained("toe").save_pretrained(room / "model")
    for seed in ("seed-1", "seed-2"):  # whose probabilities are averaged
        untrained("toe").save_pretrained(room / seed)
    encoder(room / "encoder")
    _cadec(room, own[:3])
    _share(room, documents[:3])
    _put(documents[:3], room / "train.json", "w2ner")
    _put(documents[:3], room / "train.txt", "inline")


def _cadec(room: Path, documents: Sequence[Document]) -> None:
    _put(documents, room / "cadec" / "original", "brat")
    (room / "cadec" / "text").mkdir()
    for text in (room / "cadec" / "original").glob("*.txt"):
        text.rename(room / "cadec" / "text" / text.name)
    for split, document in zip(("train", "dev", "test"), documents, strict=True):
        (room / f"{split}.id").write_text(f"{document.id}\n")


def _share(room: Path, documents: Sequence[Document]) -> None:
    (room / "dev.list").write_text(f"{documents[0].id}.txt\n")
    for found, texts in (
        ("train/ALLSAVED", "train/ALLREPORTS"),
        ("Gold_SN2012", "test/ALLREPORTS"),
        ("training_pipedelimited", "training_corpus"),
        ("test_data_gold", "test_data_corpus"),
    ):
        _put(documents, room / found, "share")
        (room / texts).mkdir(parents=True)
        for document in documents:
            (room / found / f"{document.id}.txt").rename(room / texts / f"{document.id}.txt")
            if found == "train/ALLSAVED":
                (room / found / f"{document.id}.pipe.txt").unlink()
                (room / found / f"{document.id}.txt.knowtator.xml").write_text(KNOWTATOR.format(name=document.id))


def _put(documents: Sequence[Document], path: Path, format: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write(documents, path, format, notes=Notes())
