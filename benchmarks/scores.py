"""Score saved predictions, with mean and standard deviation over seeds, for the tables in docs/results.

    python benchmarks/scores.py craft/dev results/study/craft/toe results/study/craft/w2ner

Each folder is a system, and each `dev.jsonl` in it (or the file that --file names) is a run. The last column applies
the filter of some published code: it counts only entities that no word or sentence boundary cuts and that lie within
the first 128 words of their sentence, in gold and in predictions.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev

from gridner import Document, read
from gridner.scoring.evaluation import evaluate
from gridner.text import align
from gridner.text.alignment import entity_of
from measure import table

SLICES = ("discontinuous", "continuous", "in_discontinuous_sentences")


def within(document: Document, words: int) -> Document:
    """Return the document with only the entities that lie within the first words of their sentence."""
    kept = [
        entity_of(sentence, mention)
        for sentence in align(document).sentences
        for mention in sentence.mentions
        if mention.tail < words
    ]
    return replace(document, entities=tuple(kept))


def spread(values: list[float]) -> str:
    """Format mean and standard deviation in percent, or the value of a single run."""
    text = f"{100 * fmean(values):.1f}"
    return text + (f" ± {100 * stdev(values):.1f}" if len(values) > 1 else "")


def main() -> None:
    parser = argparse.ArgumentParser(description="Scores of saved predictions.")
    parser.add_argument("gold", type=Path, help="a corpus")
    parser.add_argument("systems", type=Path, nargs="+", help="folders with predictions")
    parser.add_argument("--format", default="auto", help="format of the corpus (default: guessed from the path)")
    parser.add_argument("--file", default="dev.jsonl", help="name of the predictions (default: dev.jsonl)")
    parser.add_argument("--words", type=int, default=128, help="words that the filter keeps (default: 128)")
    options = parser.parse_args()
    gold = list(read(options.gold, options.format))
    filtered = [within(document, options.words) for document in gold]
    rows, more = [], []
    for system in options.systems:
        files = sorted(system.rglob(options.file))
        if not files:
            parser.error(f"{system}: no {options.file} in it, expected the predictions of at least one run")
        runs, short = [], []
        for file in files:
            found = list(read(file, "jsonl", texts=options.gold))
            runs.append(evaluate(gold, found))
            short.append(evaluate(filtered, [within(document, options.words) for document in found]))
        every = [run.score() for run in runs]
        name = str(system)
        rows.append(
            [
                name,
                len(files),
                spread([one.precision for one in every]),
                spread([one.recall for one in every]),
                spread([one.f1 for one in every]),
                *(spread([run.score(part).f1 for run in runs]) for part in SLICES),
                spread([run.score().f1 for run in short]),
            ]
        )
        more.append([name, *(spread([run.score(part).f1 for run in runs]) for part in runs[0].slices)])
    slices = [f"{name.replace('_', ' ')} F1" for name in SLICES]
    print(table(["system", "runs", "P", "R", "F1", *slices, "filtered F1"], rows))
    print("\nF1 by slice:\n")
    print(table(["system", *runs[0].slices], more))


if __name__ == "__main__":
    main()
