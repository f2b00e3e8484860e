"""Collect the answers of teachers about a text into a file, so that an interrupted run can resume."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from gridner.distillation.answer_file import SKIPPED, Answer, line_of
from gridner.distillation.teachers import Teachers
from gridner.errors import Notes, OutputError, UsageError
from gridner.locking import only_process
from gridner.text.alignment import Sentence

PART = "answers.jsonl"
MOST_SENTENCES, MOST_CELLS = 512, 400_000  # per batch for the teachers; bounds the memory
LAST_LINE_START = b'{"sentences"'
TOO_LONG = "unlabelled sentence longer than a teacher's window, left out"


def collect_answers(
    path: Path,
    header: Mapping[str, Any],
    sentences: Iterable[Sentence],
    teachers: Teachers,
    *,
    notes: Notes,
    each: Callable[[], None] = lambda: None,
) -> None:
    """Write the answers about sentences to a new file, continuing what an interrupted run left beside it.

    `each` is called after each sentence.
    """
    if path.exists():
        raise OutputError(f"{path}: exists; choose a new file for the answers")
    folder = path.with_name(f"{path.name}.part")
    try:
        with only_process(folder, f"{path}: another process is writing it; choose another file"):
            _collect(folder / PART, header, iter(sentences), teachers, notes, each)
            (folder / PART).replace(path)
            folder.rmdir()
    except OSError as error:
        raise OutputError(f"{error.filename or path}: cannot be written ({error.strerror or error})") from None


def _collect(
    part: Path,
    header: Mapping[str, Any],
    sentences: Iterator[Sentence],
    teachers: Teachers,
    notes: Notes,
    each: Callable[[], None],
) -> None:
    header_line = json.dumps(header, ensure_ascii=False).encode("utf-8") + b"\n"
    with open(part, "a+b") as file:
        answered = _resume(file, header_line, part)
        for number in range(answered):
            if next(sentences, None) is None:
                raise OutputError(f"{part}: {answered:,} sentences, but the text has only {number:,}; remove it")
        for batch in _batches(sentences):
            answers = teachers.answer(batch, least=header["least"])
            for sentence, grid in zip(batch, answers, strict=True):
                words = tuple(word.text for word in sentence.words)
                # A skipped sentence has a line, too: the number of lines tells where to resume.
                file.write(SKIPPED if grid is None else line_of(Answer(words, grid)))
                each()
            file.flush()
        _finish(file, notes)


def _resume(file: BinaryIO, header_line: bytes, part: Path) -> int:
    """Go to the end of the answers in a file, and return their number. Remove an incomplete last line."""
    file.seek(0)
    first = file.readline()
    if first.endswith(b"\n") and first != header_line:
        raise OutputError(f"{part.parent}: answers about other text, or of other teachers or settings; remove it")
    if not first.endswith(b"\n"):
        file.truncate(0)
        file.write(header_line)
        return 0
    whole, count = len(first), 0
    while (line := file.readline()).endswith(b"\n") and not line.startswith(LAST_LINE_START):
        whole, count = whole + len(line), count + 1
    file.truncate(whole)
    file.seek(whole)
    return count


def _finish(file: BinaryIO, notes: Notes) -> None:
    """Append the last line, and add the skipped sentences to `notes`."""
    own = Notes()
    digest = hashlib.sha256()
    number = 0
    file.seek(0)
    for number, line in enumerate(file):
        digest.update(line)
        if line == SKIPPED:
            own.add(TOO_LONG, f"sentence {number}")
    if number == own.total:
        raise UsageError("no sentence of the text fits into a window of the teachers; expected some")
    notes.merge(own)
    last = {"sentences": number, "sha256": digest.hexdigest(), "notes": [list(note) for note in own]}
    file.write(json.dumps(last, ensure_ascii=False).encode("utf-8") + b"\n")


def _batches(sentences: Iterator[Sentence]) -> Iterator[list[Sentence]]:
    """Yield the sentences in batches whose grids fit into memory."""
    batch: list[Sentence] = []
    cells = 0
    for sentence in sentences:
        if batch and (len(batch) == MOST_SENTENCES or cells + len(sentence.words) ** 2 > MOST_CELLS):
            yield batch
            batch, cells = [], 0
        batch.append(sentence)
        cells += len(sentence.words) ** 2
    if batch:
        yield batch


def chosen_share(sentences: Iterable[Sentence], share: float) -> Iterator[Sentence]:
    """Yield about this share of the sentences, chosen by a hash of their words: the same in each run."""
    for sentence in sentences:
        key = "\0".join(word.text for word in sentence.words).encode("utf-8", "surrogatepass")
        if int.from_bytes(hashlib.blake2b(key, digest_size=8).digest()) < share * 2**64:
            yield sentence
