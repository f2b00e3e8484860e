"""Untrained teachers, and their answers about a small text."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from gridner.distillation.answer_file import header_of
from gridner.distillation.collecting import collect_answers
from gridner.distillation.teachers import Teachers
from gridner.documents import Document
from gridner.errors import Notes
from gridner.text.alignment import Sentence, sentences_of
from support.untrained import untrained

LINES = (
    "Pain in right arm and left knee.",
    "Severe joint pain, no nausea.",
    "Nothing today.",
    "Swelling of left shoulder and ankles and legs.",
    "She has muscle pain in both arms.",
)


def unlabelled(lines: Iterable[str] = LINES) -> list[Sentence]:
    """The sentences of lines of text."""
    return [sentence for number, line in enumerate(lines) for sentence in sentences_of(Document(str(number), line))]


def teacher(folder: Path, architecture: str = "toe") -> Path:
    """The folder of a model that nobody trained."""
    untrained(architecture).save_pretrained(folder)
    return folder


def answers(
    path: Path,
    folders: Sequence[Path],
    *,
    lines: Iterable[str] = LINES,
    least: float = 0.05,
    notes: Notes | None = None,
) -> Path:
    """A file of answers about lines of text."""
    teachers = Teachers.load(folders)
    header = header_of(teachers.scheme, least=least, share=1.0, text=[], teachers=teachers.fingerprints)
    collect_answers(path, header, unlabelled(lines), teachers, notes=Notes() if notes is None else notes)
    return path
