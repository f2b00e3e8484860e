"""BioC, as XML here and as JSON in `biocjson`, through the library `bioc`.

An annotation has its type in the infon `type`, its score (ours) in `score`, and a location for each fragment. Offsets
count characters of the document, or bytes of UTF-8 where the annotations' own texts say so (BioC leaves it open).
Passages (or their sentences) stand at their offsets, line feeds between them. Other infons of documents and annotations
are kept in `meta["bioc"]` and written again. Written is one passage a document.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from gridner import files
from gridner.documents import Document, Entity
from gridner.errors import FormatError, Notes, need
from gridner.files import Source, check_not_empty, open_bytes
from gridner.formats._support.entity_ids import entity_ids
from gridner.formats._support.folders import data_files
from gridner.formats._support.lost_information import note_losses
from gridner.formats._support.offsets import check_text, from_utf8
from gridner.formats._support.passages import join_passages
from gridner.formats._support.repair import agreed_fragments
from gridner.formats._support.safe_xml import check_start, is_xml, xml_text

TYPE, SCORE = "type", "score"
UTF8 = ("utf-8", "surrogatepass")  # what is no text is found elsewhere
GAP = re.compile(r"\s(\.\.\.|\[\.\.\.\]|…)\s")  # what may stand for a gap in the text of an annotation
MISSHAPEN = (AttributeError, KeyError, TypeError, ValueError)  # what the library raises where something is missing


def read(source: Source) -> Iterator[Document]:
    """Yield the documents of a file (or of the .xml files of a folder)."""
    need("bioc", "formats")
    etree = need("lxml.etree", "formats")
    for path in data_files(source, (".xml",)):
        with source.record(str(path)), open_bytes(path) as file:
            root = check_start(file, str(path))
            if root != "collection":
                raise FormatError(f"{path}: <{root:.60}>, expected <collection>")
            safe = {"resolve_entities": False, "no_network": True, "load_dtd": False}
            elements = etree.iterparse(file, events=("end",), tag="document", **safe)
            try:
                for _, element in elements:
                    where = f"{path}:{element.sourceline}"
                    with source.record(where):
                        data = etree.tostring(element, encoding="unicode", with_tail=False)
                        _forget(element)
                        yield from _wanted(data, where, source)
            except etree.XMLSyntaxError as error:
                raise FormatError(f"{path}: not well-formed XML ({error.msg})") from None


def _forget(element: Any) -> None:
    """Free the memory of a document and of everything before it."""
    element.clear()
    while element.getprevious() is not None:
        del element.getparent()[0]


def _wanted(data: str, where: str, source: Source) -> Iterator[Document]:
    """Yield the document in some XML, read by the library, if it is wanted."""
    if len(data) > files.MAX_BYTES:
        raise FormatError(f"{where}: larger than {files.MAX_BYTES:,} characters; split the document")
    try:
        (parsed,) = need("bioc.biocxml", "formats").loads(f"<collection>{data}</collection>").documents
    except MISSHAPEN as error:
        raise FormatError(f"{where}: not a BioC document ({error!r:.80}); check its ids, offsets and lengths") from None
    yield from wanted(parsed, where, source)


def wanted(parsed: Any, where: str, source: Source) -> Iterator[Document]:
    """Yield a document of the library as a `Document`, if it is wanted."""
    if not isinstance(parsed.id, str) or not parsed.id.strip():
        raise FormatError(f"{where}: a document without an id; add one")
    parsed.id = parsed.id.strip("\n\r\t")
    if source.wants(parsed.id):
        source.once(parsed.id, where)
        yield _document(parsed, where, source)


def _document(parsed: Any, where: str, source: Source) -> Document:
    where = f"{where}: document {parsed.id:.60}"
    parts = [parsed, *parsed.passages, *(sentence for passage in parsed.passages for sentence in passage.sentences)]
    annotations = list(chain.from_iterable(part.annotations for part in parts))
    text = _text(parsed, annotations, where, source.notes)
    check_not_empty(text, where)
    entities: list[Entity] = []
    for annotation in annotations:
        annotation_where = f"{where}: annotation {annotation.id!s:.40}"
        with source.record(annotation_where):
            entities += _entities(annotation, text, annotation_where, source)
    for relation in chain.from_iterable(part.relations for part in parts):
        source.notes.add("relation, left out", f"{where}: relation {relation.id!s:.40}")
    if any(part.infons for part in parts[1:]):
        source.notes.add("infons of passages or sentences, left out", where)
    infons = _infons_of(parsed, where)
    return Document(parsed.id, text, tuple(entities), meta={"bioc": infons} if infons else {})


def _text(parsed: Any, annotations: list[Any], where: str, notes: Notes) -> str:
    """Return the text of the passages. If the annotations count bytes, convert their locations to characters."""
    pieces = [piece for passage in parsed.passages for piece in _pieces(passage, where)]
    text = join_passages(pieces, where)
    if text.isascii() or all(_fits(annotation, text) for annotation in annotations):
        return text
    try:  # each byte a character for a while
        latin_text = join_passages(((offset, piece.encode(*UTF8).decode("latin-1")) for offset, piece in pieces), where)
    except FormatError:
        return text
    byte_text = latin_text.encode("latin-1").decode(*UTF8)
    code_points = from_utf8(byte_text)
    if not all(_fits(annotation, byte_text, code_points) for annotation in annotations):
        return text  # wrong either way; the caller reports it
    notes.add("document with offsets in bytes of UTF-8, made characters", where)
    for location in chain.from_iterable(annotation.locations for annotation in annotations):
        start, end = code_points[location.offset], code_points[location.end]
        location.offset, location.length = start, end - start
    return byte_text


def _fits(annotation: Any, text: str, code_points: Mapping[int, int] | None = None) -> bool:
    """Return whether the offsets cover the text that the annotation states, if it states any."""
    try:
        pairs = _pairs(annotation, "")
        if code_points is not None:
            pairs = [(code_points.get(start, -1), code_points.get(end, -1)) for start, end in pairs]
        _check_stated(annotation.text, pairs, text, "")
    except FormatError:
        return False
    return all(0 <= at <= len(text) for pair in pairs for at in pair)


def _infons_of(part: Any, where: str) -> dict[str, Any]:
    """Return a copy of the infons; they may be missing."""
    if not isinstance(part.infons, dict | None):
        raise FormatError(f"{where}: infons are {part.infons!r:.60}, expected an object of texts")
    return dict(part.infons or {})


def _pairs(annotation: Any, where: str) -> list[tuple[int, int]]:
    """Return start and end of each location, checked, because other programs write these files."""
    locations = [(location.offset, location.length) for location in annotation.locations]
    if not all(type(number) is int for pair in locations for number in pair):
        raise FormatError(f"{where}: locations {locations!r:.60}, expected offset and length as numbers")
    if annotation.text is not None and not isinstance(annotation.text, str):
        raise FormatError(f"{where}: text is {annotation.text!r:.60}, expected text")
    return [(offset, offset + length) for offset, length in locations]


def _pieces(passage: Any, where: str) -> Iterator[tuple[int, str]]:
    """Yield the offset and text of a passage, or of its sentences if it has no text itself."""
    for part in [passage] if passage.text else passage.sentences:
        if type(part.offset) is not int or not isinstance(part.text, str):
            raise FormatError(f"{where}: a passage at {part.offset!r:.20}, expected a number, and its text")
        yield part.offset, part.text


def _entities(annotation: Any, text: str, where: str, source: Source) -> Iterator[Entity]:
    infons = _infons_of(annotation, where)
    name = infons.pop(TYPE, None)
    if not isinstance(name, str) or not name.strip():
        raise FormatError(f"{where}: no infon 'type'; add one with the entity type")
    if not annotation.locations:
        source.notes.add("annotation without location, left out", where)
        return
    pairs = _pairs(annotation, where)
    fragments = agreed_fragments(annotation.text or "", pairs, text, where, source, _check_stated)
    score = _number(infons.get(SCORE))
    if score is not None:
        del infons[SCORE]
    annotation_id = annotation.id if isinstance(annotation.id, str) else str(annotation.id or "")
    yield Entity(name.strip(), fragments, score, annotation_id or None, {"bioc": infons} if infons else {})


def _check_stated(stated: str | None, pairs: Sequence[tuple[int, int]], text: str, where: str) -> None:
    """Raise an error unless an annotation states its fragments, with or without gaps or marks for them, or nothing."""
    if not stated or not stated.strip() or not pairs:
        return
    extent_text = text[min(start for start, _ in pairs) : max(end for _, end in pairs)]
    without_marks = GAP.sub(" ", stated)
    if "".join(extent_text.split()) in ("".join(stated.split()), "".join(without_marks.split())):
        return
    try:
        check_text(stated, pairs, text, where)
    except FormatError:
        check_text(without_marks, pairs, text, where)


def _number(value: object) -> float | None:
    try:
        score = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
    except (ValueError, OverflowError):
        return None
    return score if score is not None and abs(score) < float("inf") else None


def write(documents: Iterable[Document], path: Path, notes: Notes) -> int:
    """Write one file with all documents as a collection. Return the number of entities written."""
    bioc, xml = need("bioc", "formats"), need("bioc.biocxml", "formats")
    written = 0
    with open(path, "xb") as file, xml.iterwrite(file, encoding="utf-8") as writer:
        collection = bioc.BioCCollection()
        collection.source, collection.date, collection.key = "gridner", "", ""
        writer.write_collection_info(collection)
        for document in documents:
            text = xml_text(document.text, notes, document.id)
            writer.write_document(bioc_document(document, text, notes, "bioc", is_xml))
            written += len(document.entities)
    return written


def bioc_document(document: Document, text: str, notes: Notes, format: str, fits: Any = None) -> Any:
    """Return a document as one of the library, with this text."""
    bioc = need("bioc", "formats")
    note_losses(document, notes, format, ids=True, scores=True, own_meta="bioc", own_entity_meta="bioc")
    converted = bioc.BioCDocument()
    converted.id = document.id
    converted.infons = _infons(document.meta, notes, document.id, fits)
    passage = bioc.BioCPassage.of_text(text, 0)
    names = entity_ids(document, notes, format, fits or (lambda _: True))
    for entity, name in zip(document.entities, names, strict=True):
        annotation = bioc.BioCAnnotation()
        annotation.id = name
        annotation.text = text[entity.start : entity.end]  # gaps, too: what the library's validator expects
        infons = _infons(entity.meta, notes, f"{document.id}: {entity.type} {entity.start}-{entity.end}", fits)
        annotation.infons = {TYPE: entity.type} | {key: value for key, value in infons.items() if key != TYPE}
        if entity.score is not None:
            annotation.infons[SCORE] = repr(entity.score)
        for fragment in entity.fragments:
            annotation.add_location(bioc.BioCLocation(fragment.start, len(fragment)))
        passage.add_annotation(annotation)
    converted.add_passage(passage)
    return converted


def _infons(meta: Mapping[str, Any], notes: Notes, where: str, fits: Any) -> dict[str, str]:
    """Return what the format keeps in `meta`, checked, because it may come from anywhere."""
    infons = meta.get("bioc", {})
    if isinstance(infons, dict) and all(
        isinstance(value, str) and (fits is None or fits(value)) for pair in infons.items() for value in pair
    ):
        return infons
    notes.add("meta 'bioc' that is not infons, names and texts, not written", where)
    return {}
