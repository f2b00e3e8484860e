"""The report: one HTML file with scores, intervals and every sentence with what is right, missed and wrong in it.

The page is self-contained: its data are JSON in it, drawn by assets/report.js, and its policy lets it fetch nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from gridner.documents import Document, Entity, Fragment, extent
from gridner.scoring.evaluation import Evaluation
from gridner.scoring.matching import (
    ComparedEntity,
    by_sentence,
    compared_entities,
    overlap_of,
    shares_words,
    word_counts,
)
from gridner.scoring.serialization import evaluation_json
from gridner.scoring.significance import Unit, bootstrap, compare_evaluations
from gridner.text.sentences import sentences_of
from gridner.view.draw import visible
from gridner.view.html import asset, hidden_block, script

HIDDEN = "•••"  # a word of a report without text
POLICY = ("default-src 'none'", "style-src 'unsafe-inline'", "base-uri 'none'", "form-action 'none'")
SCRIPTS = (  # each after those that it imports
    *("elements.js", "offsets.js", "draw.js", "lanes.js", "grid.js", "curves.js"),
    *("report-data.js", "report-list.js", "report-scores.js", "report.js"),
)
GOLD = 1  # then 2 for the first system, 4 for the second


@dataclass(slots=True)
class Report:
    """The contents of a report page. Documents are added one by one; `systems` names the predictions."""

    systems: tuple[str, ...]
    with_text: bool = True
    evaluations: tuple[Evaluation, ...] = ()
    types: dict[str, int] = field(default_factory=dict)
    documents: list[str] = field(default_factory=list)
    sentences: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.evaluations = tuple(Evaluation() for _ in self.systems)

    def add(
        self, gold: Document, answers: Sequence[Document], grids: Sequence[Sequence[Mapping[str, Any]]] | None = None
    ) -> None:
        """Add a document with the prediction of each system and, if wanted, the grids of each sentence."""
        sentences = sentences_of(gold)
        for evaluation, answer in zip(self.evaluations, answers, strict=True):
            evaluation.add(gold, answer, sentences=sentences)
        number = len(self.documents)
        self.documents.append(gold.id if self.with_text else f"document {number + 1}")
        golds = by_sentence(compared_entities(gold.text, sentences, gold.entities))
        found = [by_sentence(compared_entities(gold.text, sentences, answer.entities)) for answer in answers]
        scores = [_scores(gold.text, answer.entities) for answer in answers]
        spans = [Fragment(sentence.start, sentence.end) for sentence in sentences]
        if not spans and any((golds, *found)):
            spans = [Fragment(0, len(gold.text))]  # as they are scored
        for place, span in enumerate(spans):
            sets = [golds.get(place, []), *(one.get(place, []) for one in found)]
            entities = _entities(sets, scores)
            drawn = self._sentence(gold.text, number, span, entities)
            if grids is not None and sentences and grids[place]:
                drawn["n"] = [self._grid(window) for window in grids[place]]
            self.sentences.append(drawn)

    def _grid(self, window: Mapping[str, Any]) -> Mapping[str, Any]:
        for type in (label.partition(":")[2] for label in window["tags"]):
            if type:
                self.types.setdefault(type, len(self.types))
        return window if self.with_text else {**window, "words": [HIDDEN] * len(window["words"])}

    def _sentence(
        self, text: str, document: int, span: Fragment, entities: dict[ComparedEntity, dict[str, Any]]
    ) -> dict[str, Any]:
        drawn = [Entity(item.type, item.fragments) for item in entities]
        span = Fragment(min([span.start, *(one.start for one in drawn)]), max([span.end, *(one.end for one in drawn)]))
        for one in drawn:
            self.types.setdefault(one.type, len(self.types))
        if self.with_text:
            shown, fragments = visible(text[span.start : span.end]), [one.fragments for one in drawn]
        else:
            shown, fragments = hidden_block(text, span, drawn, HIDDEN)
            span = Fragment(0, len(shown))
        facts = [
            {
                "t": self.types[item.type],
                "f": [[part.start - span.start, part.end - span.start] for part in parts],
                **about,
            }
            for (item, about), parts in zip(entities.items(), fragments, strict=True)
        ]
        gold = _gold_by_fragments(entities)
        for fact, item in zip(facts, entities, strict=True):
            if not fact["h"] & GOLD and (others := gold.get(item.fragments)):
                fact["c"] = [[self.types[type], has] for type, has in others.items()]
        return {"d": document, "s": shown, "e": facts}

    def data(self, *, unit: Unit = "sentence", rounds: int = 1000, seed: int = 0) -> dict[str, Any]:
        """All that the page needs, as plain data. The options are those of the intervals.

        Two systems are compared as well: by how much the second is better, and how likely chance is to do that.
        """
        intervals = [
            {name: bootstrap(one, name, unit=unit, rounds=rounds, seed=seed) for name in one.slices}
            for one in self.evaluations
        ]
        tests = {}
        if len(self.evaluations) == 2:
            a, b = self.evaluations
            tests = compare_evaluations(a, b, unit=unit, seed=seed)
        return {
            "systems": self.systems,
            "types": list(self.types),
            "documents": self.documents,
            "text": self.with_text,
            "evaluations": [evaluation_json(one) for one in self.evaluations],
            "resampled": {"level": 0.95, "unit": unit, "rounds": rounds, "seed": seed},
            "intervals": [
                {name: {measure: [at.low, at.high] for measure, at in one.items()} for name, one in each.items()}
                for each in intervals
            ],
            "differences": {name: [test.difference, test.p] for name, test in tests.items()},
            "sentences": self.sentences,
        }


def _gold_by_fragments(
    entities: Mapping[ComparedEntity, Mapping[str, Any]],
) -> dict[tuple[Fragment, ...], dict[str, int]]:
    """Return the types of the gold entities of a sentence by their fragments, each with the systems that have it."""
    found: dict[tuple[Fragment, ...], dict[str, int]] = {}
    for item, about in entities.items():
        if about["h"] & GOLD:
            found.setdefault(item.fragments, {})[item.type] = about["h"]
    return found


def _scores(text: str, entities: Iterable[Entity]) -> dict[tuple[str, tuple[Fragment, ...]], float]:
    """Of what is predicted several times the highest."""
    scored = sorted((one.score, one.type, extent(text, one)) for one in entities if one.score is not None)
    return {(type, fragments): score for score, type, fragments in scored}


def _entities(
    sets: Sequence[Sequence[ComparedEntity]], scores: Sequence[Mapping[Any, float]]
) -> dict[ComparedEntity, dict[str, Any]]:
    """Return the distinct entities of a sentence in text order, with the systems that have them, scores and kinds."""
    held = [frozenset(one) for one in sets]
    counts = [word_counts(one) for one in sets]
    ends = [frozenset(item.ends for item in one) for one in sets]
    found: dict[ComparedEntity, dict[str, Any]] = {}
    for item in sorted(
        frozenset().union(*held),
        key=lambda item: (item.fragments[0].start, -item.fragments[-1].end, item.type, item.fragments),
    ):
        has = sum(GOLD << number for number, one in enumerate(held) if item in one)
        about: dict[str, Any] = {"h": has}
        given = [each.get((item.type, item.fragments)) for each in scores]
        if any(score is not None for score in given):
            about["s"] = [None if score is None else _few_digits(score) for score in given]
        owners = range(1) if has & GOLD else range(1, len(sets))
        classes = [_overlap(item, counts[number]) if item in held[number] else None for number in owners]
        about |= {"g": 1} if item.discontinuous else {}
        if any(classes):  # of a wrong one by system, as it overlaps with what each predicts
            about["o"] = classes[0] if has & GOLD else classes
        others = range(1, len(sets)) if has & GOLD else [0] * (len(sets) - 1)
        about["x"] = [int(item.ends in ends[number]) for number in others]
        found[item] = about
    return found


def _few_digits(score: float) -> float:
    """Return the score with four digits, unless two digits of that would not be two digits of the score itself."""
    short = round(score, 4)
    return short if f"{short:.2f}" == f"{score:.2f}" else score


def _overlap(item: ComparedEntity, counts: Counter[int]) -> str | None:
    """Return the overlap class of an entity; `counts` has the words of all entities of the sentence."""
    if item.discontinuous:
        return overlap_of(item, counts)
    return "overlapped" if shares_words(item, counts) else None


def page(title: str, data: Mapping[str, Any]) -> str:
    """Return the report as one HTML file."""
    joined = script(SCRIPTS)
    parts = {
        "policy": escape("; ".join((*POLICY, f"script-src 'sha256-{_sha256(joined)}'"))),
        "title": escape(title),
        "style": asset("draw.css") + asset("base.css") + asset("report.css"),
        "script": joined,
        "data": json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], asset("report.html"))


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
