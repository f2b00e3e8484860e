"""UIMA CAS as XMI, through the library `dkpro-cassis`: NAME.xmi with TypeSystem.xml, as INCEpTION exports and imports.

INCEpTION has no annotations with gaps. Our convention is a span layer `custom.Entity` (`webanno.custom.Entity` in older
projects) with the features `value`, the type; `entity`, text that the fragments of one entity share; and `score`.
Where there is no such layer, DKPro's `NamedEntity` is read, each annotation an entity. Offsets are UTF-16 units in the
file; the library makes them code points.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from gridner.documents import Document, Entity
from gridner.errors import FormatError, Notes, OutputError, need
from gridner.files import Source, check_not_empty, file_for, read_bytes
from gridner.formats._support.entity_ids import entity_ids
from gridner.formats._support.folders import files_under
from gridner.formats._support.lost_information import note_losses
from gridner.formats._support.offsets import fragments_from
from gridner.formats._support.safe_xml import check_start, is_xml, xml_text

LAYER = "custom.Entity"
NAMED = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"
LAYERS = (LAYER, "webanno.custom.Entity", NAMED)
TYPES = "TypeSystem.xml"
VALUE, ENTITY, SCORE = "value", "entity", "score"
STRING, NUMBER, SPAN = "uima.cas.String", "uima.cas.Float", "uima.tcas.Annotation"


def read(source: Source) -> Iterator[Document]:
    """Yield the documents of a folder (or of one file), by name, with the TypeSystem.xml beside or above each."""
    cassis = need("cassis", "formats")
    known: dict[Path, tuple[Any, str]] = {}
    files = files_under(source.path, (".xmi",), source)
    if not files and source.path.is_file():
        raise FormatError(f"{source.path}: not an .xmi file; pass an .xmi file or a folder of them")
    for name, path in files.items():
        if source.wants(name):
            with source.record(str(path)):
                type_system_path = _type_system_of(path, source.path)
                if type_system_path not in known:
                    known = {type_system_path: _type_system(cassis, type_system_path)}
                yield _document(cassis, name, path, *known[type_system_path], source)


def _type_system_of(path: Path, root: Path) -> Path:
    for folder in path.parents:
        if (folder / TYPES).is_file():
            return folder / TYPES
        if folder == root or root.is_file():
            break
    raise FormatError(f"{path}: no type system; export it with {TYPES}, and put that beside it")


def _loaded(path: Path, load: Any) -> Any:
    """Return a file as the library loads it. Offsets that it only warns about are errors."""
    data = read_bytes(path)
    check_start(BytesIO(data), str(path))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            loaded = load(BytesIO(data))
        except Exception as error:  # the library has no errors of its own for bad input
            raise FormatError(
                f"{path}: cassis cannot read it ({type(error).__name__}: {error!s:.100}); export it again as XMI"
            ) from None
    for warning in caught:
        if "Not mapping" in str(warning.message):
            raise FormatError(
                f"{path}: an offset that is outside the text or inside a character ({warning.message!s:.80})"
            )
    return loaded


def _type_system(cassis: Any, path: Path) -> tuple[Any, str]:
    """Return the types that a file declares, and the layer that has the entities."""
    types = _loaded(path, cassis.load_typesystem)
    for layer in LAYERS:
        if types.contains_type(layer):
            features = {feature.name for feature in types.get_type(layer).all_features}
            if VALUE not in features:
                raise FormatError(f"{path}: layer {layer} has no feature {VALUE!r}; add it, for the type of an entity")
            return types, layer
    others = sorted(declared.name for declared in types.get_types() if types.is_instance_of(declared.name, SPAN))
    raise FormatError(
        f"{path}: layers are {', '.join(others)[:150] or 'none'}, expected {LAYER} or DKPro's NamedEntity"
    )


def _document(cassis: Any, name: str, path: Path, types: Any, layer: str, source: Source) -> Document:
    cas = _loaded(path, lambda file: cassis.load_cas_from_xmi(file, typesystem=types))
    text = cas.sofa_string
    if text is None:
        raise FormatError(f"{path}: no text; the initial view needs a sofaString")
    check_not_empty(text, str(path))
    groups: dict[tuple[str, object], list[Any]] = {}
    for number, span in enumerate(sorted(cas.select(layer), key=lambda annotation: annotation.xmiID)):
        shared = span.get(ENTITY) if layer != NAMED and span.type.get_feature(ENTITY) else None
        if span.get(VALUE):
            groups.setdefault(("shared", shared) if shared else ("own", number), []).append(span)
        else:
            source.notes.add("annotation without a value, left out", f"{path}: {span.begin}-{span.end}")
    entities = []
    for (_, shared), spans in groups.items():
        where = f"{path}: {layer.rpartition('.')[2]} {spans[0].xmiID}"
        with source.record(where):
            entities.append(_entity(spans, shared if isinstance(shared, str) else None, text, where, source.notes))
    others = {
        annotation.type.name.rpartition(".")[2]
        for annotation in cas.select_all_annotations()
        if annotation.type.name != layer
    }
    if others := others - {"DocumentAnnotation"}:
        source.notes.add("other layers of a CAS, left out", f"{path}: {', '.join(sorted(others))}")
    return Document(name, text, tuple(entities))


def _entity(spans: list[Any], shared: str | None, text: str, where: str, notes: Notes) -> Entity:
    names = {span.get(VALUE) for span in spans}
    if len(names) > 1:
        values = ", ".join(sorted(names))
        raise FormatError(
            f"{where}: entity {shared!s:.40} has the values {values[:60]}; give its fragments the same one"
        )
    fragments = fragments_from([(span.begin, span.end) for span in spans], text, where, notes)
    scores = [span.get(SCORE) for span in spans if span.type.get_feature(SCORE)]
    score = next((value for value in scores if isinstance(value, int | float)), None)
    return Entity(names.pop().strip(), fragments, score, shared)


def write(documents: Iterable[Document], path: Path, notes: Notes) -> int:
    """Write a folder with NAME.xmi for each document and a TypeSystem.xml. Return the number of entities written."""
    cassis = need("cassis", "formats")
    types = cassis.TypeSystem()
    layer = types.create_type(name=LAYER, supertypeName=SPAN)
    for feature, kind in ((VALUE, STRING), (ENTITY, STRING), (SCORE, NUMBER)):
        types.create_feature(domainType=layer, name=feature, rangeType=kind)
    types.to_xml(path / TYPES)
    written = 0
    for document in documents:
        note_losses(document, notes, "cas", ids=True, scores=True)
        text = xml_text(document.text, notes, document.id)
        cas = cassis.Cas(typesystem=types)
        cas.sofa_string, cas.sofa_mime = text, "text/plain"
        names = entity_ids(document, notes, "cas", is_xml)
        for entity, name in zip(document.entities, names, strict=True):
            shared = name if entity.id is not None or len(entity.fragments) > 1 else None
            for at in entity.fragments:
                score = None if entity.score is None else float(entity.score)
                cas.add(layer(begin=at.start, end=at.end, value=entity.type, entity=shared, score=score))
        try:
            cas.to_xmi(file_for(path, document.id, ".xmi"))
        except ValueError as error:
            raise OutputError(f"document {document.id}: XML cannot carry it ({error})") from None
        written += len(document.entities)
    return written
