"""gridner tune"""

from __future__ import annotations

import shlex
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gridner.cli.common import (
    ExceptIdsOption,
    FormatOption,
    IdsOption,
    LenientOption,
    Reading,
    SentencesOption,
    TypesOption,
    new_table,
    print_notes,
    print_table,
)
from gridner.errors import Notes, UsageError

if TYPE_CHECKING:
    from gridner.parts import Part
    from gridner.recognizer import Recognizer


def tune(
    dev: Annotated[Path, typer.Option("--dev", help="The corpus to choose on.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="A new folder for the model.")],
    model: Annotated[
        Path | None, typer.Option("--model", "-m", help="A model folder (default: the one that comes with gridner).")
    ] = None,
    lexicon: Annotated[
        str | None,
        typer.Option("--lexicon", help="More names, a type, a tab and a name a line; none: not even its own."),
    ] = None,
    format: FormatOption = "auto",
    ids: IdsOption = None,
    except_ids: ExceptIdsOption = None,
    types: TypesOption = None,
    sentences: SentencesOption = "auto",
    threads: Annotated[int | None, typer.Option(min=1, help="Threads (default: all cores).")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the output if it exists.")] = False,
    lenient: LenientOption = False,
) -> None:
    """Suit a model to a corpus without training: its thresholds, what names add, and what its scores mean.

    The network stays as it is, so neither torch nor much time is needed. The folder gets the model and its predictions.

    Examples:

        gridner tune --dev corpus/dev --output mine

        gridner tune --model model --dev corpus/dev --lexicon drugs.tsv --output model-with-drugs

        gridner tune --model model --dev corpus/dev --lexicon none --output model-without-names

    """
    from gridner.calibration import Calibration
    from gridner.card import card_of
    from gridner.checkpoint import read_checkpoint, write_checkpoint
    from gridner.config import DecodingConfig
    from gridner.formats.files import check_output, write_text
    from gridner.loading import SHIPPED, load
    from gridner.parts import part_of
    from gridner.report import evaluation_json
    from gridner.tuning import Replayed, answers, evaluation_of, predictions, settled

    folder = SHIPPED if model is None else model
    check_output(output, folder=True, force=force)
    if output.exists() and output.samefile(folder):
        raise UsageError(f"{output}: the model itself, expected another folder")
    notes = Notes()
    recognizer = load(folder, threads=threads, lexicon=lexicon)
    reading = Reading(format, None, ids, except_ids, types, sentences, lenient)
    part = part_of(reading.documents(dev, notes, what="read"), notes=notes, name="dev")
    _check_types(part, recognizer, dev)
    recognizer.engine = Replayed(recognizer.engine)
    before = evaluation_of(part, predictions(recognizer, part)).score()

    checkpoint, pieces = read_checkpoint(folder)
    config, fresh = checkpoint.config, DecodingConfig()
    decoding = replace(
        config.decoding,
        threshold=fresh.threshold,
        link_threshold=fresh.link_threshold,
        end_threshold=fresh.end_threshold,
        name_bonus=fresh.name_bonus if recognizer.lexicon else 0.0,
    )
    config = replace(config, decoding=decoding, train=replace(config.train, tune_thresholds=True, calibrate=True))
    checkpoint = replace(checkpoint, config=config, calibration=Calibration(), lexicon=recognizer.lexicon)
    recognizer = replace(recognizer, decoding=decoding, calibration=Calibration())
    checkpoint, meaning = settled(checkpoint, recognizer, part, notes)
    chosen = replace(recognizer, decoding=checkpoint.config.decoding, calibration=checkpoint.calibration)
    found = predictions(chosen, part, notes=notes)
    evaluation = evaluation_of(part, found)

    facts = dict(checkpoint.training)
    facts |= {
        "tuned": shlex.join(["gridner", *sys.argv[1:]]),
        "data": {**facts.get("data", {}), "dev": part.about()},
        "scores": {"dev": evaluation_json(evaluation)},
        "reliability": meaning,
        "lexicon": checkpoint.lexicon.about() if checkpoint.lexicon else None,
    }
    checkpoint = replace(checkpoint, training=facts)

    def copy_network(path: Path) -> None:
        shutil.copyfile(folder / checkpoint.network, path)

    write_checkpoint(
        output, checkpoint, tokenizer=pieces.tokenizer, write_network=copy_network, card=card_of(checkpoint)
    )
    write_text(output / "dev.jsonl", answers(found))
    after = evaluation.score()
    table = new_table("dev, exact match", "P", "R", "F1")
    for name, score in (("with its own settings", before), ("as chosen", after)):
        table.add_row(name, *(f"{100 * value:.2f}" for value in (score.precision, score.recall, score.f1)))
    settings = checkpoint.config.decoding
    print_table(
        table,
        f"links {settings.link_threshold:g}, head and tail {settings.end_threshold:g}, names {settings.name_bonus:g}; "
        "chosen on the same documents, so others will score lower",
    )
    print_notes(notes)
    typer.echo(f"the model is in {output}", err=True)


def _check_types(part: Part, recognizer: Recognizer, dev: Path) -> None:
    known = recognizer.scheme.types
    if not part.types:
        raise UsageError(f"{dev}: no entities, expected some of {', '.join(known)} to choose on")
    if strange := sorted(set(part.types) - set(known)):
        raise UsageError(
            f"{dev}: entities of {', '.join(strange)}, expected those of {', '.join(known)} alone (see --types)"
        )
