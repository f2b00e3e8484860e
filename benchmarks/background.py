r"""Write a corpus of sentences without entities: research text that names nothing clinical.

    python benchmarks/background.py articles.txt.xz background.jsonl --names names.tsv --types Disease \
        --corpus tac.jsonl --corpus chia.jsonl

A model of several corpora learns the types of drug labels and of eligibility criteria on such texts alone. In research
articles it would take cells for drugs. These sentences show it what to leave alone: they contain no name of the
gazetteer and nothing that the corpora annotate. The corpus has one document per 20 sentences.
"""

from __future__ import annotations

import argparse
import lzma
from collections.abc import Iterator
from pathlib import Path
from random import Random

import gridner
from gridner.corpus.gazetteer import Lexicon, names_of, read_lexicon
from gridner.documents import Document
from gridner.text import align, split_lines, tokenize, with_sentences

SHORTEST, LONGEST = 8, 60  # words of a sentence
TOGETHER = 20  # sentences per document


def names_to_avoid(gazetteers: list[Path], types: list[str], corpora: list[Path]) -> Lexicon:
    """Return the names of these types in the gazetteers, and the annotated names of the corpora."""
    known = (name for path in gazetteers for name in read_lexicon(path))
    names = Lexicon((type, words) for type, words in known if type in types)
    for path in corpora:
        names |= names_of([sentence for document in gridner.read(path) for sentence in align(document).sentences])
    return names


def without_names(lines: Iterator[str], names: Lexicon) -> Iterator[str]:
    """Yield the lines that contain no name and are neither short nor long."""
    for line in lines:
        text = line.strip()
        words = [text[word.start : word.end] for word in tokenize(text, 0, len(text))]
        if SHORTEST <= len(words) <= LONGEST and not names.find(words):
            yield text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path, help="one sentence per line; .txt or .txt.xz")
    parser.add_argument("output", type=Path)
    parser.add_argument("--names", type=Path, action="append", default=[], help="gazetteer; repeatable")
    parser.add_argument("--types", action="append", default=[], help="type of the gazetteer to avoid; repeatable")
    parser.add_argument("--corpus", type=Path, action="append", default=[], help="annotated corpus; repeatable")
    parser.add_argument("--sentences", type=int, default=1500, help="(default: 1500)")
    parser.add_argument("--every", type=int, default=50, help="read every n-th line (default: 50)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    names = names_to_avoid(options.names, options.types, options.corpus)
    opened = lzma.open if options.text.suffix == ".xz" else open
    with opened(options.text, "rt", encoding="utf-8") as file:
        lines = (line for number, line in enumerate(file) if number % options.every == 0)
        found = list(without_names(lines, names))
    chosen = Random(options.seed).sample(found, min(options.sentences, len(found)))
    documents = []
    for start in range(0, len(chosen), TOGETHER):
        document = Document(f"background-{start // TOGETHER}", "\n".join(chosen[start : start + TOGETHER]))
        documents.append(with_sentences(document, split_lines(document.text)))
    gridner.write(documents, options.output)
    print(f"{len(chosen):,} of {len(found):,} sentences without names")


if __name__ == "__main__":
    main()
