"""What the commands that train have in common: the libraries, several processes, and how to resume."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from gridner.errors import need


def prepare_training() -> None:
    """Check that the libraries for training are installed, and let this process keep the memory that it frees."""
    for library in ("accelerate", "matplotlib", "torch", "transformers"):
        need(library, "train")
    from gridner.training.cpu import keep_freed_memory

    keep_freed_memory()


def command_line() -> str:
    """Return the command that was run, quoted for a shell."""
    return shlex.join(["gridner", *sys.argv[1:]])


def is_main_process() -> bool:
    """Return whether this is the only process of a training, or the first of several."""
    return os.environ.get("RANK", "0") == "0"


@contextmanager
def exit_when_interrupted(*, resume: bool) -> Iterator[None]:
    """If the training is stopped, print how to resume it and exit with 130."""
    from gridner.training.interruption import Stopped

    alone = os.environ.get("WORLD_SIZE", "1") == "1"
    again = (command_line() + ("" if resume else " --resume")) if alone else "the same command with --resume"
    try:
        yield
    except Stopped:
        if is_main_process():
            typer.echo(f"gridner: stopped, the state is saved; resume with: {again}", err=True)
        raise typer.Exit(130 if is_main_process() else 0) from None  # a launcher kills the first if another fails
    except KeyboardInterrupt:
        if is_main_process():
            typer.echo(f"gridner: interrupted; resume from the last snapshot with: {again}", err=True)
        raise typer.Exit(130) from None
