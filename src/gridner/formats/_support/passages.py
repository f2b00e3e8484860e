"""Join passages, each with the offset of its first character, to a text."""

from __future__ import annotations

from collections.abc import Iterable

from gridner import files
from gridner.errors import FormatError


def join_passages(passages: Iterable[tuple[int, str]], where: str) -> str:
    """Return the passages at their offsets, line feeds between them. A passage that repeats the text adds nothing."""
    text = ""
    for start, passage in sorted(passages, key=lambda pair: pair[0]):
        if not 0 <= start <= files.MAX_BYTES:
            raise FormatError(f"{where}: a passage at {start}, expected 0 to {files.MAX_BYTES:,}")
        if start >= len(text):
            text += "\n" * (start - len(text)) + passage
        elif not text[start:].startswith(passage):
            raise FormatError(
                f"{where}: the passage at {start}, {passage[:30]!r}, starts inside the one before it, "
                f"expected {len(text)} or more"
            )
    return text
