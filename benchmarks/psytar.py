"""Convert PsyTAR, patients' reviews of four psychiatric medicines, into two corpora.

    pip install openpyxl
    python benchmarks/psytar.py PsyTAR_dataset.xlsx reactions.jsonl conditions.jsonl

PsyTAR (Zolnoori et al. 2019, doi:10.1016/j.dib.2019.103838, CC BY 4.0) lists the mentions of each sentence as text,
without offsets. This script annotates every place where a mention stands as a whole, also inside a longer mention. If
there is none, it annotates the shortest span that has all words of the mention in their order. As drug labels do not
count severity, frequency and verbs of feeling as part of a reaction, it drops such words at the beginning of a mention
("extreme", "constant", "feeling"). PsyTAR does not mark medicines: the script annotates those of a list. It leaves out
sentences with a mention that it cannot find, and mentions without a sentence, and prints how many.

Both corpora have the same texts, a document per review. The first annotates AdverseReaction: adverse reactions and
withdrawal symptoms. The second annotates Condition: these, and the symptoms and illnesses that the medicine is for.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gridner
from gridner.documents import Document, Entity, Fragment, join_fragments
from gridner.text import tokenize

REACTIONS = ("ADR_Identified", "WD_Identified")
CONDITIONS = (*REACTIONS, "SSI_Identified", "DI_Identified")
TEXTS = "Sentence_Labeling"
LEADING = frozenset(  # words that a mention loses at its beginning
    """a an the my his her its your some more very so really just too quite almost completely totally absolutely
    extremely slightly severely always constantly occasionally initially sometimes extreme severe slight mild
    moderate major minor horrible terrible awful bad intense constant occasional frequent excruciating unbearable
    have had having has got getting get feel felt feels feeling experienced experiencing i was am been is be being
    of lots lot bit little""".split()
)
MEDICINES = re.compile(  # also as reviewers write them
    r"(?<!\w)(?:"
    + "|".join(
        """lexapro lexipro escitalopram zoloft sertraline cymbalta cybalta duloxetine effexor efexor venlafaxine prozac
        fluoxetine paxil paroxetine celexa citalopram wellbutrin welbutrin bupropion lamictal lamotrigine trazodone
        trazadone seroquel quetiapine ambien zolpidem valium diazepam xanax alprazolam ativan lorazepam klonopin
        clonazepam abilify lithium buspar pristiq remeron topamax adderall ritalin zyprexa depakote elavil neurontin
        lyrica prednisone zopiclone motrin ibuprofen advil tylenol aspirin benadryl melatonin nexium antidepressant
        antidepressants anti-depressant anti-depressants ssri ssris snri snris""".split()
    )
    + r")(?!\w)",
    re.IGNORECASE,
)
FIRST_MENTION = 4  # column; before it are id, drug_id, sentence_index and the sentence


@dataclass
class Review:
    """The sentences of a review, and their mentions by sheet."""

    sentences: dict[int, str] = field(default_factory=dict)
    mentions: dict[tuple[str, int], list[str]] = field(default_factory=dict)


def read_reviews(path: Path) -> tuple[dict[str, Review], int]:
    """Return the reviews of the spreadsheet by their id, and the number of mentions without a sentence."""
    import openpyxl  # type: ignore[import-untyped]  # here, so that --help works without it

    book = openpyxl.load_workbook(path, read_only=True)
    reviews: dict[str, Review] = {}
    without_sentence = 0
    for row in _rows(book, TEXTS):
        number = _number(row[3])
        if row[2] and row[4] and number is not None:
            reviews.setdefault(str(row[2]).strip(), Review()).sentences[number] = str(row[4]).strip()
    for sheet in CONDITIONS:
        for row in _rows(book, sheet):
            number, review = _number(row[2]), reviews.get(str(row[1]).strip())
            found = [str(cell).strip() for cell in row[FIRST_MENTION:] if cell is not None and str(cell).strip()]
            if review is not None and number is not None and number in review.sentences:
                review.mentions.setdefault((sheet, number), []).extend(map(without_leading_words, found))
            else:
                without_sentence += len(found)
    return reviews, without_sentence


def _rows(book: Any, sheet: str) -> Iterator[tuple[Any, ...]]:
    rows = book[sheet].iter_rows(values_only=True)
    next(rows)
    return (row for row in rows if row[1] is not None)


def _number(cell: Any) -> int | None:
    try:
        return int(cell)
    except (TypeError, ValueError):
        return None


def without_leading_words(mention: str) -> str:
    """Drop words for severity, frequency and feeling at the beginning of a mention; keep one that has no others."""
    words = mention.split()
    kept = next((number for number, word in enumerate(words) if word.lower() not in LEADING), 0)
    return " ".join(words[kept:])


def places(sentence: str, mention: str) -> list[tuple[Fragment, ...]]:
    """Return where a mention stands in a sentence: every contiguous place, or else the shortest one with gaps."""
    pattern = r"\s*".join(re.escape(part) for part in mention.split())
    whole: list[tuple[Fragment, ...]] = [
        (Fragment(match.start(), match.end()),)
        for match in re.finditer(rf"(?<!\w){pattern}(?!\w)", sentence, re.IGNORECASE)
    ]
    return whole or _with_gaps(sentence, mention)


def _with_gaps(sentence: str, mention: str) -> list[tuple[Fragment, ...]]:
    words = list(tokenize(sentence))
    lower = [sentence[word.start : word.end].lower() for word in words]
    wanted = [mention[word.start : word.end].lower() for word in tokenize(mention)]
    best: list[int] = []
    for start in (number for number, word in enumerate(lower) if wanted and word == wanted[0]):
        chosen = _subsequence(lower, wanted, start)
        if chosen and (not best or chosen[-1] - chosen[0] < best[-1] - best[0]):
            best = chosen
    return [tuple(words[number] for number in best)] if best else []


def _subsequence(words: Sequence[str], wanted: Sequence[str], start: int) -> list[int]:
    """Return the first places of the wanted words from `start` on, in their order; nothing if one is not there."""
    chosen: list[int] = []
    for word in wanted:
        start = next((number for number in range(start, len(words)) if words[number] == word), -1) + 1
        if not start:
            return []
        chosen.append(start - 1)
    return chosen


def document(name: str, review: Review, sheets: Sequence[str], type: str) -> tuple[Document, int]:
    """Return a review as a document, and the number of sentences that were left out."""
    text, left_out, entities = "", 0, dict[Entity, None]()
    for number, sentence in sorted(review.sentences.items()):
        mentions = [mention for sheet in CONDITIONS for mention in review.mentions.get((sheet, number), ())]
        if not all(places(sentence, mention) for mention in mentions):
            left_out += 1
            continue
        start = len(text) + bool(text)
        text += f" {sentence}" if text else sentence
        for mention in (mention for sheet in sheets for mention in review.mentions.get((sheet, number), ())):
            for found in places(sentence, mention):
                moved = [Fragment(fragment.start + start, fragment.end + start) for fragment in found]
                entities[Entity(type, join_fragments(text, moved))] = None
    if type == "Condition":
        for match in MEDICINES.finditer(text):
            entities[Entity("Drug", (Fragment(match.start(), match.end()),))] = None
    return Document(name, text, tuple(entities)), left_out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spreadsheet", type=Path)
    parser.add_argument("reactions", type=Path)
    parser.add_argument("conditions", type=Path)
    options = parser.parse_args()
    reviews, without_sentence = read_reviews(options.spreadsheet)
    print(f"{without_sentence} mentions without a sentence left out")
    for path, sheets, type in (
        (options.reactions, REACTIONS, "AdverseReaction"),
        (options.conditions, CONDITIONS, "Condition"),
    ):
        made = [document(name, review, sheets, type) for name, review in reviews.items()]
        documents = [document for document, _ in made if document.text]
        gridner.write(documents, path)
        entities = sum(len(document.entities) for document in documents)
        left_out = sum(count for _, count in made)
        print(f"{path}: {len(documents)} documents, {entities} entities, {left_out} sentences left out")


if __name__ == "__main__":
    main()
