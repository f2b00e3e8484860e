"""Interrupt commands at random moments and let them run out of disk space, and check that nothing is lost.

    python benchmarks/kill.py --kills 30 --trainings 6 --faults 30

Each command first runs undisturbed. Then it runs again and again and is ended by SIGKILL, SIGTERM or SIGINT at a random
moment of that time. After each end, the output must not exist or be complete. In the end, the command runs undisturbed
(with `--resume`, where it has that) and must give the same bytes.

For a full disk, the command may write files up to a random size only (`prlimit --fsize`). It must end with code 2
and one line, and leave no output. Without the limit, the command (with `--resume`, where it has that) must give the
same bytes. The exit code is 1 if anything of that fails.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from gridner import Document, read, write
from measure import machine, table

GRIDNER = [sys.executable, "-m", "gridner"]
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


def _digest(path: Path) -> str:
    """Return a hash of a file, or of the files of a folder that are not hidden."""
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    files = sorted(file for file in path.rglob("*") if file.is_file() and not file.name.startswith("."))
    return hashlib.sha256("".join(f"{file.relative_to(path)} {_digest(file)}\n" for file in files).encode()).hexdigest()


@dataclass
class Command:
    """A command that writes `output`, how it continues, and what it changes."""

    name: str
    arguments: list[str]
    output: Path
    resume: list[str] = field(default_factory=list)  # added if something is left of an earlier run
    compared: Callable[[Path], str] = _digest
    whole_or_nothing: bool = True  # the output is not there until it is complete
    before: Callable[[], None] = lambda: None  # prepares the input

    def start(self, *, resume: bool, limit: int | None = None) -> subprocess.Popen[str]:
        """Run it, as a process that may write files of at most so many bytes."""
        limited = [] if limit is None else ["prlimit", f"--fsize={limit}"]
        return subprocess.Popen(
            [*limited, *GRIDNER, *self.arguments, *(self.resume if resume else [])],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def clean(self) -> None:
        """Remove what it wrote, and prepare its input."""
        name = self.output.name
        for pattern in (name, f"{name}.part", f".{name}.*.part"):
            for path in self.output.parent.glob(pattern):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        self.before()

    def is_begun(self) -> bool:
        """Return whether there is something to resume."""
        left = self.output.with_name(f"{self.output.name}.part")
        return (left.exists() and any(left.iterdir())) or (not self.whole_or_nothing and self.output.exists())


def weights(path: Path) -> str:
    """Return a hash of the weights of a trained model."""
    return _digest(path / "model.safetensors")


def undisturbed(command: Command) -> tuple[str, float]:
    """Return the hash of the output of a run that nothing disturbs, and how long it takes."""
    command.clean()
    began = time.monotonic()
    _, said = (process := command.start(resume=False)).communicate()
    if process.returncode:
        raise SystemExit(f"{command.name} failed: {said}")
    return command.compared(command.output), time.monotonic() - began


def kill(command: Command, kills: int, random: Random, failures: list[str]) -> list[object]:
    """Interrupt the command so many times; every third time at the latest, let it end and compare."""
    expected, seconds = undisturbed(command)
    seen = Counter[str]()
    command.clean()
    since = 0
    while seen["interrupted"] < kills or since:
        resume = command.is_begun()
        process = command.start(resume=resume)
        if since < 3 and seen["interrupted"] < kills:
            number = random.choice(SIGNALS)
            try:
                process.wait(random.uniform(0.2, 0.95) * seconds)
            except subprocess.TimeoutExpired:
                process.send_signal(number)
                _, said = process.communicate()
                seen["interrupted"] += 1
                seen["resumed"] += resume
                since += 1
                if "Traceback" in said:
                    failures.append(f"{command.name}: {signal.Signals(number).name} printed a traceback: {said[-300:]}")
                if (
                    command.whole_or_nothing
                    and command.output.exists()
                    and command.compared(command.output) != expected
                ):
                    failures.append(f"{command.name}: {signal.Signals(number).name} left a half-written output")
                if command.whole_or_nothing and command.output.exists():
                    command.clean()
                    since = 0
                continue
        _, said = process.communicate()
        if process.returncode:
            failures.append(f"{command.name}: does not run after an interruption: {said[-300:]}")
        elif command.compared(command.output) != expected:
            failures.append(f"{command.name}: the result differs after an interruption")
        else:
            seen["equal"] += 1
        seen["completed"] += 1
        command.clean()
        since = 0
    return [command.name, seen["interrupted"], seen["resumed"], seen["completed"], seen["equal"]]


def fill_disk(command: Command, faults: int, random: Random, failures: list[str]) -> list[object]:
    """Let the command run out of space so many times."""
    expected, _ = undisturbed(command)
    files = (
        [command.output] if command.output.is_file() else [one for one in command.output.rglob("*") if one.is_file()]
    )
    largest = max(file.stat().st_size for file in files)
    seen = Counter[str]()
    while seen["faults"] < faults:
        command.clean()
        process = command.start(resume=False, limit=random.randrange(max(2, largest)))
        _, said = process.communicate()
        if not process.returncode:
            failures.append(f"{command.name}: code 0 on a full disk")
        seen["faults"] += 1
        errors = [line for line in said.splitlines() if line.startswith("gridner: ")]
        if process.returncode == 2 and len(errors) == 1 and "Traceback" not in said:
            seen["one line"] += 1
        else:
            failures.append(f"{command.name}: code {process.returncode} on a full disk: {said[-300:]}")
        if command.whole_or_nothing and command.output.exists():
            failures.append(f"{command.name}: a full disk left a half-written output")
        _, said = (process := command.start(resume=command.is_begun())).communicate()
        if process.returncode or command.compared(command.output) != expected:
            failures.append(f"{command.name}: does not give the same after a full disk: {said[-300:]}")
        else:
            seen["equal"] += 1
    return [command.name, seen["faults"], seen["one line"], seen["equal"]]


def commands(folder: Path, documents: list[Document]) -> list[Command]:
    """Return the commands that are interrupted, with their input in a folder."""
    corpus, brat, notes = folder / "in.jsonl", folder / "in", folder / "notes"
    write(documents, corpus)
    write([Document(one.id, one.text) for one in documents[:40]], brat)

    def copy() -> None:
        shutil.rmtree(notes, ignore_errors=True)
        shutil.copytree(brat, notes)

    predict = ["predict", "--threads", "1", "--input", str(corpus), "--output"]
    return [
        Command("predict", [*predict, str(folder / "a.jsonl")], folder / "a.jsonl", ["--resume"]),
        Command("predict to a folder", [*predict, str(folder / "b")], folder / "b", ["--resume"]),
        Command(
            "predict --pre-annotate",
            ["predict", "--threads", "1", "--input", str(notes), "--pre-annotate"],
            notes,
            whole_or_nothing=False,
            before=copy,
        ),
        Command("convert to brat", ["convert", str(corpus), str(folder / "c")], folder / "c"),
        Command("convert to jsonl", ["convert", str(corpus), str(folder / "d.jsonl")], folder / "d.jsonl"),
        Command("report", ["report", str(corpus), str(corpus), "--output", str(folder / "e.html")], folder / "e.html"),
    ]


def training(folder: Path, corpus: Path) -> Command:
    """Return a training of a few seconds."""
    arguments = ["train", "tiny", "--train", str(corpus), "--output", str(folder / "model"), "--set", "train.epochs=6"]
    return Command("train", arguments, folder / "model", ["--resume"], weights, whole_or_nothing=False)


def main() -> None:
    """Run all and print two tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, default=Path(__file__).parents[1] / "examples")
    parser.add_argument("--kills", type=int, default=30, help="of each command")
    parser.add_argument("--trainings", type=int, default=6, help="kills of the training")
    parser.add_argument("--faults", type=int, default=10, help="full disks of each command")
    parser.add_argument("--copies", type=int, default=15, help="of the corpus, so that a run takes some seconds")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    random, failures = Random(options.seed), list[str]()
    once = list(read(options.corpus))
    documents = [Document(f"{n}-{one.id}", one.text, one.entities) for n in range(options.copies) for one in once]
    print(f"{machine()}; seed {options.seed}, {len(documents)} documents\n", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        every = commands(folder, documents)
        rows = [kill(command, options.kills, random, failures) for command in every]
        if options.trainings:
            rows.append(kill(training(folder, options.corpus), options.trainings, random, failures))
        print(table(["command", "interrupted", "of these resumed runs", "then completed", "equal"], rows), flush=True)
        # Pre-annotation writes files that are smaller than what the limit stops elsewhere.
        rows = [fill_disk(one, options.faults, random, failures) for one in every if one.whole_or_nothing]
        print(f"\n{table(['command', 'full disks', 'ended with one line', 'then equal'], rows)}")
    print("".join(f"\n{failure}" for failure in failures))
    raise SystemExit(bool(failures))


if __name__ == "__main__":
    main()
