"""The command line: one module per command, and modules for what commands share."""

from __future__ import annotations

import io
import os
import signal
import sys

import typer

from gridner.cli import (
    convert,
    describe,
    distill,
    evaluate,
    experiment,
    export,
    info,
    learn,
    models,
    next_texts,
    predict,
    pretrain,
    report,
    serve,
    show,
    stats,
    train,
    tune,
)
from gridner.errors import GridnerError, printable

app = typer.Typer(
    name="gridner",
    help="Discontinuous named-entity recognition: predict entities, train models, score and convert corpora.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.command("predict")(predict.predict)
app.command("show")(show.show)
app.command("stats")(stats.stats)
app.command("convert")(convert.convert)
app.command("evaluate")(evaluate.evaluate)
app.command("compare")(evaluate.compare)
app.command("report")(report.report)
app.command("train")(train.train)
app.command("pretrain")(pretrain.pretrain)
app.command("distill")(distill.distill)
app.command("tune")(tune.tune)
app.command("learn")(learn.learn)
app.command("next")(next_texts.next_texts)
app.command("experiment")(experiment.experiment)
app.command("export")(export.export)
app.command("serve")(serve.serve)
app.command("info")(info.info)
app.command("models")(models.models)
app.command("describe")(describe.describe)


def _print_version(requested: bool) -> None:
    if requested:
        from gridner import __version__

        typer.echo(f"gridner {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    pass


def main() -> None:
    """Run a command. An error of the user prints one line on standard error and exits with 2."""
    _open_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a character shows ?
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that half-written files are removed
    try:
        try:
            app()
        finally:
            sys.stdout.flush()  # here, so that a full disk is still reported
    except GridnerError as error:
        sys.exit(_fail(str(error)))
    except BrokenPipeError:  # the reader of the output has exited: `gridner show … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        where = error.filename or "the result cannot be written"
        sys.exit(_fail(f"{where} ({error.strerror or error})"))


def _open_streams() -> None:
    """Replace closed standard streams, so that no other file gets their number.

    Input is then empty, messages are lost, and printing a result is an error.
    """
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _fail(message: str) -> int:
    print(f"gridner: {printable(' '.join(message.split()))}", file=sys.stderr)
    return 2
