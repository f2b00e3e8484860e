"""Ask the teachers about a text, and keep their answers so that an interrupted run can resume."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from gridner.distillation.answer_file import LEFT_OUT, Answer, line_of
from gridner.distillation.teachers import Teachers
from gridner.errors import Notes, OutputError, UsageError
from gridner.locking import only_process
from gridner.text.sentences import Sentence

PART = "answers.jsonl"
MOST_SENTENCES, MOST_CELLS = 512, 400_000  # that the teachers are asked about at once: bounds the memory
LAST = b'{"sentences"'  # begins the last line
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
    """Write the answers about sentences to a new file. What an interrupted run left beside it is kept.

    `each` is called after each sentence.
    """
    if path.exists():
        raise OutputError(f"{path}: exists; choose a new file for the answers")
    folder = path.with_name(f"{path.name}.part")
    try:
        with only_process(folder, f"{path}: another process writes it; choose another file"):
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
    first = json.dumps(header, ensure_ascii=False).encode("utf-8") + b"\n"
    with open(part, "a+b") as file:
        done = _done(file, first, part)
        for number in range(done):
            if next(sentences, None) is None:
                raise OutputError(f"{part}: {done:,} sentences, but the text has only {number:,}; remove it")
        for some in _batches(sentences):
            answers = teachers.answer(some, least=header["least"])
            for sentence, grid in zip(some, answers, strict=True):
                words = tuple(word.text for word in sentence.words)
                # A sentence that is left out has a line, too: the number of lines says where to resume.
                file.write(LEFT_OUT if grid is None else line_of(Answer(words, grid)))
                each()
            file.flush()
        _finish(file, notes)


def _done(file: BinaryIO, first: bytes, part: Path) -> int:
    """Return how many sentences an interrupted run has answered; a line without an end is cut off."""
    file.seek(0)
    found = file.readline()
    if found.endswith(b"\n") and found != first:
        raise OutputError(f"{part.parent}: answers about other text, or of other teachers or settings; remove it")
    if not found.endswith(b"\n"):
        file.truncate(0)
        file.write(first)
        return 0
    whole, count = len(found), 0
    while (line := file.readline()).endswith(b"\n") and not line.startswith(LAST):
        whole, count = whole + len(line), count + 1
    file.truncate(whole)
    file.seek(whole)
    return count


def _finish(file: BinaryIO, notes: Notes) -> None:
    """Add the last line."""
    own = Notes()
    digest = hashlib.sha256()
    number = 0
    file.seek(0)
    for number, line in enumerate(file):
        digest.update(line)
        if line == LEFT_OUT:
            own.add(TOO_LONG, f"sentence {number}")
    if number == own.total:
        raise UsageError("the text has no sentence that the teachers can be asked about")
    notes.merge(own)
    last = {"sentences": number, "sha256": digest.hexdigest(), "notes": [list(note) for note in own]}
    file.write(json.dumps(last, ensure_ascii=False).encode("utf-8") + b"\n")


def _batches(sentences: Iterator[Sentence]) -> Iterator[list[Sentence]]:
    """Yield some sentences after others, in order, so that their grids fit into memory."""
    some: list[Sentence] = []
    cells = 0
    for sentence in sentences:
        if some and (len(some) == MOST_SENTENCES or cells + len(sentence.words) ** 2 > MOST_CELLS):
            yield some
            some, cells = [], 0
        some.append(sentence)
        cells += len(sentence.words) ** 2
    if some:
        yield some


def chosen_share(sentences: Iterable[Sentence], share: float) -> Iterator[Sentence]:
    """Yield about a share of the sentences, chosen by a hash of their words: the same ones in every run."""
    for sentence in sentences:
        key = "\0".join(word.text for word in sentence.words).encode("utf-8", "surrogatepass")
        if int.from_bytes(hashlib.blake2b(key, digest_size=8).digest()) < share * 2**64:
            yield sentence
