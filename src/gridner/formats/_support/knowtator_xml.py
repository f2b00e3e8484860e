"""Knowtator XML, of both generations: ShARe 2013 has the first, CRAFT both.

1: <annotation><mention id="m"/><span start="3" end="7"/></annotation> with
   <classMention id="m"><mentionClass id="Disease_Disorder"/></classMention>
2: <annotation><class id="CL:0000540"/><span start="3" end="7">text</span></annotation>
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError

from gridner.documents import Entity
from gridner.errors import FormatError, Notes
from gridner.files import Source, read_bytes
from gridner.formats._support.offsets import fragments_from
from gridner.formats._support.repair import agreed_pairs


def read_entities(path: Path, text: str, source: Source) -> Iterator[Entity]:
    """Yield the entities of an annotation file about `text`."""
    root = _parse(path)
    classes = {
        mention.get("id"): name.get("id")
        for mention in root.iter("classMention")
        for name in mention.iter("mentionClass")
    }
    cuis = _cuis(root)
    for number, annotation in enumerate(root.iter("annotation"), start=1):
        where = f"{path}: annotation {number}"
        with source.record(where):
            yield _entity(annotation, classes, cuis, text, where, source)


def _parse(path: Path) -> Element:
    import defusedxml  # imported here because few need it
    from defusedxml.ElementTree import fromstring

    data = read_bytes(path)
    try:
        root: Element = fromstring(data)
    except defusedxml.DefusedXmlException as error:
        raise FormatError(
            f"{path}: XML that declares entities ({type(error).__name__}); remove the declarations"
        ) from None
    except (ParseError, ValueError, LookupError) as error:
        raise FormatError(f"{path}: not well-formed XML ({error})") from None
    if root.tag not in ("annotations", "knowtator-project"):
        raise FormatError(f"{path}: <{root.tag:.60}>, expected <annotations> or <knowtator-project>")
    return root


def _entity(
    annotation: Element,
    classes: dict[str | None, str | None],
    cuis: dict[str | None, str],
    text: str,
    where: str,
    source: Source,
) -> Entity:
    class_element, mention = annotation.find("class"), annotation.find("mention")
    name = (
        class_element.get("id")
        if class_element is not None
        else classes.get(mention.get("id"))
        if mention is not None
        else None
    )
    if not name:
        raise FormatError(f"{where}: no type; add a <class>, or a <mention> with its <classMention>")
    elements = annotation.findall("span")
    spans = [(span.get("start", ""), span.get("end", "")) for span in elements]
    if not spans:
        raise FormatError(f"{where}: no <span>; add one with start and end")
    if not all(value.isascii() and value.isdigit() and len(value) < 19 for span in spans for value in span):
        raise FormatError(f"{where}: span {spans!r:.60}, expected start and end as numbers")
    pairs = [(int(start), int(end)) for start, end in spans]
    fragments = fragments_from(set(pairs), text, where, source.notes)
    stated = annotation.findtext("spannedText") or " ".join(span.text or "" for span in elements)
    if stated.strip():
        without_gaps = re.sub(r"\s\.\.\.\s", " ", stated)  # dots stand for a gap
        if (agreed := agreed_pairs(without_gaps, pairs, text, where, source)) is not pairs:
            fragments = fragments_from(set(agreed), text, where, Notes())
    mentioned = mention.get("id") if mention is not None else None
    cui = cuis.get(mentioned)
    return Entity(name.strip(), fragments, id=annotation.get("id") or None, meta={"share": {"cui": cui}} if cui else {})


def _cuis(root: Element) -> dict[str | None, str]:
    """Return the concept of each mention that has a slot with CUI in its name."""
    values = {}
    for slot in root.iter("stringSlotMention"):
        kind, value = slot.find("mentionSlot"), slot.find("stringSlotMentionValue")
        if kind is not None and value is not None and "cui" in kind.get("id", "").lower() and value.get("value"):
            values[slot.get("id")] = value.get("value", "")
    return {
        mention.get("id"): values[slot.get("id")]
        for mention in root.iter("classMention")
        for slot in mention.iter("hasSlotMention")
        if slot.get("id") in values
    }
