"""Evaluations as plain data, for JSON."""

from __future__ import annotations

from typing import Any

from gridner.scoring.evaluation import Evaluation, RelaxedScore, Score

ERROR_LABELS = {
    "fp_ends_right": "wrong, head and tail right",
    "fp_ends_wrong": "wrong, head or tail too",
    "fn_ends_right": "missed, head and tail found",
    "fn_ends_wrong": "missed, head or tail too",
}


def score_json(score: Score | RelaxedScore) -> dict[str, float]:
    """Return a score as plain data."""
    measures = {"precision": score.precision, "recall": score.recall, "f1": score.f1}
    if isinstance(score, Score):
        return {"tp": score.tp, "fp": score.fp, "fn": score.fn, **measures}
    return {
        "predicted": score.predicted,
        "predicted_right": score.predicted_right,
        "gold": score.gold,
        "gold_found": score.gold_found,
        **measures,
    }


def error_shares(counts: dict[str, int]) -> dict[str, float]:
    """Return the error classes of a block in percent, as in Table 6; all 0 without errors."""
    total = sum(counts.values())
    return {name: 100 * count / total if total else 0.0 for name, count in counts.items()}


def evaluation_json(evaluation: Evaluation) -> dict[str, Any]:
    """Return an evaluation as plain data."""
    return {
        "documents": evaluation.documents,
        "sentences": evaluation.sentences,
        "repeated": evaluation.duplicates,
        "exact": {name: score_json(evaluation.score(name)) for name in evaluation.slices},
        "macro_f1": evaluation.macro_f1,
        "relaxed": score_json(evaluation.relaxed),
        "errors": {
            block: {"counts": dict(counts), "percent": error_shares(counts)}
            for block, counts in evaluation.errors.items()
        },
    }
