"""gridner pretrain"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gridner.cli.printing import print_notes
from gridner.cli.reading_options import READABLE_FORMATS
from gridner.cli.train_progress import SECONDS_BETWEEN_LINES, TrainingProgress
from gridner.cli.training_process import command_line, exit_when_interrupted, is_main_process, prepare_training
from gridner.errors import Notes
from gridner.view.duration import duration

if TYPE_CHECKING:
    from rich.progress import TaskID

    from gridner.training.snapshot import State


def pretrain(
    encoder: Annotated[
        str, typer.Argument(metavar="ENCODER", help="Encoder to start from: a folder, minilm, or a name on the hub.")
    ],
    texts: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT", help="File or folder, one sentence or document per line; PATH=2 reads it twice as often."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="New folder for the encoder.")],
    steps: Annotated[int | None, typer.Option(help="Train for this many steps.")] = None,
    epochs: Annotated[float | None, typer.Option(help="Train for this many passes over the text.")] = None,
    minutes: Annotated[float | None, typer.Option(help="Train for as many steps as fit into these minutes.")] = None,
    format: Annotated[
        str,
        typer.Option(
            "--format", "-f", help=f"Format of the text: text, {READABLE_FORMATS}; auto recognizes it from the path."
        ),
    ] = "auto",
    length: Annotated[int, typer.Option(help="Pieces per row; sentences are packed into rows.")] = 128,
    batch: Annotated[int, typer.Option(help="Rows per optimizer step.")] = 32,
    micro_batch: Annotated[int, typer.Option(help="Rows per forward pass; fewer need less memory.")] = 16,
    mask: Annotated[float, typer.Option(help="Share of the words to mask.")] = 0.15,
    rate: Annotated[float, typer.Option(help="Learning rate after the warm-up.")] = 2e-4,
    dropout: Annotated[
        bool, typer.Option("--dropout", help="Use the dropout of the encoder (default: no dropout).")
    ] = False,
    held_out: Annotated[float, typer.Option(help="Share of the text to hold out, to measure perplexity on.")] = 0.01,
    new_pieces: Annotated[
        int, typer.Option(help="Add this many frequent words of the text to the vocabulary (WordPiece only).")
    ] = 0,
    seed: Annotated[int, typer.Option(help="Seed of the masks, the order and a new prediction head.")] = 1,
    licence: Annotated[
        list[str] | None,
        typer.Option("--licence", help="Licence of the text, for the model card; repeatable."),
    ] = None,
    device: Annotated[
        Literal["auto", "cpu", "cuda", "mps"], typer.Option(help="Device to train on; auto uses a GPU if there is one.")
    ] = "auto",
    precision: Annotated[
        Literal["auto", "fp32", "bf16", "fp16"],
        typer.Option(help="Precision to train in; auto uses bf16 on a GPU that has it, else fp32."),
    ] = "auto",
    snapshot_minutes: Annotated[
        float, typer.Option(help="Minutes between snapshots, which --resume starts from.")
    ] = 10.0,
    resume: Annotated[bool, typer.Option("--resume", help="Resume an interrupted run to identical weights.")] = False,
) -> None:
    """Continue the pretraining of an encoder on plain text of your field.

    Masked-language-model training with whole-word masking. The output folder gets the encoder, its
    vocabulary, a model card without any of the text, a log and the learning curve. To train a model on it, use
    `gridner train … --set model.encoder=FOLDER`.

    Examples:
    ```
    gridner pretrain minilm notes/ --minutes 60 --output encoder
    gridner pretrain minilm labels.txt.xz=2 articles.txt.gz --epochs 1 --output encoder
    gridner pretrain minilm notes/ --minutes 60 --output encoder --resume
    ```

    """
    prepare_training()
    from gridner.pretraining import PretrainingTask, Settings
    from gridner.pretraining import pretrain as run
    from gridner.pretraining.text import sources_of

    command = command_line()
    task = PretrainingTask(
        encoder=encoder,
        sources=sources_of(texts, format),
        output=output,
        settings=Settings(
            steps=steps,
            epochs=epochs,
            minutes=minutes,
            length=length,
            batch=batch,
            micro_batch=micro_batch,
            mask=mask,
            rate=rate,
            dropout=dropout,
            held_out=held_out,
            new_pieces=new_pieces,
            seed=seed,
            snapshot_minutes=snapshot_minutes,
        ),
        licences=licence or [],
        device=device,
        precision=precision,
        command=command,
    )
    main = is_main_process()
    notes = Notes()
    with exit_when_interrupted(resume=resume), TrainingProgress(resume=resume, quiet=not main) as progress:
        watcher = PretrainingProgress(progress, length * batch) if main else None
        facts = run(task, resume=resume, watcher=watcher, notes=notes)
    if main:
        before, after = (facts["history"][place]["perplexity"] for place in (0, -1))
        print_notes(notes)
        typer.echo(f"perplexity of held-out text: {before:.2f} before, {after:.2f} after", err=True)
        typer.echo(f"the encoder is in {output}", err=True)


class PretrainingProgress:
    """Show the progress of pretraining."""

    def __init__(self, progress: TrainingProgress, pieces: int) -> None:
        self.progress = progress
        self.pieces = pieces  # per step
        self.task: TaskID | None = None
        self.loss = 0.0
        self.start: tuple[float, int] | None = None
        self.last_line = time.monotonic()

    def begin(self, state: State, steps: int) -> None:
        """Print where a run starts."""
        where = f"resuming after step {state.step:,} of" if state.step else "starting:"
        self.progress.say(f"{where} {steps:,} steps")

    def step(self, state: State, steps: int, loss: float) -> None:
        """Move the bar."""
        self.loss = loss if not self.loss else 0.95 * self.loss + 0.05 * loss
        bar = self.progress.bar
        if self.task is None:
            self.task = bar.add_task("pretraining", total=steps, status="")
            self.start = (time.monotonic(), state.step)
        assert self.start is not None  # noqa: S101
        seconds, done = time.monotonic() - self.start[0], state.step - self.start[1]
        speed = f"{done * self.pieces / seconds:,.0f} pieces/s, " if done else ""
        left = duration(state.seconds / state.step * (steps - state.step))
        status = f"loss {self.loss:.3f}, perplexity {state.history[-1]['perplexity']:.2f}, {speed}{left} left"
        bar.update(self.task, completed=state.step, status=status)
        if not self.progress.console.is_terminal and time.monotonic() - self.last_line > SECONDS_BETWEEN_LINES:
            self.last_line = time.monotonic()
            self.progress.say(f"step {state.step:,}/{steps:,}: {status}")

    def look(self, state: State, steps: int) -> None:
        """Print the perplexity of the held-out text."""
        row = state.history[-1]
        loss = f"loss {row['loss']:.3f}, " if "loss" in row else ""
        status = f"{loss}perplexity of held-out text {row['perplexity']:.2f}, {duration(state.seconds)}"
        self.progress.say(f"step {state.step:,}/{steps:,}: {status}")
