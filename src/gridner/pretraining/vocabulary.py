"""New vocabulary pieces: frequent words of the text that the tokenizer cuts into several pieces."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer

from gridner.errors import Notes, OutputError, UsageError
from gridner.inference.word_pieces import PieceTokenizer
from gridner.pretraining.network import Start
from gridner.pretraining.rows import inside_bit, pieces_of
from gridner.pretraining.text import Source

FILE = "new_pieces.json"
FEWEST = 20  # occurrences of a word: one that is rarer says more about a document than about the field
MOST_COUNTED = 1_000_000  # different words that are counted at once


class NewPiece(NamedTuple):
    """A word, and the pieces that it had before."""

    word: str
    pieces: tuple[int, ...]


def chosen_pieces(
    folder: Path,
    sources: Sequence[Source],
    pieces: PieceTokenizer,
    *,
    wanted: int,
    identity: Mapping[str, Any],
    notes: Notes,
) -> list[NewPiece]:
    """Return the most frequent words that have several pieces; they are counted once and kept in `folder`."""
    found = _kept(folder / FILE, identity)
    if found is None:
        arrays = (array for source in sources for lines in pieces_of(source, pieces, Notes()) for array in lines)
        found = frequent_words(arrays, pieces.tokenizer, wanted)
        _keep(folder / FILE, identity, found)
    if len(found) < wanted:
        lacking = f"new piece wanted, but no other word of several pieces occurs {FEWEST} times"
        notes.take(lacking, wanted - len(found), [str(source.path) for source in sources])
    return found


def _kept(path: Path, identity: Mapping[str, Any]) -> list[NewPiece] | None:
    if not path.is_file():
        return None
    kept = json.loads(path.read_text(encoding="utf-8"))
    return [NewPiece(word, tuple(old)) for word, old in kept["words"]] if kept["identity"] == identity else None


def _keep(path: Path, identity: Mapping[str, Any], found: Sequence[NewPiece]) -> None:
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_text(json.dumps({"identity": dict(identity), "words": found}), encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror or error})") from None


def frequent_words(arrays: Iterable[NDArray[Any]], tokenizer: Tokenizer, wanted: int) -> list[NewPiece]:
    """Return the most frequent words of letters that have several pieces, the most frequent first.

    Memory is bounded: once there are too many different words, the rarer half of them is forgotten.
    """
    prefix = _word_piece(tokenizer)["continuing_subword_prefix"]
    counts: Counter[bytes] = Counter()
    kind = np.dtype(np.uint16)
    for array in arrays:
        kind, bit = array.dtype, inside_bit(array.dtype)
        first = np.flatnonzero((array & bit) == 0)
        last = np.append(first[1:], len(array))
        several = last - first > 1
        counts.update(
            (array[begin:end] & ~bit).tobytes() for begin, end in zip(first[several], last[several], strict=True)
        )
        if len(counts) > MOST_COUNTED:
            counts = Counter(dict(counts.most_common(MOST_COUNTED // 2)))
    found: list[NewPiece] = []
    for key, count in counts.most_common():
        if len(found) == wanted or count < FEWEST:
            break
        numbers = tuple(np.frombuffer(key, dtype=kind).tolist())
        word = "".join(str(tokenizer.id_to_token(number)).removeprefix(prefix) for number in numbers)
        if word.isalpha():
            found.append(NewPiece(word, numbers))
    return found


def with_pieces(start: Start, new: Sequence[NewPiece]) -> Start:
    """Return the start with new pieces, each the mean of the pieces that it had: embeddings and the head's bias."""
    data = json.loads(start.pieces.tokenizer.to_str())
    first = max(start.pieces.tokenizer.get_vocab().values()) + 1
    for number, piece in enumerate(new, start=first):
        data["model"]["vocab"][piece.word] = number
    model: Any = start.network.model
    if first + len(new) > len(model.get_input_embeddings().weight):
        model.resize_token_embeddings(first + len(new), mean_resizing=False)
    output = model.get_output_embeddings()
    bias = getattr(output, "bias", None)
    with torch.no_grad():
        for table in (model.get_input_embeddings().weight, output.weight, *([] if bias is None else [bias])):
            for number, piece in enumerate(new, start=first):
                table[number] = table[list(piece.pieces)].mean(dim=0)
    tokenizer = Tokenizer.from_str(json.dumps(data))
    return replace(start, pieces=PieceTokenizer(tokenizer, max_pieces=start.pieces.max_pieces), new_pieces=len(new))


def _word_piece(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return the settings of a WordPiece tokenizer; others build words from merges or probabilities."""
    model: dict[str, Any] = json.loads(tokenizer.to_str())["model"]
    if model["type"] != "WordPiece":
        raise UsageError(
            f"--new-pieces: the encoder's vocabulary is {model['type']}; only WordPiece can take new words"
        )
    return model
