"""gridner distill"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gridner.cli.printing import print_notes
from gridner.cli.progress import sentence_progress
from gridner.cli.reading_options import ReadingOptions, reading_options
from gridner.cli.shared_options import AboutOption, SettingsOption
from gridner.cli.train_corpora import DevOption, SeedsOption, TestOption, WeightOption, corpus_paths
from gridner.cli.train_progress import SECONDS_BETWEEN_LINES, TrainingProgress
from gridner.cli.train_scores import print_result
from gridner.cli.training_process import command_line, exit_when_interrupted, is_main_process, prepare_training
from gridner.corpus.held_out import DEV_SHARE
from gridner.errors import Notes, OutputError, UsageError, plural

if TYPE_CHECKING:
    from gridner.distillation.answer_file import AnswerInfo
    from gridner.distillation.teachers import Teachers
    from gridner.tagging.tags import TagScheme
    from gridner.text.alignment import Sentence


@reading_options(without=["texts"])
def distill(
    given: Annotated[
        list[str],
        typer.Argument(
            metavar="TEACHER… CONFIG", help="Teacher models, then the settings of the student as for gridner train."
        ),
    ],
    *,
    reading: ReadingOptions,
    text: Annotated[
        list[str] | None,
        typer.Option(
            "--text", help="Unlabelled text, one sentence or document per line; a file or folder, repeatable."
        ),
    ] = None,
    train: Annotated[
        list[str] | None,
        typer.Option(
            "--train", metavar="[NAME=]PATH", help="The training corpus of the student, as for gridner train."
        ),
    ] = None,
    dev: DevOption = None,
    test: TestOption = None,
    weight: WeightOption = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="New folder for the student.")] = None,
    answers: Annotated[
        Path | None,
        typer.Option(
            "--answers",
            metavar="FILE",
            help="Where the teachers' answers are or will be (default: OUTPUT.answers.jsonl). It contains the text.",
        ),
    ] = None,
    only_answers: Annotated[
        bool, typer.Option("--only-answers", help="Write the answers of the teachers and stop; takes no CONFIG.")
    ] = False,
    least: Annotated[
        float, typer.Option(min=0.0001, max=0.5, help="Smallest probability of the teachers to keep.")
    ] = 0.01,
    text_share: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Use about this share of the text's sentences.")
    ] = 1.0,
    device: Annotated[
        Literal["auto", "cpu", "cuda", "mps"],
        typer.Option(help="Where teachers on torch run: auto, cpu, cuda or mps. For the student: train.device."),
    ] = "auto",
    settings: SettingsOption = None,
    seeds: SeedsOption = None,
    about: AboutOption = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume an interrupted run to identical weights.")] = False,
) -> None:
    """Train a student model on a corpus and on the predictions of teacher models for unlabelled text.

    gridner asks the teachers once about each sentence and keeps the mean of their tag probabilities in a file. If it is
    interrupted, run the command again. The student then learns from the corpus and from the file; the settings are
    distill.weight, distill.share and distill.temperature.

    Examples:
    ```
    gridner distill large craft --text notes.txt --train corpus/train --dev corpus/dev -o small
    gridner distill seed-1 seed-2 craft --text notes/ --train corpus/train --dev corpus/dev -o one
    gridner distill large --text notes.txt --answers answers.jsonl --only-answers
    gridner distill craft --answers answers.jsonl --train corpus/train --dev corpus/dev -o small
    ```

    """
    from gridner.config import read_config

    if only_answers:
        if answers is None or not text:
            raise UsageError("--only-answers without --text or --answers; give both")
        if train or output is not None:
            raise UsageError("--only-answers with --train or --output; leave them out, or leave out --only-answers")
        ask(answers, given, text, reading.format, least=least, share=text_share, device=device)
        typer.echo(f"the answers are in {answers}", err=True)
        return
    *teachers, config = given
    if not train or output is None:
        raise UsageError("no --train or no --output; give both, or --only-answers to ask the teachers alone")
    paths = corpus_paths(train, dev or (), test or (), weight or (), default_share=DEV_SHARE)
    chosen = read_config(config, [*(settings or []), *([f"train.seeds=[{seeds}]"] if seeds is not None else [])])
    prepare_training()
    from gridner.inference.model_description import read_about
    from gridner.training import train_corpora
    from gridner.training.task import scheme_of

    if output.is_dir() and any(output.iterdir()) and not resume:
        raise OutputError(f"{output}: exists and is not empty; choose a new folder, or resume a run with --resume")
    notes = Notes()
    corpora = paths.read(reading, notes=notes)
    scheme = scheme_of(corpora, chosen.model.tags)
    description = read_about(about, scheme.types) if about is not None else None
    file = answers if answers is not None else output.with_name(f"{output.name}.answers.jsonl")
    with exit_when_interrupted(resume=resume):
        ask(file, teachers, text or [], "auto", least=least, share=text_share, device=device, student=scheme)
        with TrainingProgress(resume=resume, quiet=not is_main_process()) as progress:
            result = train_corpora(
                chosen,
                corpora,
                output=output,
                dev_share=paths.dev_share,
                answers=file,
                about=description,
                command=command_line(),
                resume=resume,
                watcher=progress.watch,
                notes=notes,
            )
    if is_main_process():
        print_result(result)
        typer.echo(f"the model is in {output}" if len(result.runs) == 1 else f"the models are in {output}", err=True)


def ask(
    path: Path,
    teachers: Sequence[str],
    texts: Sequence[str],
    format: str,
    *,
    least: float,
    share: float,
    device: str,
    student: TagScheme | None = None,
) -> None:
    """Have a file of answers: one that is there must be of these teachers and texts; otherwise it is made."""
    from gridner.distillation.answer_file import AnswerInfo, header_of
    from gridner.distillation.collecting import chosen_share, collect_answers
    from gridner.distillation.sparse_grid import check_same_types
    from gridner.distillation.teachers import Teachers
    from gridner.documents import Document
    from gridner.pretraining.text import fingerprint, lines_of, sources_of
    from gridner.text.alignment import stream_sentences

    sources = sources_of(texts, format)
    about = [fingerprint(source) for source in sources]
    if path.exists():
        _check_same(AnswerInfo.read(path), teachers, about)
        return
    if not teachers or not sources:
        missing = "--text" if teachers else "teachers"
        raise UsageError(f"{path}: not found, and no {missing} given to make it; give a file that exists, or {missing}")
    if os.environ.get("WORLD_SIZE", "1") != "1":
        raise UsageError(f"{path}: not found; with several processes, make it first with --only-answers")
    loaded = Teachers.load([Path(name) for name in teachers])
    _move(loaded, device)
    for name, recognizer in zip(teachers, loaded.recognizers, strict=True):
        if student is not None:
            wrong = check_same_types(recognizer.scheme, student, where=name, owner="the training corpus")
            if wrong is not None:
                raise UsageError(wrong)
    notes = Notes()

    def sentences() -> Iterator[Sentence]:
        for source in sources:
            for number, line in enumerate(lines_of(source, notes), start=1):
                yield from stream_sentences(Document(f"{source.path.name}:{number}", line))

    names = ", ".join(source.path.name for source in sources)
    typer.echo(f"asking {plural(len(teachers), 'teacher')} about {names}", err=True)
    header = header_of(loaded.scheme, least=least, share=share, text=about, teachers=loaded.fingerprints)
    with sentence_progress("teachers") as each, _lines_without_terminal(each) as count:
        collect_answers(path, header, chosen_share(sentences(), share), loaded, notes=notes, each=count)
    print_notes(notes)


@contextmanager
def _lines_without_terminal(each: Callable[[], None]) -> Iterator[Callable[[], None]]:
    """Print a line now and then if there is no terminal that shows the progress."""
    start = last_line = time.monotonic()
    done = 0

    def count() -> None:
        nonlocal done, last_line
        each()
        done += 1
        if not sys.stderr.isatty() and time.monotonic() - last_line > SECONDS_BETWEEN_LINES:
            last_line = time.monotonic()
            typer.echo(f"teachers: {done:,} sentences, {done / (last_line - start):,.0f}/s", err=True)

    yield count


def _move(teachers: Teachers, device: str) -> None:
    """Let the teachers that are on torch run on a device; exported ones run on the CPU."""
    for recognizer in teachers.recognizers:
        if (to := getattr(recognizer.engine, "to", None)) is not None:
            from gridner.training.device import device_of

            to(device_of(device))


def _check_same(info: AnswerInfo, teachers: Sequence[str], texts: Sequence[dict[str, object]]) -> None:
    """Refuse answers of other teachers, or about other text, than those that are given."""
    from gridner.inference.model_info import model_fingerprint

    found = {text["sha256"] for text in info.header["text"]}
    for text in texts:
        if text["sha256"] not in found:
            raise UsageError(f"{info.path}: answers about other text than {text['name']}; choose another --answers")
    if texts and len(texts) != len(found):
        raise UsageError(f"{info.path}: answers about {plural(len(found), 'text')}, not {len(texts)}; give the same")
    asked = {teacher["sha256"] for teacher in info.header["teachers"]}
    for name in teachers:
        if model_fingerprint(Path(name)) not in asked:
            raise UsageError(f"{info.path}: answers of other teachers than {name}; choose another --answers")
    if teachers and len(set(teachers)) != len(asked):
        raise UsageError(
            f"{info.path}: answers of {plural(len(asked), 'teacher')}, not {len(teachers)}; choose another --answers"
        )
