"""Tokenizers of language models, made fit for words that are already apart."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

PROBES = ("pain", "Pain-free", "(p53)", "2.5")
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


def with_word_starts(tokenizer: Tokenizer) -> Tokenizer:
    """One that gives a word by itself the pieces that this one gives it inside a text: "Ġpain", "▁pain"."""
    first = tokenizer.encode("the", add_special_tokens=False).ids
    inside = {word: tokenizer.encode(f"the {word}", add_special_tokens=False).ids for word in PROBES}
    wanted = {word: ids[len(first) :] for word, ids in inside.items() if ids[: len(first)] == first}
    for variant in _variants(tokenizer):
        found = {word: variant.encode([word], is_pretokenized=True, add_special_tokens=False).ids for word in wanted}
        if found == wanted:
            return variant
    raise ValueError("it cuts a word by itself otherwise than inside a text")


def _variants(tokenizer: Tokenizer) -> Iterator[Tokenizer]:
    yield tokenizer
    for kind, key, value in (
        ("ByteLevel", "add_prefix_space", True),
        ("Metaspace", "prepend_scheme", "always"),
        ("Metaspace", "prepend_scheme", "never"),
    ):
        data = json.loads(tokenizer.to_str())
        for part in _parts(data["pre_tokenizer"]):
            if part["type"] == kind:
                part[key] = value
        yield Tokenizer.from_str(json.dumps(data))
    data = json.loads(tokenizer.to_str())
    spaces = [part for part in (data["normalizer"], {"type": "Prepend", "prepend": " "}) if part]
    data["normalizer"] = {"type": "Sequence", "normalizers": spaces}
    yield Tokenizer.from_str(json.dumps(data))


def with_capitals(tokenizer: Tokenizer) -> Tokenizer | None:
    """One that keeps capitals, if this one loses them and yet has pieces with capitals.

    Several cased models, BioBERT and ClinicalBERT among them, come without the setting that says so.
    """
    data = json.loads(tokenizer.to_str())
    lowering = [part for part in _parts(data["normalizer"]) if part["type"] == "BertNormalizer" and part["lowercase"]]
    special = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    pieces = [piece for piece in tokenizer.get_vocab() if piece not in special]
    capitals = sum(any("A" <= letter <= "Z" for letter in piece) for piece in pieces)
    if not lowering or capitals <= 0.01 * len(pieces):
        return None
    for part in lowering:
        part["lowercase"] = False
    return Tokenizer.from_str(json.dumps(data))


def _parts(part: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    """A normalizer or pre-tokenizer of a tokenizer.json, and those that it is a sequence of."""
    if part is not None:
        yield part
        for inner in part.get("pretokenizers") or part.get("normalizers") or ():
            yield from _parts(inner)


def tiny_tokenizer(words: Iterable[Sequence[str]], *, size: int = 4000) -> Tokenizer:
    """A WordPiece vocabulary of the words of sentences. The same words, in any order, give the same one."""
    normalizer, splitter = normalizers.BertNormalizer(lowercase=True), pre_tokenizers.BertPreTokenizer()
    texts = [" ".join(sentence) for sentence in words]
    letters = sorted({letter for text in texts for letter in normalizer.normalize_str(text) if not letter.isspace()})
    # The trainer numbers "##a" as its hash table has it, and the numbers decide between merges of one count.
    alphabet = [*SPECIAL, *letters, *(f"##{letter}" for letter in letters)]
    trainer = trainers.WordPieceTrainer(
        vocab_size=max(size, len(alphabet)), min_frequency=2, special_tokens=alphabet, show_progress=False
    )
    draft = Tokenizer(models.WordPiece({}, unk_token="[UNK]"))  # noqa: S106
    draft.normalizer, draft.pre_tokenizer = normalizer, splitter
    draft.train_from_iterator(texts, trainer)
    tokenizer = Tokenizer(models.WordPiece(draft.get_vocab(), unk_token="[UNK]"))  # noqa: S106
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, splitter
    tokenizer.add_special_tokens(list(SPECIAL))  # these only; in the draft every letter is one
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", SPECIAL.index("[CLS]")), ("[SEP]", SPECIAL.index("[SEP]"))]
    )
    return tokenizer
