r"""Compare systems on forms that the training corpus contains and on forms that it does not contain.

    python benchmarks/forms.py craft/train craft/test results/study/craft/toe results/study/craft/w2ner \
      --ids third.ids --file test.jsonl

A form is the type and the lower-case words of an entity. Each folder is a system, and each `dev.jsonl` in it (or the
file that --file names) is a run; numbers are means over the runs. With two or more systems, the script also lists the
forms on which the first two differ most.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from gridner import Document, read
from gridner.documents import Fragment, extent
from gridner.formats import read_ids
from measure import table

Form = tuple[str, str]
Key = tuple[str, str, tuple[Fragment, ...]]  # document, type, extent
SHOWN = 12


def keys_of(documents: Iterable[Document]) -> set[Key]:
    """Return the entities of documents by document, type and extent."""
    return {(one.id, entity.type, extent(one.text, entity)) for one in documents for entity in one.entities}


def form_of(key: Key, texts: dict[str, str]) -> Form:
    """Return the type and the lower-case words of an entity."""
    document, type, fragments = key
    words = " ".join(texts[document][part.start : part.end] for part in fragments)
    return type, " ".join(words.lower().split())


def main() -> None:
    parser = argparse.ArgumentParser(description="Forms that are known from training, and others.")
    parser.add_argument("train", type=Path, help="the training corpus")
    parser.add_argument("gold", type=Path, help="the corpus that was predicted")
    parser.add_argument("systems", type=Path, nargs="+", help="folders with predictions")
    parser.add_argument("--ids", type=Path, help="file with the ids of the training documents (default: all)")
    parser.add_argument("--format", default="auto", help="format of the corpora (default: guessed from the path)")
    parser.add_argument("--file", default="dev.jsonl", help="name of the predictions (default: dev.jsonl)")
    options = parser.parse_args()
    learned = list(read(options.train, options.format, ids=read_ids(options.ids) if options.ids else None))
    known = {form_of(key, {one.id: one.text}) for one in learned for key in keys_of([one])}
    documents = list(read(options.gold, options.format))
    texts, gold = {one.id: one.text for one in documents}, keys_of(documents)
    seen = {key for key in gold if form_of(key, texts) in known}
    rows, found = [], []
    for system in options.systems:
        files = sorted(system.rglob(options.file))
        if not files:
            parser.error(f"{system}: no {options.file} in it, expected the predictions of at least one run")
        right: Counter[Form] = Counter()
        wrong: Counter[Form] = Counter()
        for file in files:
            for key in keys_of(read(file, "jsonl", texts=texts)):
                (right if key in gold else wrong)[form_of(key, texts)] += 1
        rate = {
            of: {form: count / len(files) for form, count in some.items()} for of, some in (("r", right), ("w", wrong))
        }
        found.append(rate)
        cells: list[object] = [str(system), len(files)]
        for new in (False, True):
            hits = sum(count for form, count in rate["r"].items() if (form not in known) == new)
            false = sum(count for form, count in rate["w"].items() if (form not in known) == new)
            there = len(gold) - len(seen) if new else len(seen)
            cells += [f"{hits:,.0f}", f"{100 * hits / max(1, there):.1f}", f"{false:,.0f}"]
        rows.append(cells)
    print(f"{len(seen):,} of {len(gold):,} gold entities have a known form\n")
    head = [
        "system",
        "runs",
        *(f"{what}: {name}" for what in ("known", "new") for name in ("right", "recall, %", "wrong")),
    ]
    print(table(head, rows))
    if len(found) > 1:
        a, b = found[:2]
        forms = sorted({form for one in (a, b) for some in one.values() for form in some})
        changes = {form: [a[of].get(form, 0.0) - b[of].get(form, 0.0) for of in "rw"] for form in forms}
        most = sorted(forms, key=lambda form: -sum(map(abs, changes[form])))[:SHOWN]
        print("\nThe first against the second, where they differ most:\n")
        lines = [
            [
                f"{type} {text}",
                "yes" if (type, text) in known else "no",
                *(f"{one:+.1f}" for one in changes[type, text]),
            ]
            for type, text in most
        ]
        lines.append(["all", "", *(f"{sum(change[place] for change in changes.values()):+.1f}" for place in (0, 1))])
        print(table(["form", "known", "right", "wrong"], lines))


if __name__ == "__main__":
    main()
