"""Measure an exported model from text to entities, as a share of its encoder alone on ONNX Runtime.

    python benchmarks/predict.py model corpus/dev --sample corpus/train
    gridner train toe --train examples --set train.epochs=1 --output untrained
    python benchmarks/predict.py untrained corpus/dev --sample corpus/train --candidates 0.3

`model` is a folder that `gridner train` wrote. The script exports the model and its encoder, in fp32 and in 8 bits, and
runs them on the same texts in turn: short texts of about 16 words, cut from the corpus, and its sentences as they are.
gridner splits, tokenizes, scores and decodes; the encoder alone tokenizes and encodes, in batches of the same size. It
runs in two ways: each batch on all threads, which is what ONNX Runtime does by itself, and a batch on each thread, as
gridner does. Then it measures one short text at a time, batches of growing size, and the peak memory of a long
document.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random
from statistics import mean, median, quantiles

import numpy as np
import onnx
import onnxruntime
import torch
from torch import Tensor, nn

from gridner import Document, load, read
from gridner.errors import UsageError
from gridner.export.onnx import export
from gridner.export.quantization import quantize
from gridner.inference.batches import plan_encoder_batches
from gridner.inference.checkpoint import EXPORTED
from gridner.inference.concurrency import map_in_order
from gridner.inference.engine import ENCODER_BATCH_PIECES
from gridner.inference.onnx_engine import SLOW_FUSIONS
from gridner.inference.recognizer import Recognizer
from gridner.inference.word_pieces import PieceTokenizer
from gridner.model.trained_model import TorchEngine, TrainedModel
from gridner.text import Sentence, align
from measure import machine, table

SHORT = (8, 24)  # words of a short text, at least and at most: 16 on average
PRECISIONS = ("fp32", "int8")
WAYS = ("a batch on all threads", "a batch per thread")
SIZES = (1, 4, 16, 64, 256, 512)
LONG = (1, 4)  # million characters
MEMORY = """import sys
from gridner import Document, load
recognizer = load(sys.argv[1], threads=int(sys.argv[2]))
text = open(sys.argv[3], encoding="utf-8").read()
document = next(recognizer.pipe([Document("long", text)]))
peak = open("/proc/self/status").read().partition("VmHWM:")[2].split()[0]
print(len(text), len(document.entities), int(peak) / 1024)"""


class Encoder(nn.Module):
    """The encoder alone, as a module."""

    def __init__(self, language_model: nn.Module) -> None:
        super().__init__()
        self.language_model = language_model.eval()

    def forward(self, pieces: Tensor, piece_mask: Tensor) -> Tensor:
        """Return the encoder's last layer."""
        output: Tensor = self.language_model(input_ids=pieces, attention_mask=piece_mask.long()).last_hidden_state
        return output


def export_encoder(model: TrainedModel, path: Path, sample: Sequence[Sentence] | None) -> None:
    """Export the encoder as ONNX, as `gridner export` exports the whole network."""
    arrays = model.pieces.collate(model.pieces.encode([["a", "b", "c", "d"], ["a", "b"]]))
    size, length = torch.export.Dim("size"), torch.export.Dim("length")
    program = torch.onnx.export(
        Encoder(model.model.encoder.language_model).eval(),
        (torch.from_numpy(arrays.pieces), torch.from_numpy(arrays.piece_mask)),
        input_names=["pieces", "piece_mask"],
        output_names=["words"],
        dynamic_shapes=({0: size, 1: length}, {0: size, 1: length}),
        opset_version=20,
        dynamo=True,
        verbose=False,
    )
    if program is None:
        raise RuntimeError("the exporter gave no program")
    onnx.save(program.model_proto, path)
    if sample is not None:
        texts = [[word.text for word in sentence.words] for sentence in sample if len(sentence.words) <= 60][:128]
        encoded = model.pieces.encode(texts)
        batches = [
            model.pieces.collate([encoded[place] for place in batch])
            for batch in plan_encoder_batches([one.piece_count for one in encoded], most=ENCODER_BATCH_PIECES)
        ]
        quantize(path, [{"pieces": batch.pieces, "piece_mask": batch.piece_mask} for batch in batches])


class Alone:
    """The encoder on ONNX Runtime."""

    def __init__(self, path: Path, pieces: PieceTokenizer, threads: int, *, workers: int) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads // workers
        self.session = onnxruntime.InferenceSession(
            path, options, providers=["CPUExecutionProvider"], disabled_optimizers=SLOW_FUSIONS
        )
        self.pieces = pieces
        self.workers = workers

    def run(self, texts: Sequence[Document]) -> None:
        """Encode texts."""
        words = [[word.text for sentence in align(one).sentences for word in sentence.words] for one in texts]
        encoded = self.pieces.encode(words)

        def encode(batch: Sequence[int]) -> object:
            arrays = self.pieces.collate([encoded[place] for place in batch])
            return self.session.run(None, {"pieces": arrays.pieces, "piece_mask": arrays.piece_mask})

        plan = plan_encoder_batches([one.piece_count for one in encoded], most=ENCODER_BATCH_PIECES)
        for _ in map_in_order(encode, plan, workers=self.workers):
            pass


def set_candidate_share(model: TrainedModel, sentences: Sequence[Sentence], share: float) -> None:
    """Choose the threshold that makes this share of the words of some sentences candidates."""
    head = model.model.candidates
    if head is None:
        raise UsageError("the model has no candidate words")
    engine, found = TorchEngine(model.model), []
    encoded = model.pieces.encode([[word.text for word in sentence.words] for sentence in sentences])
    for batch in plan_encoder_batches([one.piece_count for one in encoded], most=ENCODER_BATCH_PIECES):
        _, excess = engine.encode(model.pieces.collate([encoded[place] for place in batch]))
        found += [excess[row, : len(encoded[place].words)] for row, place in enumerate(batch)]
    head.offset += float(np.quantile(np.concatenate(found), 1 - share))


def texts_of(sentences: Sequence[Sentence], text: str, random: Random | None) -> list[Document]:
    """Return sentences as documents, whole or cut to their first words."""
    found = []
    for sentence in sentences:
        last = sentence.words[(random.randint(*SHORT) if random else len(sentence.words)) - 1]
        found.append(Document(f"{sentence.document_id}-{sentence.start}", text[sentence.start : last.end]))
    return found


def seconds(run: Callable[[], object]) -> float:
    """Return the seconds that a function takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def all_of(recognizer: Recognizer, texts: Sequence[Document], batch_size: int = 512) -> list[Document]:
    """Return the entities of all texts."""
    return list(recognizer.pipe(texts, batch_size=batch_size))


def throughput(
    ours: dict[str, Recognizer], alone: dict[tuple[str, str], Alone], texts: Sequence[Document], repeats: int
) -> str:
    """Return a table with texts per second and the ratios."""
    runs: dict[str, Callable[[], object]] = {}
    for name in PRECISIONS:
        for how in WAYS:
            runs[f"encoder alone, {name}, {how}"] = partial(alone[name, how].run, texts)
        runs[f"gridner, {name}"] = partial(all_of, ours[name], texts)
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(repeats + 1):
        for name, run in runs.items():
            one = seconds(run)
            if turn:  # the first turn warms up
                taken[name].append(one)
    rows = []
    for name, times in taken.items():
        bases = [taken[f"encoder alone, {name.split(', ')[1]}, {how}"] for how in WAYS]
        ratios = [median(a / b for a, b in zip(base, times, strict=True)) for base in bases]
        rows.append([name, f"{len(texts) / median(times):,.0f}", *(f"{ratio:.2f}" for ratio in ratios)])
    return table(["", "texts/s", *(f"of the encoder, {how}" for how in WAYS)], rows)


def latency(ours: dict[str, Recognizer], texts: Sequence[Document]) -> str:
    """Return a table with milliseconds for one text at a time."""
    rows = []
    for name, recognizer in ours.items():
        times = [1000 * seconds(partial(recognizer, one.text)) for one in texts]
        cuts = quantiles(times[len(times) // 10 :], n=100)
        rows.append([name, f"{cuts[49]:.1f}", f"{cuts[98]:.1f}"])
    return table(["one text at a time", "p50, ms", "p99, ms"], rows)


def by_size(ours: dict[str, Recognizer], texts: Sequence[Document], repeats: int) -> str:
    """Return a table with texts per second by batch size."""
    rows = []
    for size in SIZES:
        row = [str(size)]
        for recognizer in ours.values():
            times = [seconds(partial(all_of, recognizer, texts, batch_size=size)) for _ in range(repeats)]
            row.append(f"{len(texts) / median(times):,.0f}")
        rows.append(row)
    return table(["batch size", *(f"{name}, texts/s" for name in ours)], rows)


def memory(folder: Path, text: str, threads: int, place: Path) -> str:
    """Return a table with the peak memory of a process that reads one long document."""
    rows = []
    for millions in LONG:
        place.write_text((text * (millions * 10**6 // len(text) + 1))[: millions * 10**6], encoding="utf-8")
        command = [sys.executable, "-c", MEMORY, str(folder), str(threads), str(place)]
        start = time.perf_counter()
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        taken = time.perf_counter() - start
        characters, entities, peak = done.stdout.split()
        rows.append([f"{int(characters):,}", entities, f"{float(peak):,.0f}", f"{taken:.0f}"])
    return table(["characters", "entities", "peak memory, MB", "seconds"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--sample", type=Path, required=True, help="corpus for the scales of the 8-bit model")
    parser.add_argument("--format", default="auto")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--texts", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--candidates", type=float, help="share of the words (default: as the model is)")
    parser.add_argument("--no-memory", action="store_true", help="leave out the long documents")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    model = TrainedModel.load(options.model)
    sample = [one for document in read(options.sample, options.format) for one in align(document).sentences]
    documents = list(read(options.corpus, options.format))
    texts = {document.id: document.text for document in documents}
    sentences = [one for document in documents for one in align(document).sentences]
    random = Random(1)
    random.shuffle(sentences)
    long_enough = [one for one in sentences if len(one.words) >= SHORT[1]][: options.texts]
    short = [one for some in long_enough for one in texts_of([some], texts[some.document_id], random)]
    own = [one for some in sentences[: options.texts] for one in texts_of([some], texts[some.document_id], None)]
    if options.candidates is not None:
        set_candidate_share(model, sentences[: options.texts], options.candidates)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ours, alone = {}, {}
        for precision in PRECISIONS:
            chosen = sample if precision == "int8" else None
            export(model, folder / precision, sample=chosen)
            export_encoder(model, folder / f"{precision}.onnx", chosen)
            ours[precision] = load(folder / precision, threads=options.threads)
            for how, workers in zip(WAYS, (1, options.threads), strict=True):
                one = Alone(folder / f"{precision}.onnx", model.pieces, options.threads, workers=workers)
                alone[precision, how] = one
            size = sum((folder / precision / name).stat().st_size for name in EXPORTED) / 2**20
            print(f"{precision}: {size:,.1f} MB")
        print(f"{machine()}, onnxruntime {onnxruntime.__version__}, {options.threads} threads")
        for title, some in (("Short texts", short), ("Sentences as they are", own)):
            words = mean(len(one.text.split()) for one in some)
            print(f"\n{title}: {len(some)}, of {words:.1f} words between spaces on average.\n")
            print(throughput(ours, alone, some, options.repeats), flush=True)
        print(f"\n{latency(ours, short)}\n\n{by_size(ours, short, 3)}", flush=True)
        if not options.no_memory:
            whole = "\n\n".join(texts.values())
            print(f"\n{memory(folder / 'int8', whole, options.threads, folder / 'long.txt')}")


if __name__ == "__main__":
    main()
