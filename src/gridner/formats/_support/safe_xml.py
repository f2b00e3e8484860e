"""XML from anywhere and text for XML: nothing is fetched or expanded, and what XML cannot carry is replaced."""

from __future__ import annotations

import re
from typing import BinaryIO
from xml.etree.ElementTree import ParseError

from gridner.errors import FormatError, Notes

NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def check_start(file: BinaryIO, where: str) -> str:
    """Read as far as the first element, whose name is returned, and go back: what is declared before it is refused.

    Entities can only be declared there. A DOCTYPE that names a DTD is taken, and the DTD left alone.
    """
    import defusedxml  # here, because few need it
    from defusedxml.ElementTree import iterparse

    try:
        _, root = next(iter(iterparse(file, events=("start",))))
    except defusedxml.DefusedXmlException as error:
        raise FormatError(f"{where}: {type(error).__name__}, expected XML without entities of its own") from None
    except (ParseError, ValueError, LookupError, StopIteration) as error:
        raise FormatError(f"{where}: not well-formed ({str(error) or 'empty'}), expected XML") from None
    file.seek(0)
    return str(root.tag)


def is_xml(text: str) -> bool:
    """Whether XML can carry all characters."""
    return not NOT_XML.search(text)


def xml_text(text: str, notes: Notes, where: str) -> str:
    """The text with what XML cannot carry (a form feed, say) replaced, character by character, and counted."""
    if is_xml(text):
        return str(text)

    def other(found: re.Match[str]) -> str:
        notes.add("character that XML cannot carry, replaced", f"{where}: U+{ord(found[0]):04X} at {found.start()}")
        return " " if found[0].isspace() else "\ufffd"

    return NOT_XML.sub(other, text)
