"""gridner export"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gridner.errors import UsageError


def export(
    model: Annotated[Path, typer.Argument(help="A model folder, as gridner train writes it.")],
    output: Annotated[Path, typer.Argument(help="A new folder for the exported model.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the exported model if there is one.")] = False,
) -> None:
    """Export a model to ONNX: the whole network in one file, for prediction without torch.

    Examples:

        gridner export model exported

        gridner predict "rod and cone cells" --model exported

    """
    from gridner.formats.files import check_output

    check_output(output, folder=True, force=force)
    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401

        from gridner.export import export as write_exported
        from gridner.trained import TrainedModel
    except ImportError as error:
        raise UsageError(
            f"{error.name} is missing, expected the extra for export: pip install 'gridner[export]'"
        ) from None
    write_exported(TrainedModel.load(model), output)
    size = sum(path.stat().st_size for path in output.iterdir())
    typer.echo(f"{output}: {size / 2**20:,.0f} MB", err=True)
