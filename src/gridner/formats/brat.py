"""brat standoff: NAME.txt with NAME.ann, fragments as `0 5;16 20`.

Fragments parted only by white space are one (brat splits at line ends) and are split at line ends again on writing;
fragments out of text order are sorted. Relations, events, attributes, notes and normalisations are kept, as they stand,
in `meta["brat"]`, and written again unless what they refer to has gone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from gridner.documents import Document, Entity, Fragment
from gridner.errors import FormatError, Notes
from gridner.formats.files import Source, check_not_empty, file_for, files_under, read_lines, read_text, write_text
from gridner.formats.losses import note_losses
from gridner.formats.offsets import fragments_from

TEXT_BOUND = re.compile(r"(T[^\t ]*)\t([^\t ]+) (\d{1,18} \d{1,18}(?:;\d{1,18} \d{1,18})*)(?:\t(.*))?", re.DOTALL)
OTHER_KINDS = "REAMN#*"
REFERENCE = re.compile(r"(?<![^\s:])[TER]\d+(?![^\s])")
GONE = "brat annotation whose target is gone, not written"


def read(source: Source) -> Iterator[Document]:
    """Documents of a folder (or of one file), by name. `source.texts` is the folder of the texts, if another."""
    root = source.path
    if root.is_file() and root.suffix not in (".ann", ".txt"):
        raise FormatError(f"{root}: expected a folder, a .txt or an .ann file")
    if root.is_file() and source.texts is None:
        name = root.name.removesuffix(root.suffix)
        pairs = {name: (root.with_name(name + ".ann"), root.with_name(name + ".txt"))}
    else:
        anns = files_under(root, (".ann",))
        texts = files_under(source.texts or root, (".txt",))
        if root.is_file():
            texts = {name: path for name, path in texts.items() if name in anns}
        beside = source.texts or (root if root.is_dir() else root.parent)
        pairs = {
            name: (anns.get(name, root / (name + ".ann")), texts.get(name, beside / (name + ".txt")))
            for name in sorted(anns.keys() | texts.keys())
        }
    for name, (ann, txt) in pairs.items():
        if source.wants(name):
            with source.record(str(ann)):
                yield _read_document(name, ann, txt, source)


def _read_document(name: str, ann: Path, txt: Path, source: Source) -> Document:
    if not txt.is_file():
        raise FormatError(f"{ann}: no text for it, expected {txt} (--texts names another folder)")
    text = read_text(txt)
    check_not_empty(text, str(txt))
    if not ann.is_file():
        source.notes.add("text without .ann, read as without entities", str(txt))
        return Document(name, text)
    entities: dict[str, Entity] = {}
    others: list[str] = []
    for number, line, _ in read_lines(ann):
        where = f"{ann}:{number}"
        with source.record(where):
            if line.startswith("T"):
                entity = _read_entity(line, text, where, source.notes)
                if entity.id in entities:
                    raise FormatError(f"{where}: {entity.id} a second time, expected each id once")
                entities[entity.id or ""] = entity
            elif line[:1] and line[0] in OTHER_KINDS and "\t" in line:
                others.append(line)
            elif line.strip():
                raise FormatError(
                    f"{where}: {line[:40]!r}, expected a brat annotation (T1, R1, E1, A1, #1, …, then a tab)"
                )
    return Document(name, text, tuple(entities.values()), meta={"brat": others} if others else {})


def _read_entity(line: str, text: str, where: str, notes: Notes) -> Entity:
    match = TEXT_BOUND.fullmatch(line)
    if not match:
        raise FormatError(f"{where}: {line[:60]!r}, expected T1, tab, 'Type 0 5;16 20', tab, the text")
    identifier, name, offsets, said = match.groups()
    pairs = [(int(start), int(end)) for start, end in (pair.split() for pair in offsets.split(";"))]
    fragments = fragments_from(pairs, text, where, notes)
    if said is not None and _squeeze(said) not in (_covered(text, pairs), _covered(text, sorted(pairs))):
        found = " ".join(text[start:end] for start, end in pairs)
        raise FormatError(f"{where}: the text at {offsets} is {found[:60]!r}, expected {said[:60]!r}")
    return Entity(name, fragments, id=identifier)


def _covered(text: str, pairs: Iterable[tuple[int, int]]) -> str:
    return _squeeze("".join(text[start:end] for start, end in pairs))


def _squeeze(text: str) -> str:
    return "".join(text.split())


def write(documents: Iterable[Document], path: Path, notes: Notes) -> None:
    """A folder with the documents and an annotation.conf that makes brat open it."""
    names: dict[str, dict[str, None]] = {"entities": {}, "relations": {}, "events": {}, "attributes": {}}
    for document in documents:
        note_losses(document, notes, "brat", ids=True, own_meta="brat")
        lines = list(_ann_lines(document, notes, names))
        write_text(file_for(path, document.id, ".txt"), document.text)
        write_text(file_for(path, document.id, ".ann"), "".join(line + "\n" for line in lines))
    write_text(path / "annotation.conf", _configuration(names))


def _ann_lines(document: Document, notes: Notes, names: dict[str, dict[str, None]]) -> Iterator[str]:
    taken = [entity.id for entity in document.entities if entity.id and re.fullmatch(r"T\d{1,9}", entity.id)]
    spare = max((int(identifier[1:]) for identifier in taken), default=0)
    used: set[str] = set()
    for entity in document.entities:
        identifier = entity.id
        if identifier is None or identifier not in taken or identifier in used:
            spare += 1
            identifier = f"T{spare}"
        used.add(identifier)
        name = re.sub(r"[^a-zA-Z0-9_-]", "_", entity.type)
        if name != entity.type:
            notes.add("entity type that brat does not take, written with _", f"{document.id}: {entity.type} as {name}")
        names["entities"][name] = None
        fragments = _split_at_line_ends(document.text, entity.fragments)
        offsets = ";".join(f"{fragment.start} {fragment.end}" for fragment in fragments)
        said = " ".join(document.text[fragment.start : fragment.end] for fragment in fragments)
        yield f"{identifier}\t{name} {offsets}\t{said}"
    for line in _lines_with_targets(document, used, notes):
        kind, label = line[0], line.split("\t")[1].split(" ")[0].split(":")[0]
        section = {"R": "relations", "E": "events", "A": "attributes", "M": "attributes"}.get(kind)
        if section:
            names[section][label] = None
        yield line


def _lines_with_targets(document: Document, known: set[str], notes: Notes) -> list[str]:
    """The kept lines, less those that refer to something that is no longer there, however indirectly."""
    lines: list[str] = list(document.meta.get("brat", ()))
    while True:
        there = known | {line.split("\t")[0] for line in lines}
        kept = [line for line in lines if set(_references(line)) <= there]
        for line in lines:
            if line not in kept:
                notes.add(GONE, f"{document.id}: {line[:60]}")
        if len(kept) == len(lines):
            return kept
        lines = kept


def _references(line: str) -> list[str]:
    body = line.split("\t")[1]  # a note's own text, after the next tab, refers to nothing
    return REFERENCE.findall(body)


def _split_at_line_ends(text: str, fragments: Iterable[Fragment]) -> list[Fragment]:
    """Brat takes neither line ends nor tabs inside a fragment."""
    pieces = []
    for fragment in fragments:
        breaks = re.compile(r"\s*[\t\r\n]\s*").finditer(text, fragment.start, fragment.end)
        edges = [fragment.start, *(edge for found in breaks for edge in found.span()), fragment.end]
        found = [Fragment(start, end) for start, end in zip(edges[::2], edges[1::2], strict=True) if start < end]
        pieces += found or [fragment]
    return pieces


def _configuration(names: dict[str, dict[str, None]]) -> str:
    events = names["events"]
    parts = ["[entities]", *(name for name in sorted(names["entities"]) if name not in events)]
    parts += ["", "[relations]", "<OVERLAP> Arg1:<ENTITY>, Arg2:<ENTITY>, <OVL-TYPE>:<ANY>"]
    parts += [f"{name} Arg1:<ANY>, Arg2:<ANY>" for name in sorted(names["relations"])]
    parts += ["", "[events]", *(f"{name} <ANY>*:<ANY>" for name in sorted(events))]
    parts += ["", "[attributes]", *(f"{name} Arg:<ANY>" for name in sorted(names["attributes"]))]
    return "\n".join(parts) + "\n"
