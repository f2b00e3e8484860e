"""gridner export"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gridner.cli.printing import print_notes
from gridner.cli.reading_options import ReadingOptions, reading_options
from gridner.cli.shared_options import AboutOption
from gridner.errors import Notes, UsageError, needs
from gridner.text.alignment import stream_sentences


@reading_options()
def export(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model folder, as gridner train writes it.")],
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="New folder for the exported model.")],
    *,
    reading: ReadingOptions,
    int8: Annotated[
        bool, typer.Option("--int8", help="Quantize to 8 bits: a quarter of the size, and faster; needs --sample.")
    ] = False,
    sample: Annotated[
        Path | None,
        typer.Option("--sample", help="Corpus like the texts to predict, a few hundred sentences or more; for --int8."),
    ] = None,
    about: AboutOption = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output if it exists.")] = False,
) -> None:
    """Export a model to ONNX, for prediction without torch.

    Examples:
    ```
    gridner export model exported
    gridner export model small --int8 --sample corpus/train
    gridner predict "pain in left arm and shoulder" --model exported
    ```

    """
    from gridner.files import check_output
    from gridner.inference.model_card import described
    from gridner.inference.model_description import read_about

    if int8 != (sample is not None):
        raise UsageError("--int8 or --sample alone, expected both: the sample sets the 8-bit scales")
    check_output(output, folder=True, force=force)
    with needs("export"):
        import onnxscript  # noqa: F401

        from gridner.export.onnx import export as write_exported
        from gridner.model.trained_model import TrainedModel
    sentences = None
    if sample is not None:
        notes = Notes()
        sentences = [
            sentence
            for document in reading.documents(sample, notes, activity="read")
            for sentence in stream_sentences(document)
        ]
        print_notes(notes)
    trained = TrainedModel.load(model)
    if about is not None:
        words = read_about(about, trained.checkpoint.types)
        trained.checkpoint, trained.card = described(trained.checkpoint, trained.card, words)
    write_exported(trained, output, sample=sentences)
    size = sum(path.stat().st_size for path in output.iterdir())
    typer.echo(f"{output}: {size / 2**20:,.0f} MB", err=True)
