"""Count entities that begin or end inside a word, for gridner's tokenizer and two simpler ones.

    python benchmarks/words.py corpus/train corpus/dev corpus/test

An entity is cut if one of its fragments begins or ends inside a word. Such an entity cannot become a mention.
"""

from __future__ import annotations

import argparse
import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gridner import Document, read
from gridner.documents import extent
from gridner.text import align
from gridner.text.alignment import CutReason
from gridner.text.splitting import WORD
from measure import best, machine, table

PLAIN = re.compile(r"\w+|[^\w\s]")
END_OF_POST_RULE = "(?=[a-z]{4})|"


def patterns() -> dict[str, re.Pattern[str]]:
    """Return the tokenizers: gridner's, gridner's without its rule for "post", and the simplest one."""
    _, found, without_post = WORD.pattern.partition(END_OF_POST_RULE)
    if not found:
        raise SystemExit("gridner.text.splitting.WORD has no rule for 'post' where this benchmark expects it")
    return {"gridner": WORD, "without the rule for post": re.compile(without_post), r"`\w+\|[^\w\s]`": PLAIN}


def cut_words(document: Document, pattern: re.Pattern[str]) -> Iterator[list[tuple[str, str]]]:
    """Yield, for each cut entity, the words that it cuts, with a bar at the cut, and their context."""
    text = document.text
    words = [match.span() for match in pattern.finditer(text)]
    starts = [start for start, _ in words]
    for entity in document.entities:
        found = []
        for place in (edge for fragment in extent(text, entity) for edge in (fragment.start, fragment.end)):
            start, end = words[max(0, bisect_right(starts, place) - 1)]
            if start < place < end:
                around = text[max(0, start - 25) : start], text[end : end + 25]
                word = f"{text[start:place]}|{text[place:end]}"
                found.append((word, " ".join(f"{around[0]}**{word}**{around[1]}".split())))
        if found:
            yield found


def measure(documents: list[Document], pattern: re.Pattern[str], runs: int) -> dict[str, Any]:
    """Return all figures of one tokenizer."""
    cut = [found for document in documents for found in cut_words(document, pattern)]
    texts = [document.text for document in documents]
    seconds = best(lambda: [match.span() for text in texts for match in pattern.finditer(text)], runs)
    forms = Counter(word.lower() for found in cut for word, _ in found)
    examples = {word.lower(): around for found in reversed(cut) for word, around in found}
    return {
        "cut": len(cut),
        "words": sum(1 for text in texts for _ in pattern.finditer(text)),
        "characters/s": sum(map(len, texts)) / seconds,
        "forms": len(forms),
        "before": Counter(word.lower().split("|")[0] + "|" for found in cut for word, _ in found).most_common(10),
        "most frequent": [(form, count, examples[form]) for form, count in forms.most_common(15)],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Count entities that begin or end inside a word.")
    parser.add_argument("corpus", nargs="+", type=Path, help="corpora with entities, counted together")
    parser.add_argument("--format", default="auto", help="format of the corpora (default: guessed from the path)")
    parser.add_argument("--runs", type=int, default=5, help="runs of each timing; the best one counts (default: 5)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of Markdown")
    options = parser.parse_args()
    parts = {path: list(read(path, options.format)) for path in options.corpus}
    documents = [document for part in parts.values() for document in part]
    entities = sum(len(document.entities) for document in documents)
    results = {name: measure(documents, pattern, options.runs) for name, pattern in patterns().items()}
    aligned = sum(why is CutReason.WORD for document in documents for _, why in align(document).cut)
    if options.json:
        print(
            json.dumps({"machine": machine(), "entities": entities, "results": results}, indent=2, ensure_ascii=False)
        )
        return
    print(f"{machine()}\n\n{entities:,} entities.\n")
    head = ["tokenizer", "entities cut", "share", *(path.name for path in parts), "words", "million characters/s"]
    rows = []
    for (name, found), pattern in zip(results.items(), patterns().values(), strict=True):
        counts = [
            (sum(1 for document in part for _ in cut_words(document, pattern)), sum(len(one.entities) for one in part))
            for part in parts.values()
        ]
        shares = [f"{cut / max(1, of):.2%}" for cut, of in counts]
        row = [name, f"{found['cut']:,}", f"{found['cut'] / max(1, entities):.2%}", *shares]
        rows.append([*row, f"{found['words']:,}", f"{found['characters/s'] / 1e6:.1f}"])
    print(table(head, rows))
    print(f"\n`align` of whole documents leaves out {aligned:,} entities for their words.\n")
    ours = results["gridner"]
    print(f"{ours['forms']} forms are left. What stands before the bar: ", end="")
    print(", ".join(f"{form} {count}" for form, count in ours["before"]) + ".")
    for name in ("gridner", "without the rule for post"):
        shown = [(f"`{form}`", count, around) for form, count, around in results[name]["most frequent"]]
        escaped = [[str(cell).replace("|", r"\|") for cell in row] for row in shown]
        print(f"\nMost frequent, {name}:\n\n{table(['word', 'times', 'example'], escaped)}")


if __name__ == "__main__":
    main()
