"""A text from passages that say at which character they start."""

from __future__ import annotations

from collections.abc import Iterable

from gridner import files
from gridner.errors import FormatError


def text_of(pieces: Iterable[tuple[int, str]], where: str) -> str:
    """The pieces at their places, line feeds between them. One that says what is there already adds nothing."""
    text = ""
    for start, piece in sorted(pieces, key=lambda one: one[0]):
        if not 0 <= start <= files.MAX_BYTES:
            raise FormatError(f"{where}: a passage at {start}, expected 0 to {files.MAX_BYTES:,}")
        if start >= len(text):
            text += "\n" * (start - len(text)) + piece
        elif not text[start:].startswith(piece):
            raise FormatError(
                f"{where}: the passage at {start}, {piece[:30]!r}, starts inside the one before it, "
                f"expected {len(text)} or more"
            )
    return text
