"""Safe XML: reading fetches and expands nothing, and writing replaces characters that XML cannot carry."""

from __future__ import annotations

import re
from typing import BinaryIO
from xml.etree.ElementTree import ParseError

from gridner.errors import FormatError, Notes

NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def check_start(file: BinaryIO, where: str) -> str:
    """Return the name of the first element, and go back to the start. Entity declarations before it are an error.

    Entities can be declared only there. A DOCTYPE may name a DTD, which is not read.
    """
    import defusedxml  # imported here because few need it
    from defusedxml.ElementTree import iterparse

    try:
        _, root = next(iter(iterparse(file, events=("start",))))
    except defusedxml.DefusedXmlException as error:
        raise FormatError(
            f"{where}: XML that declares entities ({type(error).__name__}); remove the declarations"
        ) from None
    except (ParseError, ValueError, LookupError, StopIteration) as error:
        raise FormatError(f"{where}: not well-formed XML ({str(error) or 'empty'})") from None
    file.seek(0)
    return str(root.tag)


def is_xml(text: str) -> bool:
    """Return whether XML can carry all characters of a text."""
    return not NOT_XML.search(text)


def xml_text(text: str, notes: Notes, where: str) -> str:
    """Return the text with characters that XML cannot carry, such as a form feed, replaced and counted."""
    if is_xml(text):
        return str(text)

    def replacement(match: re.Match[str]) -> str:
        notes.add("character that XML cannot carry, replaced", f"{where}: U+{ord(match[0]):04X} at {match.start()}")
        return " " if match[0].isspace() else "\ufffd"

    return NOT_XML.sub(replacement, text)
