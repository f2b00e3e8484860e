"""Score models on clinical text that they were not trained on: how many reactions and conditions are found exactly.

    python benchmarks/first_minute.py
    python benchmarks/first_minute.py --model my-model --notes FOLDER

The documents are ten posts in patients' words and ten further posts and notes (benchmarks/first_minute), the twelve of
examples/, and those of --notes: brat files, or texts without annotations, of which only predictions are printed. The
script prints the share of mentions that are found, with and without their type, and every confident prediction that is
not annotated.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import gridner
from gridner.documents import Document, Entity, covered_text, extent

ROOT = Path(__file__).parents[1]
WANTED = ("AdverseReaction", "Condition")
SAME = {"ADR": "AdverseReaction", "Disorder": "Condition", "Disease": "Condition"}  # names of other corpora
BAR = 0.5  # share of the mentions that should be found


def with_wanted_types(document: Document) -> Document:
    """Return a document with its reactions and conditions alone, under the names that are compared."""
    renamed = (replace(entity, type=SAME.get(entity.type, entity.type)) for entity in document.entities)
    return replace(document, entities=tuple(entity for entity in renamed if entity.type in WANTED))


def read_notes(folder: Path) -> list[Document]:
    """Return the documents of a folder of brat files or of plain texts."""
    if any(folder.glob("*.ann")):
        return list(gridner.read(folder, format="brat"))
    return [Document(path.stem, path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.txt"))]


def keys(document: Document, *, typed: bool) -> set[tuple[object, ...]]:
    """Return what is compared of the entities of a document."""
    return {(extent(document.text, entity), entity.type if typed else None) for entity in document.entities}


def share_found(gold: Sequence[Document], found: Sequence[Document], *, typed: bool, gaps: bool = False) -> str:
    """Return how many annotated mentions are found, as text."""
    right = total = 0
    for one, other in zip(gold, found, strict=True):
        kept = one.entities if not gaps else tuple(entity for entity in one.entities if len(entity.fragments) > 1)
        wanted = keys(replace(one, entities=kept), typed=typed)
        right, total = right + len(wanted & keys(other, typed=typed)), total + len(wanted)
    return f"{right:>4} of {total:<4} {100 * right / total if total else 0:5.1f} %"


def false_positives(
    gold: Sequence[Document], found: Sequence[Document], *, confident: float
) -> Iterator[tuple[Document, Entity]]:
    """Yield the predictions of at least this score whose words are annotated as no mention of any type."""
    for one, other in zip(gold, found, strict=True):
        annotated = keys(one, typed=False)
        for entity in other.entities:
            if (entity.score or 0.0) >= confident and (extent(one.text, entity), None) not in annotated:
                yield other, entity


def report(name: str, gold: Sequence[Document], found: Sequence[Document], *, confident: float) -> None:
    """Print the figures of a set of documents and its confident false positives."""
    predicted = sum(len(document.entities) for document in found)
    print(f"\n{name}: {len(gold)} documents, {predicted} reactions and conditions predicted")
    if any(document.entities for document in gold):
        print(f"  found exactly, with type     {share_found(gold, found, typed=True)}  (bar: {100 * BAR:.0f} %)")
        print(f"  found exactly, any type      {share_found(gold, found, typed=False)}")
        print(f"  discontinuous, any type      {share_found(gold, found, typed=False, gaps=True)}")
    wrong = list(false_positives(gold, found, confident=confident))
    print(f"  predictions of {confident:g} or more that are not annotated: {len(wrong)}")
    for document, entity in wrong:
        start, end = max(0, entity.start - 30), entity.end + 30
        context = " ".join(document.text[start:end].split())
        words = covered_text(document.text, entity.fragments)
        print(f"    {entity.score:.2f} {entity.type}: {' '.join(words.split())}  [{document.id}: … {context} …]")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", action="append", help="installed model or folder; repeatable (default: the default)")
    parser.add_argument(
        "--notes", type=Path, action="append", default=[], help="folder of further documents; repeatable"
    )
    parser.add_argument("--threshold", type=float, help="minimum score (default: the model's)")
    parser.add_argument("--confident", type=float, default=0.5, help="score of false positives to print (default: 0.5)")
    options = parser.parse_args()
    settings = {} if options.threshold is None else {"threshold": options.threshold}
    recognizer = gridner.load(options.model, **settings)
    known = sorted({SAME.get(name, name) for name in recognizer.types} & set(WANTED))
    print(f"model: {', '.join(options.model or ['default'])}; finds {', '.join(known) or 'neither type'}")
    sets: Iterable[tuple[str, Path]] = [
        ("posts", ROOT / "benchmarks" / "first_minute" / "posts"),
        ("unseen", ROOT / "benchmarks" / "first_minute" / "unseen"),
        ("examples", ROOT / "examples"),
        *((str(folder), folder) for folder in options.notes),
    ]
    for name, folder in sets:
        documents = read_notes(folder)
        found = [with_wanted_types(document) for document in recognizer.pipe(documents)]
        report(name, [with_wanted_types(document) for document in documents], found, confident=options.confident)


if __name__ == "__main__":
    main()
