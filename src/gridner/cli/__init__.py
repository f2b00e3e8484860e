"""The command line: commands → functions. Each command has a module; what they share is in `common`."""

from __future__ import annotations

import os
import sys

import typer

from gridner.cli import convert, evaluate, show, stats
from gridner.errors import GridnerError

app = typer.Typer(
    name="gridner",
    help="Discontinuous named-entity recognition: corpora, scoring and what to look at.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.command("show")(show.show)
app.command("stats")(stats.stats)
app.command("convert")(convert.convert)
app.command("evaluate")(evaluate.evaluate)
app.command("compare")(evaluate.compare)


def _version(asked: bool) -> None:
    if asked:
        from gridner import __version__

        typer.echo(f"gridner {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version and stop."
    ),
) -> None:
    pass


def main() -> None:
    """Run a command. A user's mistake is one line on standard error and exit code 2."""
    try:
        app()
    except GridnerError as error:
        sys.exit(_fail(str(error)))
    except BrokenPipeError:  # the reader of our output has gone: `gridner show … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _fail(message: str) -> int:
    print(f"gridner: {' '.join(message.split())}", file=sys.stderr)
    return 2
