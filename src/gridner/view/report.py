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
from gridner.text.alignment import sentences_of
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
        predicted = [by_sentence(compared_entities(gold.text, sentences, answer.entities)) for answer in answers]
        scores = [_scores(gold.text, answer.entities) for answer in answers]
        spans = [Fragment(sentence.start, sentence.end) for sentence in sentences]
        if not spans and any((golds, *predicted)):
            spans = [Fragment(0, len(gold.text))]  # as they are scored
        for position, span in enumerate(spans):
            sets = [golds.get(position, []), *(by_position.get(position, []) for by_position in predicted)]
            entities = _entities(sets, scores)
            drawn = self._sentence(gold.text, number, span, entities)
            if grids is not None and sentences and grids[position]:
                drawn["n"] = [self._grid(window) for window in grids[position]]
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
        span = Fragment(
            min([span.start, *(entity.start for entity in drawn)]), max([span.end, *(entity.end for entity in drawn)])
        )
        for entity in drawn:
            self.types.setdefault(entity.type, len(self.types))
        if self.with_text:
            shown, fragments = visible(text[span.start : span.end]), [entity.fragments for entity in drawn]
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
            {name: bootstrap(evaluation, name, unit=unit, rounds=rounds, seed=seed) for name in evaluation.slices}
            for evaluation in self.evaluations
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
            "evaluations": [evaluation_json(evaluation) for evaluation in self.evaluations],
            "resampled": {"level": 0.95, "unit": unit, "rounds": rounds, "seed": seed},
            "intervals": [
                {
                    name: {measure: [at.low, at.high] for measure, at in measures.items()}
                    for name, measures in slices.items()
                }
                for slices in intervals
            ],
            "differences": {name: [test.difference, test.p] for name, test in tests.items()},
            "sentences": self.sentences,
        }


def _gold_by_fragments(
    entities: Mapping[ComparedEntity, Mapping[str, Any]],
) -> dict[tuple[Fragment, ...], dict[str, int]]:
    """Return the types of the gold entities of a sentence by their fragments, each with the systems that have it."""
    gold_types: dict[tuple[Fragment, ...], dict[str, int]] = {}
    for item, about in entities.items():
        if about["h"] & GOLD:
            gold_types.setdefault(item.fragments, {})[item.type] = about["h"]
    return gold_types


def _scores(text: str, entities: Iterable[Entity]) -> dict[tuple[str, tuple[Fragment, ...]], float]:
    """Of what is predicted several times the highest."""
    scored = sorted(
        (entity.score, entity.type, extent(text, entity)) for entity in entities if entity.score is not None
    )
    return {(type, fragments): score for score, type, fragments in scored}


def _entities(
    sets: Sequence[Sequence[ComparedEntity]], scores: Sequence[Mapping[Any, float]]
) -> dict[ComparedEntity, dict[str, Any]]:
    """Return the distinct entities of a sentence in text order, with the systems that have them, scores and kinds."""
    distinct = [frozenset(entities) for entities in sets]
    counts = [word_counts(entities) for entities in sets]
    ends = [frozenset(item.ends for item in entities) for entities in sets]
    facts: dict[ComparedEntity, dict[str, Any]] = {}
    for item in sorted(
        frozenset().union(*distinct),
        key=lambda item: (item.fragments[0].start, -item.fragments[-1].end, item.type, item.fragments),
    ):
        has = sum(GOLD << number for number, entities in enumerate(distinct) if item in entities)
        about: dict[str, Any] = {"h": has}
        entity_scores = [system_scores.get((item.type, item.fragments)) for system_scores in scores]
        if any(score is not None for score in entity_scores):
            about["s"] = [None if score is None else _few_digits(score) for score in entity_scores]
        owners = range(1) if has & GOLD else range(1, len(sets))
        classes = [_overlap(item, counts[number]) if item in distinct[number] else None for number in owners]
        about |= {"g": 1} if item.discontinuous else {}
        if any(classes):  # of a wrong one by system, as it overlaps with what each predicts
            about["o"] = classes[0] if has & GOLD else classes
        others = range(1, len(sets)) if has & GOLD else [0] * (len(sets) - 1)
        about["x"] = [int(item.ends in ends[number]) for number in others]
        facts[item] = about
    return facts


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
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], asset("report.html"))


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
