"""Run one pretraining, from text to a folder with an encoder."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator

from gridner.errors import FormatError, Notes, OutputError, UsageError
from gridner.files import write_text, write_whole
from gridner.inference.model_card import versions
from gridner.model.encoder_files import encoder_path
from gridner.pretraining.card import draw_perplexity, pretraining_card
from gridner.pretraining.loop import Loop, Watcher
from gridner.pretraining.masking import masking_of
from gridner.pretraining.network import Start, save_encoder, set_frequencies, start_of
from gridner.pretraining.rows import frame_of, made_rows
from gridner.pretraining.settings import Settings
from gridner.pretraining.shuffling import Order, groups_of
from gridner.pretraining.text import Source, fingerprint
from gridner.pretraining.vocabulary import chosen_pieces, with_pieces
from gridner.training.cpu import flush_denormals
from gridner.training.device import device_of, precision_of
from gridner.training.interruption import Stop
from gridner.training.processes import is_first_process
from gridner.training.results import log_of, write_file
from gridner.training.run_folder import SNAPSHOT, SPARE, lock_folder, prepare_folder
from gridner.training.snapshot import STATE, State, differences

ABOUT = "pretraining.json"
CHANGEABLE = ("snapshot_minutes",)  # settings that a resumed run may change


@dataclass(frozen=True, slots=True, kw_only=True)
class PretrainingTask:
    """What to pretrain: an encoder, text, settings, and the folder of the result."""

    encoder: str
    sources: Sequence[Source]
    output: Path
    settings: Settings
    licences: Sequence[str] = ()  # notes for the card
    device: str = "auto"
    precision: str = "auto"
    command: str = ""


def pretrain(
    task: PretrainingTask, *, resume: bool = False, watcher: Watcher | None = None, notes: Notes | None = None
) -> Mapping[str, Any]:
    """Pretrain an encoder and write it to `task.output`. Return the facts of its card as plain data."""
    notes = Notes() if notes is None else notes
    texts = [fingerprint(source) for source in task.sources]
    identity = _identity(task, texts)
    if (facts := _finished(task.output, identity, resume=resume)) is not None:
        shutil.rmtree(task.output / SNAPSHOT, ignore_errors=True)
        return facts
    device = device_of(task.device)
    try:
        with lock_folder(task.output) if is_first_process() else nullcontext(), flush_denormals(device):
            return _pretrain(task, device, texts, identity, resume=resume, watcher=watcher, notes=notes)
    except (FormatError, UsageError):
        _remove_unstarted(task.output)
        raise
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, MemoryError | torch.OutOfMemoryError) or "can't allocate memory" in str(error):
            raise UsageError(
                f"out of memory: expected a --micro-batch below {task.settings.micro_batch} or a shorter --length"
            ) from error
        raise


def _pretrain(
    task: PretrainingTask,
    device: torch.device,
    texts: list[dict[str, Any]],
    identity: dict[str, Any],
    *,
    resume: bool,
    watcher: Watcher | None,
    notes: Notes,
) -> Mapping[str, Any]:
    settings = task.settings
    accelerator = Accelerator(cpu=device.type == "cpu", mixed_precision=precision_of(task.precision, device))
    start = start_of(task.encoder, dropout=settings.dropout, seed=settings.seed, notes=notes)
    frame = frame_of(start.pieces.tokenizer)
    if settings.length > start.pieces.max_pieces:
        raise UsageError(
            f"--length {settings.length}; expected at most {start.pieces.max_pieces}, which {task.encoder} takes"
        )
    folder = task.output / SNAPSHOT
    text_identity = {"sources": identity["sources"], "encoder": identity["encoder"], "length": settings.length}
    if settings.new_pieces:
        text_identity["new pieces"] = settings.new_pieces
    if accelerator.is_main_process:
        parameters = sum(parameter.numel() for parameter in start.network.parameters())
        size = sum(int(text["bytes"]) for text in texts)
        prepare_folder(task.output, needed=4 * parameters * 7 + 4 * size + SPARE)
    if settings.new_pieces:
        with accelerator.main_process_first():
            words = chosen_pieces(
                folder, task.sources, start.pieces, wanted=settings.new_pieces, identity=text_identity, notes=notes
            )
        start = with_pieces(start, words)
    with accelerator.main_process_first():
        rows = made_rows(
            folder, task.sources, start.pieces, length=settings.length, identity=text_identity, notes=notes
        )
    groups = groups_of(rows.groups, share=settings.held_out, most=settings.most_held_out)
    if not any(group.held for group in groups) or not all(group.size for group in groups):
        raise UsageError(
            f"{task.sources[0].path}: {rows.about['pieces']:,} pieces of text; expected at least "
            f"{2 * settings.length}, some to learn from and some to hold out"
        )
    if start.fresh_head:
        set_frequencies(start.network, rows.about["counts"])
    vocabulary = max(start.pieces.tokenizer.get_vocab().values()) + 1
    stop = Stop()
    loop = Loop(
        network=start.network,
        rows=rows,
        order=Order(groups, settings.seed),
        frame=frame,
        masking=masking_of(settings.mask, start.mask, {*start.special, start.pieces.unknown}, vocabulary),
        settings=settings,
        fresh_head=start.fresh_head,
        identity=identity,
        folder=folder,
        accelerator=accelerator,
        watcher=Log(task.output / "log.csv", watcher) if accelerator.is_main_process else Log(),
        stop=stop,
    )
    with stop.on_signals():
        state = loop.run(resume=resume)
    facts: dict[str, Any] = {}
    if accelerator.is_main_process:
        counts = _counts_by_source(task.sources, rows.about)
        facts = {
            "identity": identity,
            "command": task.command,
            "encoder": task.encoder,
            "fresh_head": start.fresh_head,
            "settings": asdict(settings),
            "steps": state.step,
            "rows": state.step * settings.batch,
            "epochs": state.step * settings.batch / loop.order.epoch,
            "seconds": round(state.seconds, 1),
            "device": str(accelerator.device),
            "processes": accelerator.num_processes,
            "sources": [{**text, **count} for text, count in zip(texts, counts, strict=True)],
            "pieces": rows.about["pieces"],
            "words": rows.about["words"],
            "unknown": rows.about["unknown"],
            "new_pieces": start.new_pieces,
            "held_out_rows": sum(group.held for group in groups),
            "licences": list(task.licences),
            "history": state.history,
            "notes": {what: count for what, count, _ in notes},
            "versions": versions(),
        }
        _finish(task, start, state, facts)
    accelerator.wait_for_everyone()
    return facts


@dataclass(frozen=True, slots=True)
class Log:
    """Writes the CSV log and calls another watcher. Both are optional."""

    path: Path | None = None
    next: Watcher | None = None

    def begin(self, state: State, steps: int) -> None:
        """Call the next watcher."""
        if self.next is not None:
            self.next.begin(state, steps)

    def step(self, state: State, steps: int, loss: float) -> None:
        """Call the next watcher."""
        if self.next is not None:
            self.next.step(state, steps, loss)

    def look(self, state: State, steps: int) -> None:
        """Write the log and call the next watcher."""
        if self.path is not None:
            write_file(self.path, log_of(state.history))
        if self.next is not None:
            self.next.look(state, steps)


def _counts_by_source(sources: Sequence[Source], about: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return number, lines and pieces of each source, in the order of `sources`. Rows have them in order of weight."""
    by_weight = [
        source
        for weight in dict.fromkeys(source.weight for source in sources)
        for source in sources
        if source.weight == weight
    ]
    counts = {
        source.path: {"number": number, **facts}
        for number, (source, facts) in enumerate(zip(by_weight, about["sources"], strict=True), start=1)
    }
    return [counts[source.path] for source in sources]


def _identity(task: PretrainingTask, texts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what must be equal for a run to resume."""
    folder = encoder_path(task.encoder) if task.encoder != "tiny" else None
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*")) if folder is not None else ():
        if path.is_file() and path.suffix in (".json", ".safetensors", ".txt", ".model"):
            with open(path, "rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    settings = {name: value for name, value in asdict(task.settings).items() if name not in CHANGEABLE}
    sources = {f"{number} {text['name']}": f"{text['sha256']} × {text['weight']}" for number, text in enumerate(texts)}
    identity: dict[str, Any] = json.loads(
        json.dumps(
            {"encoder": digest.hexdigest(), "sources": sources, "settings": settings, "precision": task.precision}
        )
    )
    return identity


def _finished(output: Path, identity: Mapping[str, Any], *, resume: bool) -> Mapping[str, Any] | None:
    """Return the facts of a finished run with this identity, or None if the run is to start or to resume.

    Raise OutputError if the folder has anything else.
    """
    if output.exists() and not output.is_dir():
        raise OutputError(f"{output}: is a file; choose a new folder")
    if not output.exists() or not any(output.iterdir()):
        return None
    if not resume:
        raise OutputError(f"{output}: exists and is not empty; choose a new folder, or resume a run with --resume")
    if not (output / ABOUT).is_file():
        if (output / SNAPSHOT).is_dir():
            return None
        raise OutputError(f"{output}: not empty, and not a run of gridner pretrain; choose a new folder")
    facts: dict[str, Any] = json.loads((output / ABOUT).read_text(encoding="utf-8"))
    if differing := differences(facts["identity"], identity):
        raise OutputError(f"{output}: a finished run with {differing}; choose a new folder")
    return facts


def _remove_unstarted(output: Path) -> None:
    """Remove the folder of a run that failed before its first snapshot, so that the next run can use it."""
    if (output / SNAPSHOT).is_dir() and not (output / SNAPSHOT / STATE).exists():
        shutil.rmtree(output / SNAPSHOT, ignore_errors=True)
        with suppress(OSError):  # it has other files
            output.rmdir()


def _finish(task: PretrainingTask, start: Start, state: State, facts: dict[str, Any]) -> None:
    """Write the encoder, its card and its curve, then remove the snapshot and the rows."""
    output = task.output

    def write(part: Path) -> None:
        save_encoder(start, part)
        draw_perplexity(state.history, part / "curve.png")
        write_text(part / "log.csv", log_of(state.history))
        write_text(part / "README.md", pretraining_card(facts))

    write_whole(output, write, folder=True, force=True)
    write_file(output / ABOUT, json.dumps(facts, indent=1))
    shutil.rmtree(output / SNAPSHOT)
