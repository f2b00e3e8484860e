"""gridner tune"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gridner.cli.printing import new_table, print_notes, print_table
from gridner.cli.reading_options import ReadingOptions, reading_options
from gridner.cli.shared_options import LexiconOption, ModelOption, limit_to_cores
from gridner.cli.training_process import command_line
from gridner.errors import Notes, UsageError

if TYPE_CHECKING:
    from gridner.corpus.splits import Part
    from gridner.documents import Document
    from gridner.inference.recognizer import Recognizer
    from gridner.scoring.evaluation import Evaluation


@reading_options(without=["texts"])
def tune(
    dev: Annotated[Path, typer.Option("--dev", help="The corpus to choose on.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="A new folder for the model.")],
    *,
    reading: ReadingOptions,
    model: ModelOption = None,
    lexicon: LexiconOption = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads (default and maximum: all cores).")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the output if it exists.")] = False,
) -> None:
    """Suit a model to a corpus without training: its thresholds, what names add, and what its scores mean.

    The network stays as it is, so neither torch nor much time is needed. The folder gets the model and its predictions.

    Examples:

        gridner tune --dev corpus/dev --output mine

        gridner tune --model model --dev corpus/dev --lexicon drugs.tsv --output model-with-drugs

        gridner tune --model model --dev corpus/dev --lexicon none --output model-without-names

    """
    from gridner.corpus.splits import part_of
    from gridner.files import check_output, write_text, write_whole
    from gridner.inference.cached_engine import CachedEngine
    from gridner.inference.checkpoint import ATTRIBUTION, read_checkpoint, write_checkpoint
    from gridner.inference.loading import SHIPPED, load
    from gridner.inference.model_card import card_of, kind_of
    from gridner.inference.part_evaluation import AnnotatedPart, evaluate_part, predict_part, predictions_jsonl
    from gridner.inference.tuning import tune_and_calibrate, without_tuning
    from gridner.scoring.serialization import evaluation_json

    folder = SHIPPED if model is None else model
    check_output(output, folder=True, force=force)
    if output.exists() and output.samefile(folder):
        raise UsageError(f"{output}: the model itself, expected another folder")
    notes = Notes()
    checkpoint, pieces = read_checkpoint(folder)
    recognizer = load(folder, threads=limit_to_cores("--threads", threads), lexicon=lexicon)
    part = part_of(reading.documents(dev, notes, activity="read"), notes=notes, name="dev")
    _check_types(part, checkpoint.types, dev)
    marked = AnnotatedPart(part, part.types if reading.types is not None else checkpoint.types)
    if lacking := sorted(set(checkpoint.types) - set(part.types)):
        what = "left out" if reading.types is not None else "what is found counts as wrong; --types leaves it out"
        for name in lacking:
            notes.add(f"dev: type without entities, {what}", name)
    recognizer.engine = CachedEngine(recognizer.engine)

    def score(recognizer: Recognizer) -> tuple[list[Document], Evaluation]:
        found = marked.only(predict_part(recognizer, part))
        return found, evaluate_part(part, found)

    _, before = score(replace(recognizer, lexicon=checkpoint.lexicon))
    checkpoint = without_tuning(replace(checkpoint, lexicon=recognizer.lexicon))
    recognizer = replace(recognizer, decoding=checkpoint.config.decoding, calibration=checkpoint.calibration)
    checkpoint, meaning = tune_and_calibrate(checkpoint, recognizer, marked, notes=notes)
    found, after = score(replace(recognizer, decoding=checkpoint.config.decoding, calibration=checkpoint.calibration))
    facts = dict(checkpoint.training)
    data = {name: about for name, about in facts.get("data", {}).items() if kind_of(name) == "train"}
    facts |= {
        "tuned": [*facts.get("tuned", []), command_line()],
        "data": {**data, "dev": part.about()},
        "scores": {"dev": evaluation_json(after)},
        "reliability": meaning,
        "lexicon": checkpoint.lexicon.about() if checkpoint.lexicon else None,
        "notes": {what: count for what, count, _ in notes},
    }
    checkpoint = replace(checkpoint, training=facts)

    def copy_network(paths: Sequence[Path]) -> None:
        for name, path in zip(checkpoint.network, paths, strict=True):
            shutil.copyfile(folder / name, path)

    write_checkpoint(
        output, checkpoint, tokenizer=pieces.tokenizer, write_network=copy_network, card=card_of(checkpoint)
    )
    others = {"dev.jsonl": predictions_jsonl(found)}
    if (folder / ATTRIBUTION).is_file():
        others[ATTRIBUTION] = (folder / ATTRIBUTION).read_text(encoding="utf-8")
    for name, text in others.items():
        write_whole(output / name, partial(write_text, text=text), folder=False, force=True)
    table = new_table("dev, exact match", "P", "R", "F1")
    for label, one in (("with its own settings", before.score()), ("as chosen", after.score())):
        table.add_row(label, *(f"{100 * value:.2f}" for value in (one.precision, one.recall, one.f1)))
    settings = checkpoint.config.decoding
    print_table(
        table,
        f"links {settings.link_threshold:g}, head and tail {settings.end_threshold:g}, names {settings.name_bonus:g}; "
        "chosen on the same documents, so others will score lower",
    )
    print_notes(notes)
    typer.echo(f"the model is in {output}", err=True)


def _check_types(part: Part, known: tuple[str, ...], dev: Path) -> None:
    if not part.types:
        raise UsageError(f"{dev}: no entities, expected some of {', '.join(known)} to choose on")
    if strange := sorted(set(part.types) - set(known)):
        raise UsageError(
            f"{dev}: entities of {', '.join(strange)}, expected those of {', '.join(known)} alone (see --types)"
        )
