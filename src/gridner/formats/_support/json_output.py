"""Write documents as JSON: what JSON cannot carry is an error, and an array has one value per line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gridner.errors import OutputError


def document_json(document_id: str, value: Any) -> str:
    """Return the JSON of a document. A `meta` that JSON cannot carry is an error."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise OutputError(f"document {document_id}: its meta cannot be written as JSON ({error})") from None


def write_array(path: Path, values: Iterable[tuple[str, int]]) -> int:
    """Write JSON texts as an array, one per line. Each comes with a count; return the sum of the counts."""
    total = 0
    with open(path, "x", encoding="utf-8", newline="") as file:
        separator = "[\n"
        for text, count in values:
            file.write(separator + text)
            separator = ",\n"
            total += count
        file.write("\n]\n" if separator == ",\n" else "[]\n")
    return total
