"""brat standoff: NAME.txt with NAME.ann, fragments as `0 5;16 20`.

Reading joins fragments with only white space between them (brat splits at line ends), and writing splits them again.
Fragments out of text order are sorted. Relations, events, attributes, notes and normalizations are kept unchanged in
`meta["brat"]`, and written again unless their target is gone.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path

from gridner.documents import Document, Entity, Fragment
from gridner.errors import FormatError, Notes
from gridner.files import (
    Line,
    Source,
    check_not_empty,
    file_for,
    read_lines,
    read_text,
    write_text,
)
from gridner.formats._support.entity_ids import entity_ids
from gridner.formats._support.folders import files_by_name, files_under, in_any_case, names_under
from gridner.formats._support.lost_information import note_losses
from gridner.formats._support.repair import agreed_fragments

IDENTIFIER = r"T[^\s:;]+"
TEXT_BOUND = re.compile(
    rf"({IDENTIFIER})\t([^\t ]+) (\d{{1,18}} \d{{1,18}}(?:;\d{{1,18}} \d{{1,18}})*)(?:\t(.*))?", re.DOTALL
)
OTHER_KINDS = re.compile(r"[REAMN#*]\S*\t\S[^\n]*")
BREAK = re.compile(r"[\t\n\r\v\f\x1c-\x1f\x85\u2028\u2029]")  # ends a line or column in brat
GONE = "brat annotation whose target is gone, not written"
Names = dict[str, dict[str, None]]  # section of annotation.conf → names
NAMES = ("entities", "relations", "equivalences", "events", "attributes")


def read(source: Source) -> Iterator[Document]:
    """Yield the documents of a folder (or of one file), by name. `source.texts` is the folder of the texts."""
    root = source.path
    if root.is_file() and root.suffix.lower() not in (".ann", ".txt"):
        raise FormatError(f"{root}: not a brat file, expected a folder, a .txt or an .ann file")
    if root.is_file() and source.texts is None:
        name = root.name.removesuffix(root.suffix)
        pairs = {name: (in_any_case(root.with_name(name + ".ann")), in_any_case(root.with_name(name + ".txt")))}
    else:
        names = names_under(root, source)
        anns = files_by_name(root, names, (".ann",), source)
        if source.texts is None:
            texts = files_by_name(root, names, (".txt",), source)
        else:
            texts = files_under(source.texts, (".txt",), source)
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
        raise FormatError(f"{ann}: no text for it; add {txt} or pass its folder as --texts")
    text = read_text(txt)
    check_not_empty(text, str(txt))
    if not ann.is_file():
        source.notes.add("text without .ann, read as without entities", str(txt))
        return Document(name, text)
    return parse_ann(name, text, read_lines(ann), source)


def parse_ann(name: str, text: str, lines: Iterable[Line], source: Source) -> Document:
    """Return a document from its text and the lines of its .ann file."""
    entities: dict[str, Entity] = {}
    others: list[str] = []
    for line in lines:
        with source.record(line.where):
            content = line.text
            if content.startswith("T"):
                entity = _read_entity(content, text, line.where, source)
                if entity.id in entities:
                    raise FormatError(f"{line.where}: {entity.id} appears twice; ids must be unique")
                entities[entity.id or ""] = entity
            elif OTHER_KINDS.fullmatch(content):
                others.append(content)
            elif content.strip():
                raise FormatError(
                    f"{line.where}: {content[:40]!r}, expected a brat annotation (T1, R1, E1, A1, #1, …, then a tab)"
                )
    return Document(name, text, tuple(entities.values()), meta={"brat": others} if others else {})


def _read_entity(line: str, text: str, where: str, source: Source) -> Entity:
    match = TEXT_BOUND.fullmatch(line)
    if not match:
        raise FormatError(f"{where}: {line[:60]!r}, expected T1, tab, 'Type 0 5;16 20', tab, the text")
    identifier, name, offsets, stated = match.groups()
    pairs = [(int(start), int(end)) for start, end in (pair.split() for pair in offsets.split(";"))]
    return Entity(name, agreed_fragments(stated, pairs, text, where, source), id=identifier)


def write(documents: Iterable[Document], path: Path, notes: Notes) -> int:
    """Write a folder with the documents and an annotation.conf for brat. Return the number of entities written."""
    written = 0
    names = empty_names()
    for document in documents:
        note_losses(document, notes, "brat", ids=True, own_meta="brat")
        ann = ann_text(document, notes, names)
        write_text(file_for(path, document.id, ".txt"), document.text)
        write_text(file_for(path, document.id, ".ann"), ann)
        written += len(document.entities)
    write_text(path / "annotation.conf", configuration(names))
    return written


def ann_text(document: Document, notes: Notes, names: Names) -> str:
    """Return the contents of a document's .ann file, and add the names of its types and relations to `names`."""
    return "".join(line + "\n" for line in _ann_lines(document, notes, names))


def empty_names() -> Names:
    """Return the sections of annotation.conf without any names."""
    return {section: {} for section in NAMES}


def _ann_lines(document: Document, notes: Notes, names: Names) -> Iterator[str]:
    others = _other_lines(document, notes)
    ids = entity_ids(document, notes, "brat", re.compile(IDENTIFIER).fullmatch, _unused_ids(document, others))
    for entity, identifier in zip(document.entities, ids, strict=True):
        names["entities"][brat_name(entity.type)] = None
        yield entity_line(document, entity, identifier, notes)
    for line in _lines_with_targets(document, others, set(ids), notes):
        label = line.split("\t")[1].split(" ")[0].split(":")[0]
        section = {"R": "relations", "*": "equivalences", "E": "events", "A": "attributes", "M": "attributes"}.get(
            line[0]
        )
        if section:
            names[section][label] = None
        yield line


def brat_name(type: str) -> str:
    """Return an entity type as brat spells it."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", type)


def entity_line(document: Document, entity: Entity, identifier: str, notes: Notes) -> str:
    """Return the line of an entity, without its end."""
    name = brat_name(entity.type)
    if name != entity.type:
        notes.add("entity type that brat does not take, written with _", f"{document.id}: {entity.type} as {name}")
    spans = brat_spans(document.text, entity)
    offsets = ";".join(f"{fragment.start} {fragment.end}" for fragment, _ in spans)
    return f"{identifier}\t{name} {offsets}\t{' '.join(covered for _, covered in spans)}"


def brat_spans(text: str, entity: Entity) -> list[tuple[Fragment, str]]:
    """Return the fragments of an entity with their text, split at line ends, which brat does not take."""
    fragments = _split_at_line_ends(text, entity.fragments)
    return [(fragment, BREAK.sub(" ", text[fragment.start : fragment.end])) for fragment in fragments]


def _other_lines(document: Document, notes: Notes) -> list[str]:
    """Return the other lines of the .ann file, checked, because `meta` may come from anywhere."""
    lines = document.meta.get("brat", [])
    if not isinstance(lines, list):
        lines = [lines]
    good = [line for line in lines if isinstance(line, str) and OTHER_KINDS.fullmatch(line)]
    for _ in range(len(lines) - len(good)):
        notes.add("meta 'brat' that is not a line of an .ann file, not written", document.id)
    return good


def _unused_ids(document: Document, others: Iterable[str]) -> Iterator[str]:
    """Yield T numbers past those in use, and past those that other lines still refer to."""
    known = {entity.id for entity in document.entities if entity.id} | {
        name for line in others for name in _targets(line)
    }
    last = max((int(name[1:]) for name in known if re.fullmatch(r"T\d{1,18}", name)), default=0)
    return (name for number in count(last + 1) if (name := f"T{number}") not in known)


def _lines_with_targets(document: Document, lines: list[str], entities: set[str], notes: Notes) -> list[str]:
    """Return the lines without those that refer, directly or not, to something that is gone."""
    names = [line.split("\t")[0] for line in lines]
    left = Counter(names)  # lines of each name that stay; `*` names many
    referring: dict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        for target in set(_targets(line)):
            referring[target].append(number)
    gone: set[int] = set()
    absent = [name for name in referring if name not in entities and not left[name]]
    while absent:
        for number in referring[absent.pop()]:
            if number not in gone:
                gone.add(number)
                left[names[number]] -= 1
                if not left[names[number]] and names[number] not in entities:
                    absent.append(names[number])
    for number in sorted(gone):
        notes.add(GONE, f"{document.id}: {lines[number][:60]}")
    return [line for number, line in enumerate(lines) if number not in gone]


def _targets(line: str) -> list[str]:
    """Return the ids that a line refers to: all arguments, or for attributes, notes and normalizations the first."""
    kind, label, *arguments = line[0], *line.split("\t")[1].split()
    if kind == "E":  # E1 Type:T1 Role:T2
        arguments = [label, *arguments]
    if kind in "RE":
        return [argument.rpartition(":")[2] for argument in arguments]
    return arguments if kind == "*" else arguments[:1]


def _split_at_line_ends(text: str, fragments: Iterable[Fragment]) -> list[Fragment]:
    """Return fragments without line ends and tabs inside them, which brat does not take."""
    split = []
    for fragment in fragments:
        spaces = re.compile(r"\s+").finditer(text, fragment.start, fragment.end)
        breaks = [match.span() for match in spaces if BREAK.search(match[0])]
        edges = [fragment.start, *(edge for span in breaks for edge in span), fragment.end]
        parts = [Fragment(start, end) for start, end in zip(edges[::2], edges[1::2], strict=True) if start < end]
        split += parts or [fragment]
    return split


def configuration(names: Names) -> str:
    """Return the annotation.conf with which brat opens documents that have these names."""
    events = names["events"]
    lines = ["[entities]", *(name for name in sorted(names["entities"]) if name not in events)]
    lines += ["", "[relations]", "<OVERLAP> Arg1:<ENTITY>, Arg2:<ENTITY>, <OVL-TYPE>:<ANY>"]
    lines += [f"{name} Arg1:<ANY>, Arg2:<ANY>" for name in sorted(names["relations"])]
    lines += [
        f"{name} Arg1:<ANY>, Arg2:<ANY>, <REL-TYPE>:symmetric-transitive" for name in sorted(names["equivalences"])
    ]
    lines += ["", "[events]", *(f"{name} <ANY>*:<ANY>" for name in sorted(events))]
    lines += ["", "[attributes]", *(f"{name} Arg:<ANY>" for name in sorted(names["attributes"]))]
    return "\n".join(lines) + "\n"
